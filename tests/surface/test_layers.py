"""What imports what: the contract has no exceptions, and starting up stays light."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]

EVALUATE = """
import sys
import heldout
heldout.evaluate([0, 1, 1], [0, 1, 0]).rows()
sys.stderr.write("\\n".join(sys.modules))
"""

REPORT = """
import sys
import heldout
str(heldout.evaluate([0, 1, 1], [0, 1, 0]))
sys.stderr.write("\\n".join(sys.modules))
"""

PRINTED = """
import os, sys
from heldout.cli.app import main
os.environ.pop("FORCE_COLOR", None)
sys.argv = ["heldout", "evaluate", "--matrix", "examples/imbalanced-matrix.csv"]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
sys.stderr.write("\\n".join(sys.modules))
"""

HELP = """
import sys
from heldout.cli.app import main
sys.argv = ["heldout", "--help"]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
sys.stderr.write("\\n".join(sys.modules))
"""


def modules_after(code: str) -> set[str]:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return set(done.stderr.split("\n"))


def test_the_contract_has_no_exceptions():
    # `make lint` runs the contract itself; this keeps anyone from loosening it quietly.
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    assert [contract["type"] for contract in settings["contracts"]] == ["layers"]
    (contract,) = settings["contracts"]
    assert contract["exhaustive"] is True
    assert set(contract) == {"name", "type", "containers", "exhaustive", "layers"}
    assert not [layer for layer in contract["layers"] if layer.startswith("(")]


def test_a_count_only_evaluation_loads_nothing_heavy():
    loaded = modules_after(EVALUATE)
    assert "heldout" in loaded
    assert loaded & {"altair", "narwhals", "pandas", "scipy.special", "scipy.stats", "sklearn"} == set()
    # What only models and plans need, and what says so in time: every module is read and run at each start.
    ours = {name for name in loaded if name.startswith("heldout")}
    assert {name for name in ours if name.startswith(("heldout.learners", "heldout.resampling"))} == set()
    assert len(ours) <= 120


def test_the_review_of_an_evaluation_loads_nothing_that_validates_and_compares():
    loaded = modules_after(REPORT)
    assert "heldout.findings.rules_validation" in loaded
    elsewhere = ("heldout.curves", "heldout.learners", "heldout.plans", "heldout.resampling")
    assert {name for name in loaded if name.startswith(elsewhere)} == set()
    assert "heldout.comparisons.comparison" not in loaded


def test_what_is_printed_to_a_pipe_needs_no_rich():
    loaded = modules_after(PRINTED)
    assert "heldout.show.text" in loaded
    assert "rich.console" not in loaded


def test_help_loads_no_numbers():
    loaded = modules_after(HELP)
    assert "heldout.cli.app" in loaded
    assert loaded & {"narwhals", "numpy", "polars", "pydantic", "rich", "scipy"} == set()
