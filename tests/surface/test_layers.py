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
heldout.evaluate([0, 1, 1], [0, 1, 0])
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
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
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
    assert loaded & {"altair", "pandas", "scipy.stats", "sklearn"} == set()


def test_help_loads_no_numbers():
    loaded = modules_after(HELP)
    assert "heldout.cli.app" in loaded
    assert loaded & {"narwhals", "numpy", "polars", "pydantic", "rich", "scipy"} == set()
