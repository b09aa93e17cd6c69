"""Damages files of every kind that is read, and looks whether each is read or refused, and nothing else.

`python -m tests.mutated_files --times 2000` is the long form; a short one is in tests/files/test_mutated_files.py.
Files are read in processes of their own, because a library in Rust or C++ may end the process that it runs in. Such a
file is then given to the command, which must refuse it as any other.
"""

from __future__ import annotations

import argparse
import gzip
import io
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import heldout
from heldout.costs import read_costs
from heldout.errors import HeldoutError
from heldout.evidence.storage import load
from heldout.files.formats import formats
from heldout.files.ledger import LedgerEntry, LedgerValue, append_entry, read_ledger
from heldout.files.matrix import read_matrix
from heldout.gates.requirements import read_requirement_file

Reader = Callable[[str], Any]


def sample_table() -> pl.DataFrame:
    """A small table with texts, numbers, a gap and a group."""
    rng = np.random.default_rng(5)
    truth = rng.integers(0, 2, 60)
    score = np.round(np.clip(rng.normal(0.35 + 0.3 * truth, 0.2), 0, 1), 3)
    return pl.DataFrame(
        {
            "truth": ["yes" if one else "no" for one in truth],
            "predicted": ["yes" if one > 0.5 else "no" for one in score],
            "p_yes": score,
            "site": [None if at == 7 else f"site {at % 3}" for at in range(60)],
            "day": range(60),
        }
    )


def write_table(name: str) -> bytes:
    """The sample in a format of files, by its name."""
    table, buffer = sample_table(), io.BytesIO()
    if name == "parquet":
        table.write_parquet(buffer, row_group_size=20)
    elif name == "arrow":
        table.write_ipc(buffer)
    elif name == "arrow stream":
        table.write_ipc_stream(buffer)
    elif name == "json lines":
        table.write_ndjson(buffer)
    elif name == "json":
        table.write_json(buffer)
    elif name == "npz":
        columns: dict[str, Any] = {name: table[name].fill_null("").to_numpy() for name in table.columns[:4]}
        np.savez_compressed(buffer, **columns)
    elif name == "arff":
        rows = "\n".join(f"{truth},{predicted},{score}" for truth, predicted, score, *_ in table.iter_rows())
        header = "@attribute truth {no,yes}\n@attribute predicted {no,yes}\n@attribute p_yes numeric\n"
        buffer.write(f"@relation r\n{header}@data\n{rows}\n".encode())
    else:
        table.write_csv(buffer)
    return buffer.getvalue()


def evaluate(path: str, **options: Any) -> None:
    """Read a table of predictions, with whichever of its columns it still has."""
    heldout.evaluate(path, measures=["accuracy", "roc_auc"], **options)


def kinds_of_files(folder: Path) -> dict[str, tuple[str, bytes, Reader]]:
    """Every kind of file that is read: how such a file is named, what a sound one holds, and who reads it."""
    written = {
        ".arrow": "arrow", ".jsonl": "json lines", ".json": "json",
        ".parquet": "parquet", ".npz": "npz", ".arff": "arff",
    }  # fmt: skip
    kinds: dict[str, tuple[str, bytes, Reader]] = {}
    for form in formats():
        ending = form.endings[0]
        kinds[form.name] = (f"table{ending}", write_table(written.get(ending, "csv")), evaluate)
    for engine in ("stream", "polars", "duckdb"):
        kinds[f"parquet by {engine}"] = ("table.parquet", write_table("parquet"), partial(evaluate, engine=engine))
    kinds["csv by stream"] = ("table.csv", write_table("csv"), lambda path: evaluate(path, engine="stream"))
    kinds["arrow stream"] = ("stream.arrow", write_table("arrow stream"), evaluate)
    kinds["gzip"] = ("table.csv.gz", gzip.compress(write_table("csv"), mtime=0), evaluate)
    kinds["matrix"] = ("matrix.csv", b"truth\\predicted,no,yes\nno,50,3\nyes,2,45\n", read_matrix)
    costs = b"truth\\predicted,no,yes\nno,0,1\nyes,10,0\n"
    kinds["costs"] = ("costs.csv", costs, lambda path: read_costs(path, ["no", "yes"]))
    toml = b'[costs]\nrows = "truth"\nlabels = ["no", "yes"]\nmatrix = [[0, 1], [10, 0]]\n'
    kinds["costs in TOML"] = ("costs.toml", toml, lambda path: read_costs(path, ["no", "yes"]))
    entry = LedgerEntry(
        "2026-01-01T00:00:00+00:00", "evaluate", ("c0ffee",), (LedgerValue("a", "accuracy", 0.5),), "0"
    )  # fmt: skip
    for _ in range(3):
        append_entry(folder / "sound.jsonl", entry)
    kinds["ledger"] = ("ledger.jsonl", (folder / "sound.jsonl").read_bytes(), read_ledger)
    heldout.count(sample_table(), score="p_yes").save(folder / "sound.evidence")
    kinds["evidence"] = ("counted.evidence", (folder / "sound.evidence").read_bytes(), load)
    gates = b'[[require]]\ntext = "accuracy >= 0.5"\n\n[[require]]\ntext = "recall >= 0.1"\nlevel = 0.9\n'
    kinds["requirements"] = ("gates.toml", gates, read_requirement_file)
    baseline = heldout.evaluate([0, 1, 1, 0], [0, 1, 0, 0], measures=["accuracy"]).write(folder / "sound.json")
    kinds["baseline"] = ("baseline.json", Path(baseline).read_bytes(), check_against)
    return kinds


def check_against(path: str) -> None:
    """Read an earlier result as a baseline."""
    heldout.check([0, 1, 1, 0], [0, 1, 0, 0], require=["accuracy >= baseline - 0.1"], baseline=path)


def damage(data: bytes, rng: random.Random) -> bytes:
    """The bytes with up to three faults: bits flipped, blocks cut out, repeated, swapped or written over, a cut end."""
    made = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        size = len(made)
        if size < 4:
            break
        at = rng.randrange(size) if rng.random() < 0.6 else rng.randrange(max(size - 600, 0), size)
        long = min(rng.choice((1, 2, 4, 8, 64)), size - at)
        how = rng.randrange(7)
        if how <= 1:
            made[at] ^= 1 << rng.randrange(8)
        elif how == 2:
            made[at : at + long] = bytes([rng.choice((0x00, 0xFF, 0x7F, 0x80))]) * long
        elif how == 3:
            del made[at : at + long]
        elif how == 4:
            made[at:at] = made[at : at + long] * rng.choice((1, 2, 20))
        elif how == 5:
            other = rng.randrange(size - long + 1)
            made[at : at + long], made[other : other + long] = made[other : other + long], made[at : at + long]
        else:
            del made[at:]
    return bytes(made)


def read_damaged(kinds: list[str], seed: int, begin: int, times: int, folder: Path) -> None:
    """Read so many files of each kind in turn, from one on; print what was neither a result nor a refusal.

    The number of each file is printed before it is read: it may be the last that this process reads.
    """
    readers = kinds_of_files(folder)
    with (folder / "said").open("w+b") as said:
        os.dup2(said.fileno(), 2)
        for at in range(begin, times * len(kinds)):
            kind, number = kinds[at // times], at % times
            print(f"@{at}", flush=True)
            name, data, read = readers[kind]
            (folder / name).write_bytes(damage(data, random.Random(f"{kind} {seed} {number}")))
            os.ftruncate(2, 0)
            os.lseek(2, 0, os.SEEK_SET)
            try:
                read(str(folder / name))
            except HeldoutError as error:
                if not (error.what.endswith(".") and error.hint):
                    print(f"{kind}, {number} has no two sentences: {error}")
            except BaseException as error:  # noqa: BLE001 - a panic in Rust is no Exception
                print(f"{kind}, {number} raises {type(error).__name__}: {str(error)[:200]!r}")
            if heard := Path(said.name).read_bytes():
                print(f"{kind}, {number} is not silent: {heard[:200]!r}")


def faults_of(kinds: list[str], seed: int, times: int, folder: Path) -> Iterator[str]:
    """What went wrong with so many damaged files of each kind."""
    begin = 0
    while begin < times * len(kinds):
        told = [",".join(kinds), str(seed), str(begin), str(times), str(folder)]
        words = [sys.executable, "-m", "tests.mutated_files", "--read", *told]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        lines = done.stdout.splitlines()
        yield from (line for line in lines if not line.startswith("@"))
        if not done.returncode:
            return
        at = max(int(line[1:]) for line in lines if line.startswith("@"))
        kind, number = kinds[at // times], at % times
        yield from (f"{kind}, {number}: {fault}" for fault in faults_of_command(kind, folder))
        begin = at + 1


def faults_of_command(kind: str, folder: Path) -> Iterator[str]:
    """What goes wrong where the command reads the file that ended its reader."""
    name, _, _ = kinds_of_files(folder)[kind]
    engine = ["--engine", kind.rpartition(" by ")[2]] if " by " in kind else []
    words = [sys.executable, "-m", "heldout", "evaluate", str(folder / name), *engine, "--measure", "accuracy"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 2 or len(done.stderr.splitlines()) != 2:
        yield f"the command ends with {done.returncode} and says {done.stderr[-300:]!r}"


def main() -> None:
    """Damage files of every kind, or read those of one as a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kind", action="append")
    parser.add_argument("--read", nargs=5)
    asked = parser.parse_args()
    if asked.read:
        kinds, seed, begin, times, folder = asked.read
        read_damaged(kinds.split(","), int(seed), int(begin), int(times), Path(folder))
        return
    with tempfile.TemporaryDirectory() as folder:
        kinds = asked.kind or list(kinds_of_files(Path(folder)))
        faults = list(faults_of(kinds, asked.seed, asked.times, Path(folder)))
    print(f"{asked.times} damaged files of each of {len(kinds)} kinds, {len(faults)} faults", *faults, sep="\n")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
