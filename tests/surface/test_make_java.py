"""What `make java` does: the Java that Spark needs is found, installed where that may be done, or asked for."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOO_OLD = "echo 'openjdk version \"11.0.2\"' >&2"
FINE = "echo 'openjdk version \"21.0.1\"' >&2"


@pytest.fixture
def bare(tmp_path) -> Path:
    """The only folder on the path; nothing is in it yet."""
    (tmp_path / "bin").mkdir()
    return tmp_path / "bin"


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def sought(path: Path, *, home: Path | None = None) -> subprocess.CompletedProcess[str]:
    told = {"PATH": str(path)} | ({} if home is None else {"JAVA_HOME": str(home)})
    command = [sys.executable, "-m", "tests.programs", "java"]
    return subprocess.run(command, cwd=ROOT, env=told, capture_output=True, text=True, check=False)


def test_a_java_on_the_path_is_found(bare):
    there = program(bare / "java", FINE)
    assert (sought(bare).returncode, sought(bare).stdout.strip()) == (0, str(there))


def test_a_java_that_is_named_is_taken_and_one_that_will_not_do_refused(bare, tmp_path):
    program(bare / "java", FINE)
    named = program(tmp_path / "home" / "bin" / "java", FINE)
    assert sought(bare, home=tmp_path / "home").stdout.strip() == str(named)
    program(named, TOO_OLD)
    assert "it is version 11" in sought(bare, home=tmp_path / "home").stderr
    assert "there is no bin/java in it" in sought(bare, home=tmp_path / "nope").stderr


@pytest.mark.parametrize("old", [True, False])
def test_without_a_java_it_is_installed_or_it_is_said_what_to_run(bare, old):
    if old:
        program(bare / "java", TOO_OLD)
    said = sought(bare)
    assert said.returncode == 1
    assert "sudo apt-get install openjdk-17-jre-headless" in said.stderr
    source = program(bare / "ready", FINE)
    copy = f"{shutil.which('cp')} {source} {bare}/java"
    # Debian 13 has no Java 17: the next one is tried.
    program(
        bare / "apt-get",
        f'echo "$DEBIAN_FRONTEND $*" >> {bare}/called\n[ "$3" = openjdk-17-jre-headless ] && exit 100\n'
        f'[ "$1" = install ] && {copy}\nexit 0',
    )
    found = sought(bare)
    if os.geteuid():
        assert "sudo apt-get install openjdk-17-jre-headless" in found.stderr
        return
    assert found.stdout.strip() == str(bare / "java")
    assert (bare / "called").read_text().splitlines() == [
        "noninteractive update",
        "noninteractive install --yes openjdk-17-jre-headless",
        "noninteractive install --yes openjdk-21-jre-headless",
    ]


def test_an_installation_that_fails_ends_with_what_to_run(bare):
    program(bare / "apt-get", "exit 100")
    failed = sought(bare)
    assert failed.returncode == 1
    assert failed.stderr.splitlines()[-1].startswith("Hint: run 'sudo apt-get install openjdk-17-jre-headless'")


def test_java_is_looked_for_before_the_long_part():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    asked = re.search(r"^test: (.*?) ##", makefile, re.MULTILINE)
    assert asked is not None
    assert "java" in asked.group(1).split()
