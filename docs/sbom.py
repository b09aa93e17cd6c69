"""Writes the list of parts of heldout as CycloneDX JSON: what uv.lock pins, and every script and style that pages hold.

    python docs/sbom.py dist/heldout.cdx.json

Licences are those that the installed packages declare; a package that is not installed here has none in the list.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tomllib
import uuid
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "heldout"
# What is written into pages, or served with them. All of it is our own: no foreign script or font is bundled.
BUNDLED = ("show/page/*", "web/static/*", "web/templates/*")
OWN_LICENCE = [{"license": {"id": "Apache-2.0"}}]
OWN = "heldout"
SCHEMA = "http://cyclonedx.org/schema/bom-1.6.schema.json"


def list_parts(lock: Path = ROOT / "uv.lock") -> dict[str, Any]:
    """The whole document; the same lock and the same files give the same document."""
    packages = tomllib.loads(lock.read_text(encoding="utf-8"))["package"]
    own = next(package for package in packages if package["name"] == OWN)
    scopes = _scopes(packages, own)
    others = [package for package in packages if package["name"] != OWN]
    files = [_file(path) for pattern in BUNDLED for path in sorted(SOURCE.glob(pattern)) if path.is_file()]
    root = {
        "type": "application", "bom-ref": _reference(own), "name": OWN, "version": own["version"],
        "purl": _reference(own), "licenses": OWN_LICENCE,
    }  # fmt: skip
    graph = [{"ref": _reference(package), "dependsOn": _needed(package, packages)} for package in packages]
    return {
        "$schema": SCHEMA,
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, _digest(lock))}",
        "version": 1,
        "metadata": {"component": root},
        "components": [*(_package(package, scopes) for package in others), *files],
        "dependencies": graph,
    }


def _reference(package: dict[str, Any]) -> str:
    return f"pkg:pypi/{package['name']}@{package['version']}"


def _is_meant(wanted: dict[str, Any], package: dict[str, Any]) -> bool:
    """Whether an entry of the lock names this package; where there are two versions, it says which."""
    return bool(wanted["name"] == package["name"] and wanted.get("version", package["version"]) == package["version"])


def _needed(package: dict[str, Any], packages: Iterable[dict[str, Any]]) -> list[str]:
    wanted = package.get("dependencies", [])
    return sorted({_reference(other) for other in packages for one in wanted if _is_meant(one, other)})


def _scopes(packages: list[dict[str, Any]], own: dict[str, Any]) -> dict[str, str]:
    """Required where heldout alone needs a package, optional where one of its extras does; excluded: development."""
    scopes = {_reference(package): "excluded" for package in packages}
    extras = [one for group in own.get("optional-dependencies", {}).values() for one in group]
    for scope, wanted in (("optional", extras), ("required", own["dependencies"])):
        left = list(wanted)
        reached: set[str] = set()
        while left:
            one = left.pop()
            for package in packages:
                if _is_meant(one, package) and _reference(package) not in reached:
                    reached.add(_reference(package))
                    left += package.get("dependencies", [])
                    left += [deep for name in one.get("extra", []) for deep in package["optional-dependencies"][name]]
        scopes |= dict.fromkeys(reached, scope)
    return scopes


def _package(package: dict[str, Any], scopes: dict[str, str]) -> dict[str, Any]:
    reference = _reference(package)
    part: dict[str, Any] = {
        "type": "library", "bom-ref": reference, "name": package["name"], "version": package["version"],
        "purl": reference, "scope": scopes[reference],
    }  # fmt: skip
    licences = _licences(package["name"], package["version"])
    if licences:
        part["licenses"] = licences
    files = [package["sdist"]] if "sdist" in package else package.get("wheels", [])
    part["externalReferences"] = [
        {"type": "distribution", "url": file["url"], "hashes": [_hash(file["hash"].removeprefix("sha256:"))]}
        for file in files
        if "url" in file and file.get("hash", "").startswith("sha256:")
    ]
    return part


def _licences(name: str, version: str) -> list[dict[str, Any]]:
    """What an installed package says of its licence: an expression, or the names that it gives."""
    try:
        found = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return []
    if found.version != version:
        return []
    expressions = found.metadata.get_all("License-Expression", [])
    if expressions:
        return [{"expression": text} for text in expressions]
    classified = [
        text.rpartition(" :: ")[2] for text in found.metadata.get_all("Classifier", []) if "License ::" in text
    ]
    # Some give the whole text there: its first line names it.
    given = [line.strip() for line in "\n".join(found.metadata.get_all("License", [])).splitlines()[:1] if line.strip()]
    return [{"license": {"name": text}} for text in dict.fromkeys(classified or given)]


def _file(path: Path) -> dict[str, Any]:
    name = path.relative_to(SOURCE.parent).as_posix()
    return {
        "type": "file",
        "bom-ref": f"file:{name}",
        "name": name,
        "hashes": [_hash(_digest(path))],
        "licenses": OWN_LICENCE,
    }


def _hash(digest: str) -> dict[str, str]:
    return {"alg": "SHA-256", "content": digest}


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    written = Path(sys.argv[1])
    written.parent.mkdir(parents=True, exist_ok=True)
    written.write_text(json.dumps(list_parts(), indent=1) + "\n", encoding="utf-8")
