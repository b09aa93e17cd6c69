"""`heldout doctor`: what is installed and what this machine offers, for oneself and for a report of a fault."""

from __future__ import annotations

import importlib.util
import json as json_document
import math
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heldout import __version__
from heldout.cli.output import STANDARD_OUTPUT, check_writable, print_document, show, tell, write_files
from heldout.extras import EXTRAS

if TYPE_CHECKING:
    from heldout.show.blocks import Block


def doctor(
    json: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write JSON to this file instead; - is standard output."),
    ] = None,
) -> None:
    """Say what is installed: versions, extras and how to get them, cores, memory, GPU and browser.

    \b
    Examples:
      heldout doctor
      heldout doctor --json -
    """  # noqa: D301 - click takes a backspace to mean: do not wrap what follows
    if json not in (None, STANDARD_OUTPUT):
        check_writable("json", json)
    facts = look_around()
    if json is None:
        show(_lay_out(facts))
        return
    text = json_document.dumps(facts, indent=2, ensure_ascii=False) + "\n"
    if json == STANDARD_OUTPUT:
        print_document(text)
    else:
        write_files({"json": (json, text)})
        tell(f"Wrote {json}")


def look_around() -> dict[str, Any]:
    """Everything that the command says, as its JSON document."""
    import platform

    memory = _find_memory()
    return {
        "schema": "heldout/doctor@1",
        "heldout": __version__,
        "folder": str(Path(__file__).parents[1]),
        "python": platform.python_version(),
        "executable": sys.executable,
        "system": platform.platform(),
        "cores": _count_cores(),
        "memory": None if math.isinf(memory) else int(memory),
        "gpu": find_gpus(),
        "browser": _find_browser(),
        "packages": {name: _find_version(name) for name in list_always_needed()},
        "extras": [
            {
                "name": extra.name,
                "for": extra.gives,
                "installed": not extra.list_missing(),
                "packages": {name: _find_version(name) for name in extra.packages},
                "install": extra.command,
            }
            for extra in EXTRAS.values()
        ],
    }


def list_always_needed() -> list[str]:
    """The packages that come with every install, as the installed metadata name them."""
    from importlib import metadata

    try:
        wanted = metadata.requires("heldout") or []
    except metadata.PackageNotFoundError:
        return []
    return sorted(re.split(r"[^\w.-]", requirement)[0] for requirement in wanted if "extra ==" not in requirement)


def _find_version(package: str) -> str | None:
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _count_cores() -> int:
    """The cores that this process may use, which in a container are fewer than there are."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def _find_memory() -> float:
    from heldout.web.limits import find_memory

    return find_memory()


def find_gpus() -> list[str] | None:
    """The names of the GPUs that PyTorch can use; None where PyTorch is not there to ask."""
    if importlib.util.find_spec("torch") is None:
        return None
    try:
        import torch
    except (ImportError, OSError, RuntimeError):
        # Its own libraries are broken or missing: it cannot use any.
        return []
    names = [torch.cuda.get_device_name(number) for number in range(torch.cuda.device_count())]
    return [*names, *(["Apple GPU (MPS)"] if torch.backends.mps.is_available() else [])]


def _find_browser() -> str | None:
    """The browser that `heldout serve` would open."""
    import webbrowser

    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        return None
    return str(getattr(browser, "name", type(browser).__name__))


def _lay_out(facts: dict[str, Any]) -> list[Block]:
    from heldout.show.blocks import Column, Facts, Section, Table, Title

    gpus = facts["gpu"]
    memory = "unknown" if facts["memory"] is None else f"{facts['memory'] / 1e9:.1f} GB"
    machine = [
        ("Python", f"{facts['python']}, {facts['executable']}"),
        ("system", facts["system"]),
        ("cores, memory", f"{facts['cores']}, {memory}"),
        ("GPU", "not looked for: PyTorch is not installed" if gpus is None else ", ".join(gpus) or "none"),
        ("browser", facts["browser"] or "none found: heldout serve prints the address to open"),
    ]
    packages = [(name, version or "not installed") for name, version in facts["packages"].items()]
    extras = [
        (extra["name"], extra["for"], _list_versions(extra) if extra["installed"] else extra["install"])
        for extra in facts["extras"]
    ]
    columns = (Column("extra"), Column("for", wrap=True), Column("version, or how to get it", wrap=True))
    return [
        Title(f"heldout {facts['heldout']}", facts["folder"]),
        Facts(tuple(machine)),
        Section("Packages", (Facts(tuple(packages)),)),
        Section("Extras", (Table(columns, tuple(extras)),)),
    ]


def _list_versions(extra: dict[str, Any]) -> str:
    return ", ".join(f"{name} {version or 'installed'}" for name, version in extra["packages"].items())
