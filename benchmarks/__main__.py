"""Runs every benchmark, prints the tables and writes them to benchmarks/results/ as JSON."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from itertools import chain
from pathlib import Path

from benchmarks.machine import machine
from benchmarks.memory import many_classes
from benchmarks.startup import startup

RESULTS = Path(__file__).parent / "results"


def main() -> None:
    """Memory and start-up first, while this process is still small; then the races."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="a hundredth of the rows, to see that all runs; writes nothing"
    )
    parser.add_argument(
        "--only",
        choices=("counts", "ranking", "probabilities", "resampling", "comparison", "page", "scale", "startup"),
        help="the races of one kind alone",
    )
    asked = parser.parse_args()
    quick: bool = asked.quick
    shrink = 100 if quick else 1
    measured_on = machine()
    print(json.dumps(measured_on, indent=2))

    if asked.only in (None, "page"):
        from benchmarks.page import page_memory

        held = page_memory(10_000_000 // shrink)
        print(json.dumps(held))
        _write("page-memory", {"memory": held}, measured_on, quick=quick)
    if asked.only in (None, "startup"):
        _before_the_races(measured_on, shrink, quick=quick)

    # Imported late: the peers are heavy, and would swell the memory that the processes above start from.
    from benchmarks import comparison, counts, page, probabilities, ranking, resampling, scale

    kinds = {
        "counts": counts,
        "ranking": ranking,
        "probabilities": probabilities,
        "resampling": resampling,
        "comparison": comparison,
        "page": page,
        "scale": scale,
    }
    chosen = [module for name, module in kinds.items() if asked.only in (None, name)]
    for name, one in chain.from_iterable(module.races(shrink) for module in chosen):
        print(one)
        _write(name, asdict(one), measured_on, quick=quick)


def _before_the_races(measured_on: dict[str, object], shrink: int, *, quick: bool) -> None:
    """Memory and start-up, in processes of their own."""
    memory = many_classes(10_000_000 // shrink, 100_000 // shrink)
    print(
        f"peak memory of evaluating {memory['rows']:,} rows of {memory['classes']:,} classes: "
        f"{memory['peak_mib']} MiB, of which the labels are {memory['labels_mib']} MiB "
        f"({memory['seconds']} s)"
    )
    _write("memory", {"memory": memory}, measured_on, quick=quick)

    start = startup(rounds=5 if quick else 40)
    print(start)
    _write("startup", asdict(start), measured_on, quick=quick)
    from benchmarks.ranking import FEW, ranking_memory

    held = [ranking_memory(10_000_000 // shrink, distinct) for distinct in (0, FEW)]
    print(json.dumps(held))
    _write("ranking-memory", {"memory": held}, measured_on, quick=quick)


def _write(name: str, figures: dict[str, object], measured_on: dict[str, object], *, quick: bool) -> None:
    if quick:
        return
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps({**figures, "machine": measured_on}, indent=2)
    (RESULTS / f"{name}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
