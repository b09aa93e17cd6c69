"""Builds the site: `python -m docs.website`, or `make site`; a broken link or a failing example fails it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from docs.website.build import build_site

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m docs.website", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=Path("build/site"), help="where the pages go")
    parser.add_argument("--few", type=int, help="only so many pages of each kind, as the tests build it")
    parser.add_argument("--jobs", type=int, default=2, help="processes beside each other")
    asked = parser.parse_args()
    sys.exit(build_site(asked.folder, few=asked.few, jobs=asked.jobs))
