"""Building the site: which pages there are, writing their sources, and running Sphinx over them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from docs.website import api, commands, contracts, findings, gallery, intervals, landing, measures, plans, procedures
from docs.website import promises as promise_pages
from docs.website.page import ROOT, write_toctree
from docs.website.sources import Site, add_folders, add_guides, add_project, add_written

CONFIGURATION = ROOT / "docs" / "website"
REFERENCE = "reference/index.md"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of generated pages: the names that must have one, where each stands, and how they are written."""

    name: str
    home: str
    list_names: Callable[[], list[str]]
    page: Callable[[str], str]
    add: Callable[[Site, str], None]
    add_index: Callable[[Site, list[str]], None]


KINDS: tuple[Kind, ...] = (
    Kind("measure", measures.HOME, measures.list_measures, measures.measure_page, measures.add_measure,
         measures.add_index),
    Kind("finding", findings.HOME, findings.list_findings, findings.finding_page, findings.add_finding,
         findings.add_index),
    Kind("interval", intervals.HOME, lambda: list(intervals.list_intervals()), intervals.interval_page,
         intervals.add_interval, intervals.add_index),
    Kind("test", procedures.HOME, lambda: list(procedures.list_procedures()), procedures.procedure_page,
         procedures.add_procedure, procedures.add_index),
    Kind("plan", plans.HOME, plans.list_plans, plans.plan_page, plans.add_plan, plans.add_index),
    Kind("command", commands.HOME, commands.list_commands, commands.command_page, commands.add_command,
         commands.add_index),
    Kind("name", api.HOME, lambda: list(api.list_names()), api.api_page, api.add_name, api.add_index),
)  # fmt: skip


def choose_names(kind: Kind, few: int | None) -> list[str]:
    """All names of a kind, or some of them that lie apart."""
    names = kind.list_names()
    if few is None or few >= len(names):
        return names
    return names[:: max(len(names) // few, 1)][:few]


def make_sources(folder: Path, few: int | None = None) -> Site:
    """Write every page of the site into a folder; `few` takes only so many of each generated kind."""
    site = Site(folder, whole=few is None)
    chosen = {kind.name: choose_names(kind, few) for kind in KINDS}
    site.planned = {kind.page(name) for kind in KINDS for name in chosen[kind.name]}
    site.planned |= {f"{kind.home}/index.md" for kind in KINDS}
    site.planned |= {contracts.CONTRACTS, contracts.EXTRA_PAGE, contracts.LEARNERS, "promises/index.md", REFERENCE}
    families = promise_pages.list_families()
    site.planned |= {promise_pages.family_page(name) for name in (families if site.whole else families[:1])}
    add_written(site)
    site.planned |= set(site.pages)
    for kind in KINDS:
        began = time.process_time()
        for name in chosen[kind.name]:
            kind.add(site, name)
        kind.add_index(site, chosen[kind.name])
        print(f"{len(chosen[kind.name]):4} pages of kind {kind.name}: {time.process_time() - began:.1f} s", flush=True)
    commands.write_files(site)
    gallery.add_gallery(site, few)
    contracts.add_contracts(site)
    contracts.add_extras(site)
    contracts.add_learners(site)
    add_reference(site)
    promise_pages.add_promises(site)
    add_guides(site)
    add_project(site)
    add_folders(site)
    landing.add_landing(site)
    site.write()
    return site


def add_reference(site: Site) -> None:
    """The first page of the reference."""
    entries = [f"{kind.home.removeprefix('reference/')}/index" for kind in KINDS]
    entries += ["gallery/index", "learners", "extras", "contracts"]
    text = (
        "Made from the declarations in the code when the site is built: there is a page for every measure, finding, "
        "interval, test, plan, command and public name, and every example on them was run."
    )
    site.add(REFERENCE, f"# Reference\n\n{text}\n\n{write_toctree(entries)}")


def build_site(target: Path, *, few: int | None = None, jobs: int = 2) -> int:
    """Write the sources and run Sphinx, strictly; gives its exit status."""
    target = target.resolve()
    sources = target.with_name(f"{target.name}-sources")
    shutil.rmtree(sources, ignore_errors=True)
    sources.mkdir(parents=True)
    began = time.monotonic()
    make_sources(sources, few)
    print(f"Sources after {time.monotonic() - began:.0f} s", flush=True)
    shutil.rmtree(target, ignore_errors=True)
    words = [
        sys.executable, "-m", "sphinx", "-W", "--keep-going", "-n", "-q", "-b", "html", "-j", str(jobs),
        "-c", str(CONFIGURATION), "-d", str(target.with_name(f"{target.name}-doctrees")), "-E", str(sources),
        str(target),
    ]  # fmt: skip
    if few is not None:
        # Notebooks are executed by tests of their own.
        words += ["-D", "nb_execution_mode=off"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    status = subprocess.run(words, check=False, env=environment).returncode
    print(f"Built after {time.monotonic() - began:.0f} s: {target}/index.html", flush=True)
    return status
