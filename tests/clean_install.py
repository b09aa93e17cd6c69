"""Installs the built wheel into an environment of its own and tries every command there, without any extra.

    python tests/clean_install.py dist [UV]

With the path of uv it is quicker than with pip. Prints what was installed, how large it is and how long it took; ends
with status 1 where a command does not answer as it should, or where the install outgrew its limits.
"""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"
MOST_PACKAGES, MOST_MEGABYTES = 30, 500
# What comes with an environment and not with heldout.
OF_PIP = ("_distutils_hack", "distutils-precedence", "pip", "pkg_resources", "setuptools", "wheel")
COLUMNS = "--truth truth --predicted predicted"
LEARNING = "iris.arff --learner naive-bayes"

# Each command, the status that it must end with, and what it must say.
COMMANDS: tuple[tuple[str, int, str], ...] = (
    ("--version", 0, "heldout "),
    ("--help", 0, "Usage: heldout"),
    ("evaluate model_a.csv", 0, "Verdict"),
    ("evaluate model_a.csv --html report.html --chart roc=roc.svg -o report.json", 0, "Verdict"),
    ("evaluate --matrix 50,3;5,42 --labels no,yes", 0, "Verdict"),
    ("thresholds model_a.csv --score p_tested_positive --maximize f1 --html thresholds.html", 0, "threshold"),
    ("recalibrate model_a.csv --score p_tested_positive --fold none", 0, "logistic"),
    (f"compare model_a.csv model_b.csv --id row {COLUMNS} --html compare.html --chart compare.svg", 0, "Verdict"),
    ("check model_a.csv --require accuracy>=0.7 --junit gate.xml", 0, "PASSED"),
    ("check model_a.csv --require accuracy>=0.9 --markdown gate.md", 1, "FAILED"),
    (f"validate {LEARNING} --plan 5-fold --html validate.html", 0, "Verdict"),
    (f"learning-curve {LEARNING} --points 3 --draws 3 --chart curve.svg", 0, "Verdict"),
    (f"bias-variance {LEARNING}", 0, "variance"),
    (f"card {LEARNING} --plan 3-fold --no-timing", 0, "naive-bayes"),
    ("plan recall --value 0.8 --prevalence 0.1 --width 0.1", 0, "cases"),
    ("lab coverage --n 20 -o coverage.svg", 0, "Verdict"),
    ("count model_a.csv -o a.evidence", 0, "Wrote a.evidence"),
    ("merge a.evidence", 0, "Verdict"),
    ("measures recall", 0, "recall"),
    ("explain H012", 0, "H012"),
    ("doctor", 0, 'pip install "heldout[png]"'),
    ("serve --no-open", 2, 'pip install "heldout[serve]"'),
    ("evaluate model_a.csv --chart roc=roc.png", 2, 'pip install "heldout[png]"'),
    ("evaluate model_a.csv --chart roc=roc.json", 2, 'pip install "heldout[charts]"'),
    ("evaluate model_a.csv --engine duckdb", 2, 'pip install "heldout[duckdb]"'),
)
WRITTEN = (
    "report.html", "report.json", "roc.svg", "thresholds.html", "compare.html", "compare.svg", "gate.xml", "gate.md",
    "validate.html", "curve.svg", "coverage.svg", "a.evidence",
)  # fmt: skip


def find_programs(environment: Path) -> Path:
    """The folder of the programs of an environment."""
    return environment / ("Scripts" if os.name == "nt" else "bin")


def install(wheel: Path, environment: Path, uv: str) -> float:
    """Make the environment and install the wheel; the seconds that the installing took."""
    python = find_programs(environment) / ("python.exe" if os.name == "nt" else "python")
    if uv:
        subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, str(environment)], check=True)
        call = [uv, "pip", "install", "--quiet", "--compile-bytecode", "--python", str(python), str(wheel)]
    else:
        venv.create(environment, with_pip=True)
        call = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(wheel)]
    start = time.monotonic()
    subprocess.run(call, check=True, env=_own_environment())
    return time.monotonic() - start


def _own_environment() -> dict[str, str]:
    """Without what would let the programs see another copy of heldout."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


def measure(environment: Path) -> tuple[list[str], float]:
    """The names of the packages beside heldout, and the megabytes of all of them, compiled."""
    (site,) = environment.rglob("site-packages")
    ours = [path for path in site.iterdir() if not path.name.startswith(OF_PIP)]
    packages = sorted(path.name.partition("-")[0] for path in ours if path.name.endswith(".dist-info"))
    files = [file for path in ours for file in ([path] if path.is_file() else path.rglob("*")) if file.is_file()]
    return [name for name in packages if name != "heldout"], sum(file.stat().st_size for file in files) / 1e6


def lay_out_files(folder: Path) -> None:
    """Two files of predictions of the same cases, and one to learn from."""
    shutil.copy(EXAMPLES / "data" / "iris.arff", folder)
    with (EXAMPLES / "diabetes.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for name, every in (("model_a.csv", len(rows) + 1), ("model_b.csv", 10)):
        with (folder / name).open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            for place, row in enumerate(rows):
                # The second model answers one case in ten as the one before it.
                other = rows[place - 1]["predicted"] if place % every == every - 1 else row["predicted"]
                writer.writerow({**row, "predicted": other})


def try_commands(environment: Path, folder: Path) -> list[str]:
    """Run every command; what did not answer as it should."""
    program = str(find_programs(environment) / "heldout")
    wrong = []
    for call, status, words in COMMANDS:
        start = time.monotonic()
        # On a terminal these two would have to stand in quotes.
        split = [word.replace(";", "; ").replace(",", " ") if ";" in word else word for word in call.split()]
        done = subprocess.run(
            [program, *split], cwd=folder, env=_own_environment(), capture_output=True, text=True, encoding="utf-8",
            check=False, timeout=300,
        )  # fmt: skip
        said = done.stdout + done.stderr
        good = done.returncode == status and words in said
        print(f"{'ok   ' if good else 'WRONG'} {time.monotonic() - start:5.1f} s  heldout {call}", flush=True)
        if not good:
            wrong.append(f"heldout {call} ended with {done.returncode}, not {status} and {words!r}:\n{said}")
    return wrong + [f"{name} was not written" for name in WRITTEN if not (folder / name).is_file()]


def main(folder: str, uv: str = "") -> int:
    """Install, try, measure; 0 where all is well."""
    (wheel,) = Path(folder).resolve().glob("*.whl")
    with tempfile.TemporaryDirectory() as place:
        environment, desk = Path(place) / "environment", Path(place) / "desk"
        desk.mkdir()
        seconds = install(wheel, environment, uv)
        packages, megabytes = measure(environment)
        lay_out_files(desk)
        wrong = try_commands(environment, desk)
    figures = {
        "python": sys.version.split()[0], "packages": len(packages), "megabytes": round(megabytes),
        "install_seconds": round(seconds, 1), "wheel_kilobytes": round(wheel.stat().st_size / 1e3),
    }  # fmt: skip
    print(json.dumps(figures))
    if len(packages) > MOST_PACKAGES:
        wrong.append(f"{len(packages)} packages are more than {MOST_PACKAGES}: {', '.join(packages)}")
    if megabytes > MOST_MEGABYTES:
        wrong.append(f"{megabytes:.0f} MB are more than {MOST_MEGABYTES}")
    for text in wrong:
        print(text, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
