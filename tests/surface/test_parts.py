"""The list of parts: a CycloneDX document of all that the lock pins and all that pages hold, each with its licence."""

from __future__ import annotations

import hashlib
import re
import tomllib
from pathlib import Path

import pytest
from docs.sbom import list_parts

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
# What CycloneDX 1.6 allows where we write it.
TYPES, SCOPES = {"application", "file", "library"}, {"required", "optional", "excluded"}


@pytest.fixture(scope="module")
def parts():
    return list_parts()


def test_the_document_has_what_the_standard_asks_for(parts):
    assert (parts["bomFormat"], parts["specVersion"], parts["version"]) == ("CycloneDX", "1.6", 1)
    assert re.fullmatch(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", parts["serialNumber"])
    components = [parts["metadata"]["component"], *parts["components"]]
    references = [component["bom-ref"] for component in components]
    assert len(references) == len(set(references))
    for component in components:
        assert component["type"] in TYPES
        assert component["name"]
        assert component.get("scope", "required") in SCOPES
        for licence in component.get("licenses", []):
            assert len(licence) == 1
            assert licence.get("expression") or any(licence["license"].get(key) for key in ("id", "name"))
        held = [
            *component.get("hashes", []),
            *(h for r in component.get("externalReferences", []) for h in r["hashes"]),
        ]
        assert all(one["alg"] == "SHA-256" and re.fullmatch("[0-9a-f]{64}", one["content"]) for one in held)
    for node in parts["dependencies"]:
        assert {node["ref"], *node["dependsOn"]} <= set(references)
    assert list_parts() == parts


def test_everything_that_the_lock_pins_is_in_it(parts):
    lock = tomllib.loads((ROOT / "uv.lock").read_text(encoding="utf-8"))["package"]
    pinned = {(package["name"], package["version"]) for package in lock} - {("heldout", parts_version(parts))}
    listed = {(part["name"], part["version"]) for part in parts["components"] if part["type"] == "library"}
    assert listed == pinned
    scope = {part["name"]: part["scope"] for part in parts["components"] if part["type"] == "library"}
    # Ours, what ours needs, an extra, what an extra needs, and what only tests use.
    assert [scope[name] for name in ("polars", "markupsafe", "duckdb", "h11", "pytest")] == [
        "required", "required", "optional", "optional", "excluded"
    ]  # fmt: skip
    without = {
        part["name"] for part in parts["components"] if part.get("scope") == "required" and "licenses" not in part
    }
    # Other versions of these are installed here, by the version of Python; colorama is Windows' alone.
    assert without <= {"colorama", "numpy", "scipy"}


def parts_version(parts) -> str:
    return str(parts["metadata"]["component"]["version"])


def test_what_pages_hold_is_in_it_and_carries_its_licence(parts):
    listed = {part["name"]: part for part in parts["components"] if part["type"] == "file"}
    ours = {
        path.relative_to(SOURCE).as_posix(): path
        for path in (SOURCE / "heldout").rglob("*")
        if path.suffix in {".js", ".css", ".html", ".svg", ".woff", ".woff2", ".ttf"}
    }
    assert set(ours) <= set(listed)
    for name, path in ours.items():
        assert listed[name]["hashes"][0]["content"] == hashlib.sha256(path.read_bytes()).hexdigest()
        assert listed[name]["licenses"]
        # No foreign font or library: whoever adds one says here whose it is, and brings its licence.
        assert path.suffix not in {".woff", ".woff2", ".ttf"}
        assert ".min." not in path.name
    for script in (SOURCE / "heldout" / "web" / "static").glob("*.js"):
        assert "SPDX-License-Identifier: Apache-2.0" in script.read_text(encoding="utf-8")[:200]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["license-files"] == ["LICENSE"]
    assert "Apache License" in (ROOT / "LICENSE").read_text(encoding="utf-8")


def test_every_test_behind_a_promise_about_hostile_input_is_there():
    promised = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(tests/[\w/.]+)`", promised))
    assert len(named) > 8
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []
    assert "docs/security.md" in (ROOT / "SECURITY.md").read_text(encoding="utf-8")
