"""The whole report of up to a hundred million predictions in Parquet, beside merely reading and grouping the columns.

The others group in two ways: by label and prediction alone, with the sum and the least of the scores, which is as
little as one can do with all columns; and by label, prediction and score, the scores in a million bins, without which
nothing can be said of a ranking (by every distinct score there would be as many groups as rows).

    python -m benchmarks.scale [--rows 1000000 10000000 100000000] [--rounds 5] [--folder FOLDER] [--spark] [--write]

Every contender runs in a process of its own, which first does the task for a small file, so that imports are not
counted, and then measures itself; rounds are interleaved. As a program with a contender and two files it is that
process.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from benchmarks.big_parquet import write_big
from benchmarks.machine import machine
from benchmarks.memory import peak_mib, peak_of_children_mib
from benchmarks.timing import Race, Timing

ROWS = (1_000_000, 10_000_000, 100_000_000)
SMALL = 10_000
BINS = 1 << 20
LOCAL = ("heldout", "duckdb", "polars", "duckdb-bins", "polars-bins")
RESULTS = Path(__file__).parent / "results"


def _heldout(path: Path) -> object:
    import heldout

    return str(heldout.evaluate(path, engine="stream"))


def _spark(path: Path) -> object:
    import heldout

    return str(heldout.evaluate(path, engine="spark", master="local[2]"))


def _duckdb(path: Path) -> object:
    import duckdb

    asked = "SELECT truth, predicted, count(*), sum(score), min(score) FROM read_parquet(?) GROUP BY ALL"
    return duckdb.execute(asked, [str(path)]).fetchall()


def _polars(path: Path) -> object:
    import polars as pl

    score = pl.col("score")
    grouped = pl.scan_parquet(path).group_by("truth", "predicted")
    return grouped.agg(pl.len(), score.sum().alias("sum"), score.min().alias("min")).collect(engine="streaming")


def _duckdb_bins(path: Path) -> object:
    import duckdb

    asked = "SELECT truth, predicted, floor(score * ?)::INT, count(*) FROM read_parquet(?) GROUP BY ALL"
    return duckdb.execute(asked, [BINS, str(path)]).fetchnumpy()


def _polars_bins(path: Path) -> object:
    import polars as pl

    placed = (pl.col("score") * BINS).cast(pl.Int32)
    grouped = pl.scan_parquet(path).group_by("truth", "predicted", placed)
    return grouped.agg(pl.len()).collect(engine="streaming")


CONTENDERS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "heldout": ("heldout, file to report", _heldout),
    "duckdb": ("DuckDB, read and group", _duckdb),
    "polars": ("Polars, read and group", _polars),
    "duckdb-bins": ("DuckDB, group with the score", _duckdb_bins),
    "polars-bins": ("Polars, group with the score", _polars_bins),
    "spark": ("heldout on Spark, file to report", _spark),
}


def measured(contender: str, path: Path, small: Path) -> dict[str, float]:
    """Seconds and peak memory of one contender in a fresh process."""
    command = [sys.executable, "-m", "benchmarks.scale", contender, str(path), str(small)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def compared(rows: int, folder: Path, *, rounds: int, names: Sequence[str]) -> tuple[Race, dict[str, float]]:
    """One race, interleaved, and the peak memory of every contender in MiB."""
    path, small = folder / f"big-{rows}.parquet", folder / f"big-{SMALL}.parquet"
    for file, size in ((small, SMALL), (path, rows)):
        if not file.exists():
            write_big(file, size)
    found: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    for turn in range(rounds):
        start = turn % len(names)
        for name in [*names[start:], *names[:start]]:
            found[name].append(measured(name, path, small))
    first = statistics.median(one["seconds"] for one in found[names[0]])
    timings = []
    for name in names:
        taken = [one["seconds"] for one in found[name]]
        peak = max(one["peak_mib"] for one in found[name])
        middle = statistics.median(taken)
        note = f"peak {peak:,.0f} MiB"
        timings.append(Timing(CONTENDERS[name][0], middle, min(taken), max(taken), rounds, middle / first, note))
    peaks = {name: max(one["peak_mib"] for one in found[name]) for name in names}
    return Race(f"report of {rows:,} predictions in Parquet", tuple(timings)), peaks


def races(shrink: int) -> Iterator[tuple[str, Race]]:
    """The three sizes, each in a folder that is thrown away."""
    with tempfile.TemporaryDirectory() as folder:
        for rows in ROWS:
            size = max(rows // shrink, SMALL)
            yield (
                f"scale-1e{len(str(rows)) - 1}",
                compared(size, Path(folder), rounds=3, names=LOCAL)[0],
            )


def _main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS, help="sizes of the files")
    parser.add_argument("--rounds", type=int, default=5, help="how often every contender runs")
    parser.add_argument("--folder", type=Path, help="where files are kept, or found if they are there")
    parser.add_argument("--spark", action="store_true", help="once on Spark, local[2], as well")
    parser.add_argument("--write", action="store_true", help="write the figures to benchmarks/results/scale.json")
    asked = parser.parse_args()
    figures: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as own:
        folder = asked.folder or Path(own)
        folder.mkdir(parents=True, exist_ok=True)
        for rows in asked.rows:
            race, peaks = compared(rows, folder, rounds=asked.rounds, names=LOCAL)
            if asked.spark:
                alone, more = compared(rows, folder, rounds=1, names=("spark",))
                race, peaks = Race(race.task, (*race.timings, *alone.timings)), peaks | more
            print(race)
            ours, *others = (timing.seconds for timing in race.timings)
            quicker = [ours / min(others[at : at + 2]) for at in (0, 2)]
            print(f"  {ours / rows * 1e9:.1f} ns a row; {quicker[0]:.2f} times the quicker that groups by label and")
            print(f"  prediction, {quicker[1]:.2f} times the quicker that groups by the score too")
            figures.append(
                {
                    "rows": rows,
                    "peak_mib": {name: round(peak, 1) for name, peak in peaks.items()},
                    "seconds": {timing.name: round(timing.seconds, 3) for timing in race.timings},
                    "rounds": asked.rounds,
                }
            )
    if asked.write:
        RESULTS.mkdir(exist_ok=True)
        text = json.dumps({"scale": figures, "machine": machine()}, indent=2)
        (RESULTS / "scale.json").write_text(text + "\n", encoding="utf-8")


def _alone(contender: str, path: Path, small: Path) -> None:
    run = CONTENDERS[contender][1]
    run(small)
    begin = time.perf_counter()
    run(path)
    seconds = time.perf_counter() - begin
    # Spark works in a virtual machine of its own, which has ended by now.
    more = peak_of_children_mib() if contender == "spark" else 0.0
    print(json.dumps({"seconds": seconds, "peak_mib": peak_mib() + more}))


if __name__ == "__main__":
    if len(sys.argv) == 4 and sys.argv[1] in CONTENDERS:
        _alone(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
    else:
        _main()
