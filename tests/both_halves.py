"""Runs every test and example, half of them beside the other half: `make test` takes this way on two cores."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
# Folders of tests by their first letter: together with the examples in the sources, those before this one.
MIDDLE = "m"


def halves() -> tuple[list[str], list[str]]:
    """What each of the two runs is given; together it is all that pytest would find by itself."""
    folders = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "tests").iterdir() if path.is_dir())
    folders = [name for name in folders if not Path(name).name.startswith(("_", "."))]
    single = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "tests").glob("test_*.py"))
    first = [name for name in folders if Path(name).name < MIDDLE]
    return ["src", *first], [*(name for name in folders if name not in first), *single, "README.md", "docs"]


def main() -> int:
    """Run both, show the one while it runs and the other when it has ended; 0 where all passed."""
    one, two = halves()
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
    with tempfile.TemporaryFile("w+", encoding="utf-8") as said:
        beside = subprocess.Popen([*command, *one], cwd=ROOT, stdout=said, stderr=subprocess.STDOUT)
        try:
            status = subprocess.run([*command, *two], cwd=ROOT, check=False).returncode
            other = beside.wait()
        finally:
            beside.kill()
        said.seek(0)
        sys.stdout.write(said.read())
    return status or other


if __name__ == "__main__":
    sys.exit(main())
