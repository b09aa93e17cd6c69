"""The whole report of up to a hundred million predictions in Parquet, beside merely reading and grouping the columns.

The others group in two ways: by label and prediction alone, with the sum and the least of the scores, which is as
little as one can do with all columns; and by label, prediction and score, the scores in a million bins, without which
nothing can be said of a ranking (by every distinct score there would be as many groups as rows).

    python -m benchmarks.scale [--rows 1000000 10000000 100000000] [--rounds 5] [--folder FOLDER] [--spark] [--write]
    python -m benchmarks.scale --scores uniform logistic … [--threads 1 2 4] [--rows 10000000]

The second form races the report, with and without the extra "fast", against Polars' grouping with the score alone, for
scores of several distributions and numbers of threads, and prints the worst of them beside the median.

Every contender runs in a process of its own, which first does the task for a small file, so that imports are not
counted, and then measures itself; rounds are interleaved. As a program with a contender and two files it is that
process.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from benchmarks.big_parquet import SCORES, write_big
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


def _heldout_plain(path: Path) -> object:
    sys.modules["numba"] = None  # type: ignore[assignment]
    return _heldout(path)


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
    "heldout-plain": ("heldout, the same without numba", _heldout_plain),
    "duckdb": ("DuckDB, read and group", _duckdb),
    "polars": ("Polars, read and group", _polars),
    "duckdb-bins": ("DuckDB, group with the score", _duckdb_bins),
    "polars-bins": ("Polars, group with the score", _polars_bins),
    "spark": ("heldout on Spark, file to report", _spark),
}


def measured(contender: str, path: Path, small: Path, threads: int | None = None) -> dict[str, float]:
    """Seconds and peak memory of one contender in a fresh process."""
    command = [sys.executable, "-m", "benchmarks.scale", contender, str(path), str(small)]
    told = os.environ if threads is None else {**os.environ, "POLARS_MAX_THREADS": str(threads)}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=told)
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


# The report beside the least that says something of a ranking.
BINNED = ("heldout", "heldout-plain", "polars-bins")


def by_distribution(rows: int, folder: Path, kinds: Sequence[str], threads: Sequence[int], rounds: int) -> None:
    """Print the seconds of each contender for each distribution of scores and number of threads, interleaved."""
    small = folder / f"big-{SMALL}.parquet"
    if not small.exists():
        write_big(small, SMALL)
    files = {kind: folder / f"big-{kind}-{rows}.parquet" for kind in kinds}
    for kind, path in files.items():
        if not path.exists():
            write_big(path, rows, scores=kind)
    for number in threads:
        ratios: dict[str, list[float]] = {name: [] for name in BINNED[:-1]}
        for kind, path in files.items():
            found: dict[str, list[float]] = {name: [] for name in BINNED}
            for turn in range(rounds):
                start = turn % len(BINNED)
                for name in (*BINNED[start:], *BINNED[:start]):
                    found[name].append(measured(name, path, small, number)["seconds"])
            taken = {name: statistics.median(seconds) for name, seconds in found.items()}
            for name, own in ratios.items():
                own.append(taken[name] / taken[BINNED[-1]])
            shown = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in taken.items())
            print(f"{rows:,} rows, {number} threads, {kind}: {shown}", flush=True)
        for name, own in ratios.items():
            print(f"  {name}: {statistics.median(own):.2f} times {BINNED[-1]} in the median, {max(own):.2f} at worst")


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
    parser.add_argument("--scores", nargs="+", choices=SCORES, help="race over these distributions of scores instead")
    parser.add_argument("--threads", type=int, nargs="+", default=[2], help="numbers of threads of that race")
    asked = parser.parse_args()
    if asked.scores:
        with tempfile.TemporaryDirectory() as own:
            folder = asked.folder or Path(own)
            folder.mkdir(parents=True, exist_ok=True)
            for rows in asked.rows:
                by_distribution(rows, folder, asked.scores, asked.threads, asked.rounds)
        return
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
