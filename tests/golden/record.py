"""The golden record: what every command, answer, error and public name shows for the data in examples/.

`python tests/golden/record.py [FOLDER]` writes one file of text for each group; FOLDER is tests/golden/expected by
default. The commands stand in commands.txt and the calls from Python in calls.txt. Only the public surface is used:
the names in `heldout.__all__` and `python -m heldout`.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import hashlib
import html
import inspect
import io
import itertools
import json
import os
import re
import runpy
import shlex
import shutil
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np  # noqa: F401 - a process under way is not forked by the command line

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parents[1] / "examples"
EXPECTED = HERE / "expected"
# A page or a picture of more characters is recorded by what it says and by its digest.
LARGEST = 40_000
DIGITS = 10
# Smaller numbers are what rounding leaves, and differ between processors.
SMALLEST = 1e-14
SCREEN = {"COLUMNS": "100", "LINES": "50", "TERM": "dumb", "NO_COLOR": "1", "TERMINAL_WIDTH": "100"}
# Sums of one thread are always added in the same order.
THREADS = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
# What every look at the clock takes, in seconds.
TICK = 1 / 1024
FORMS = (".txt", ".json", ".md", ".tex", ".html", ".csv")

LONG_NUMBER = re.compile(r"(?<![\w.#-])-?\d+\.\d{9,}(?:[eE][-+]?\d+)?(?![\w.])|(?<![\w.#])\d\.?\d*[eE]-\d{2,}(?!\w)")
ADDRESS = re.compile(r" at 0x[0-9a-f]+")
VERSION = re.compile(r"\b(heldout|numpy|scipy|polars|scikit-learn|Python) \d+(?:\.\w+)+")
BYTES = re.compile(r"\bin [\d,]+ bytes")
# How long predictions took and how much memory they needed, on the card.
MEASURED = re.compile(r"Speed     One row .*?timings vary\.", re.DOTALL)
# Altair names a dataset by a hash of every digit of its numbers, of which the last differ between machines.
DATASET = re.compile(r"\bdata-[0-9a-f]{32}\b")
# Classes move from file to file; heldout.lab and heldout.plans are public names.
MODULE = re.compile(r"\bheldout\.(?!lab\.|plans\.|nothing)(?:[a-z_0-9]+\.)+(?=[A-Za-z_])")


def normalise(text: str) -> str:
    """The text without what differs between runs and machines.

    Left out are the folder of the recording, versions, addresses in memory, sizes of files of evidence, measured speed
    and the modules in which classes stand; datasets of charts are numbered as they are met; numbers are rounded
    to ten digits, and those below 1e-14 are 0.
    """
    text = text.replace("\r\n", "\n").replace(str(Path.cwd()), "<folder>")
    text = MODULE.sub("", ADDRESS.sub("", text))
    text = VERSION.sub(r"\1 <version>", BYTES.sub("in <so many> bytes", text))
    text = MEASURED.sub(lambda match: " ".join(re.sub(r"\d[\d.,]* \w+", "<so many>", match[0]).split()), text)
    datasets = {name: f"data-{at}" for at, name in enumerate(dict.fromkeys(DATASET.findall(text)), 1)}
    text = DATASET.sub(lambda match: datasets[match[0]], text)
    return LONG_NUMBER.sub(lambda match: _rounded(match[0]), text)


def _rounded(number: str) -> str:
    value = float(number)
    return f"{value:.{DIGITS}g}" if abs(value) >= SMALLEST else "0.0"


# The data


def lay_out_data() -> None:
    """Lay the examples and what is made of them into the working directory."""
    shutil.copytree(EXAMPLES, "examples")
    for folder in ("out", "kept", "parts"):
        Path(folder).mkdir()
    with Path("examples/diabetes.csv").open(encoding="utf-8") as file:
        rows = [_case(int(row["row"]), row) for row in csv.DictReader(file)]
    left = [case | {"predicted": _answer(case["score"])} for case in rows]
    right = [case | {"score": _other(case), "predicted": _answer(_other(case))} for case in rows]
    write_rows("left.csv", left)
    write_rows("right.csv", right)
    write_rows("short.csv", right[:100])
    write_rows("left.tsv", left, delimiter="\t")
    write_rows("gaps.csv", [case | ({"score": ""} if case["case"] % 50 == 0 else {}) for case in left])
    write_rows("one_class.csv", [case | {"truth": "yes", "predicted": "yes"} for case in left[:20]])
    write_rows("both.csv", [
        {"case": a["case"], "truth": a["truth"], "model_a": a["predicted"], "model_b": b["predicted"],
         "score_a": a["score"], "score_b": b["score"]} for a, b in zip(left, right, strict=True)
    ])  # fmt: skip
    write_rows("repeated.csv", [
        {key: case[key] for key in ("case", "truth", "predicted")} | {"fold": fold}
        for fold, part in enumerate((left[:200], right[:200])) for case in part
    ])  # fmt: skip
    write_rows("data.csv", [
        {"a": case["score"], "b": case["case"] % 7, "c": case["region"], "patient": case["case"] % 60,
         "fold": case["fold"], "y": case["truth"]} for case in left[:240]
    ])  # fmt: skip
    for number in range(3):
        write_rows(f"parts/part-{number}.csv", left[number::3])
    for name, learners in (("results.csv", ("first", "second", "third", "fourth")), ("results2.csv", ("old", "new"))):
        write_rows(name, [
            {"data": f"set {i}", **{learner: round(0.7 + 0.03 * j + (i * (j + 2) * 7 % 11) / 60, 3)
                                    for j, learner in enumerate(learners)}} for i in range(1, 11)
        ])  # fmt: skip
    lay_out_other_forms(left, right)


def _case(number: int, row: dict[str, str]) -> dict[str, Any]:
    return {
        "case": number, "patient": f"p{number % 150}", "region": ("north", "south", "east")[number % 3],
        "age": 20 + number * 7 % 60, "weight": 0.5 + number % 4 / 2, "fold": int(row["fold"]),
        "truth": "yes" if row["truth"] == "tested_positive" else "no",
        "score": round(float(row["p_tested_positive"]), 3),
    }  # fmt: skip


def _other(case: dict[str, Any]) -> float:
    return round(0.7 * case["score"] + 0.3 * (case["case"] * 37 % 101) / 100, 3)


def _answer(score: float) -> str:
    return "yes" if score >= 0.5 else "no"


def write_rows(name: str, rows: list[dict[str, Any]], delimiter: str = ",") -> None:
    """Write rows as a file of comma-separated values."""
    with Path(name).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def lay_out_other_forms(left: list[dict[str, Any]], right: list[dict[str, Any]]) -> None:
    """Lay out Parquet, JSON lines, compressed text, settings, and files with something wrong."""
    import polars as pl

    pl.DataFrame(left).write_parquet("left.parquet")
    pl.DataFrame(right).write_parquet("right.parquet")
    pl.DataFrame(left).write_ndjson("left.jsonl")
    Path("left.csv.gz").write_bytes(gzip.compress(Path("left.csv").read_bytes(), mtime=0))
    texts = {
        "costs.csv": "truth,no,yes\nno,0,1\nyes,10,0\n",
        "costs.toml": '[[cost]]\ntruth = "yes"\npredicted = "no"\ncost = 10\n\n'
        '[[cost]]\ntruth = "no"\npredicted = "yes"\ncost = 1\n',
        "gate.toml": '[[require]]\ntext = "accuracy >= 0.6"\n\n[[require]]\ntext = "recall[yes] >= 0.4"\n',
        "answers.toml": 'intended_use = "To try the record."\n',
        "empty.csv": "",
        "header.csv": "truth,predicted\n",
        "odd.csv": "truth,predicted\nyes,no\nyes\n",
    }
    for name, text in texts.items():
        Path(name).write_text(text, encoding="utf-8")
    run_command("evaluate right.csv --json baseline.json")


# Commands


def record_commands(lines: list[str]) -> str:
    """What each command printed, and what it wrote to out/."""
    return "\n".join(run_command(line) for line in lines)


def run_command(line: str) -> str:
    """Run one command in this process; gives its exit status and all that it wrote."""
    words = shlex.split(line)
    given = b""
    if "<" in words:
        given = Path(words[-1]).read_bytes()
        words = words[: words.index("<")]
    streams = [io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline="\n") for data in (given, b"", b"")]
    kept = sys.argv, sys.stdin, sys.stdout, sys.stderr
    status: object = 0
    try:
        sys.argv, (sys.stdin, sys.stdout, sys.stderr) = ["heldout", *words], streams
        runpy.run_module("heldout", run_name="__main__")
    except SystemExit as end:
        status = end.code
    finally:
        sys.argv, sys.stdin, sys.stdout, sys.stderr = kept
    parts = [f"$ heldout {line}", f"exit status {status}"]
    for name, stream in zip(("standard output", "standard error"), streams[1:], strict=True):
        stream.flush()
        text = stream.buffer.getvalue().decode("utf-8")
        parts += [f"--- {name}", shorten(text)] if text else []
    for path in sorted(Path("out").iterdir()):
        parts += [f"--- {path}", describe_file(path)]
        path.unlink()
    return normalise("\n".join(parts)).rstrip() + "\n"


def describe_file(path: Path) -> str:
    """The text of a file; of what is no text, only what kind it is."""
    if path.suffix == ".png":
        return "a picture" if path.read_bytes().startswith(b"\x89PNG") else "no picture"
    if path.suffix == ".evidence":
        return "evidence"
    return shorten(path.read_text(encoding="utf-8"), path.suffix)


def shorten(text: str, ending: str = "") -> str:
    """A text as it is; of a large page or text also its digest, of a picture what it says.

    Where the words of a picture stand depends on the fonts of the machine; what is drawn is in its Vega-Lite document.
    """
    text = normalise(text)
    if len(text) <= LARGEST and ending != ".svg":
        return text
    digest = [f"{len(text)} characters, SHA-256 {hashlib.sha256(text.encode()).hexdigest()}"]
    if ending not in {".html", ".svg"}:
        return "\n".join([*digest, text[:LARGEST]])
    tags = Counter(re.findall(r"<([a-zA-Z][\w-]*)", text))
    body = re.sub(r"<(script|style)\b.*?</\1>", "", text, flags=re.DOTALL)
    words = html.unescape(re.sub(r"<[^>]+>", "\n", body))
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    first = re.findall(r'aria-label="[^"]*"', text)[:1] if ending == ".svg" else digest
    return "\n".join([*first, ", ".join(f"{tag} {number}" for tag, number in sorted(tags.items())), *lines])


# Calls


def record_calls(lines: list[str]) -> str:
    """What each call gave, in every form."""
    import heldout

    names: dict[str, Any] = {"heldout": heldout}
    return "\n".join(f"{normalise(record_call(line, names)).rstrip()}\n" for line in lines)


def record_call(line: str, names: dict[str, Any]) -> str:
    """What one call gave; an answer with a name is kept under it."""
    name, expression = match.groups() if (match := re.fullmatch(r"(\w+) = (.*)", line)) else ("_", line)
    try:
        value = names[name] = eval(expression, names)
        return f">>> {line}\n{show_value(value)}"
    except Exception as error:  # noqa: BLE001 - every error is recorded
        return f">>> {line}\n{type(error).__name__}: {error}"


def show_value(value: Any) -> str:
    """An answer in all its forms, a chart as its Vega-Lite document, anything else as Python shows it."""
    parts = []
    if hasattr(value, "write") and hasattr(value, "to_markdown"):
        parts.append(f"{type(value).__name__} {shorten(repr(value))}")
        for ending in FORMS:
            path = Path(value.write(f"out/answer{ending}"))
            parts += [f"--- {ending}", shorten(path.read_text(encoding="utf-8"), ending)]
            path.unlink()
        parts += ["--- to_html", shorten(value.to_html(), ".html")]
        parts += ["--- _repr_html_", shorten(value._repr_html_(), ".html")]
        parts += [f"to_json is the same: {json.loads(value.to_json()) == value.to_dict()}"]
    if hasattr(value, "save") and hasattr(value, "to_markdown"):
        parts += ["--- save, SVG", save_picture(value)]
    chart = draw_usual(value) if hasattr(value, "chart_kinds") else value
    if type(chart).__module__.startswith("altair"):
        parts += ["--- Vega-Lite", shorten(json.dumps(chart.to_dict(), indent=1, ensure_ascii=False))]
    return "\n".join(parts) or (value if isinstance(value, str) else f"{type(value).__name__} {value!r}")


def draw_usual(value: Any) -> Any:
    """The usual chart of an answer, where it has one with something on it."""
    try:
        return value.chart()
    except ValueError as error:
        return error


def save_picture(value: Any) -> str:
    """The picture of an answer, or why there is none."""
    try:
        path = Path(value.save("out/chart.svg"))
    except ValueError as error:
        return f"{type(error).__name__}: {error}"
    text = path.read_text(encoding="utf-8")
    path.unlink()
    return shorten(text, ".svg")


# Names


def record_names() -> str:
    """Every public name with its kind, its signature and, of classes, the public members."""
    import heldout

    lines = [f"heldout {sorted(dir(heldout))}"]
    for package, prefix in ((heldout, ""), (heldout.lab, "lab."), (heldout.plans, "plans.")):
        for name in sorted(package.__all__):
            lines += ["", *describe_name(prefix + name, getattr(package, name))]
    return normalise("\n".join(lines) + "\n")


def describe_name(name: str, value: Any) -> list[str]:
    """One public name: a module, a function, or a class with its members."""
    if inspect.ismodule(value):
        return [f"module {name} {sorted(value.__all__)}"]
    if not inspect.isclass(value):
        return [f"function {name}{signature_text(value)}", f"    {first_line(value)}"]
    lines = [f"class {name}({', '.join(base.__name__ for base in value.__mro__[1:-1])})"]
    lines += [f"    {first_line(value)}", f"    made by {signature_text(value)}"]
    for member in sorted(dir(value)):
        if not member.startswith("_"):
            lines.append(f"    {member}{describe_member(inspect.getattr_static(value, member))}")
    return lines


def describe_member(member: Any) -> str:
    """What a member of a class is."""
    if isinstance(member, classmethod | staticmethod):
        return f"{signature_text(member.__func__)} {type(member).__name__}"
    if inspect.isfunction(member):
        return signature_text(member)
    if isinstance(member, property) or hasattr(member, "func"):
        return " property"
    return f" = {member!r}" if isinstance(member, str | int | float | tuple) else f" {type(member).__name__}"


def signature_text(function: Any) -> str:
    """The signature, with the bare names of classes."""
    try:
        return re.sub(r"\b(?:[a-z_]\w*\.)+(?=[A-Z])", "", str(inspect.signature(function)))
    except (TypeError, ValueError):
        return "(…)"


def first_line(value: Any) -> str:
    """The first line of a docstring."""
    return (inspect.getdoc(value) or "").split("\n", 1)[0]


# All of it


def read_groups(name: str) -> dict[str, list[str]]:
    """The lines of a file by the group that they stand in."""
    groups: dict[str, list[str]] = {}
    for line in (HERE / name).read_text(encoding="utf-8").splitlines():
        if re.fullmatch(r"\[[\w-]+\]", line):
            groups[line[1:-1]] = []
        elif line and not line.startswith("#"):
            groups[list(groups)[-1]].append(line)
    return groups


@contextlib.contextmanager
def steady_surroundings() -> Iterator[None]:
    """A folder of its own, a screen of fixed size, a clock that ticks when looked at, warnings without their file."""
    kept, folder, clock, ticks = dict(os.environ), Path.cwd(), time.perf_counter, itertools.count()
    with tempfile.TemporaryDirectory() as place, warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = lambda message, category, *_: print(f"{category.__name__}: {message}", file=sys.stderr)
        os.environ.update(SCREEN | THREADS)
        time.perf_counter = lambda: next(ticks) * TICK
        os.chdir(Path(place).resolve())
        try:
            yield
        finally:
            time.perf_counter = clock
            os.chdir(folder)
            os.environ.clear()
            os.environ.update(kept)


def record(target: Path) -> None:
    """Write every group to its file in the folder."""
    target.mkdir(parents=True, exist_ok=True)
    target = target.resolve()
    texts = {}
    with steady_surroundings():
        lay_out_data()
        for group, lines in read_groups("commands.txt").items():
            texts[group] = record_commands(lines)
        for group, lines in read_groups("calls.txt").items():
            texts[group] = record_calls(lines)
        texts["names"] = record_names()
    for path in target.glob("*.txt"):
        path.unlink()
    for group, text in texts.items():
        (target / f"{group}.txt").write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    record(Path(sys.argv[1]) if len(sys.argv) > 1 else EXPECTED)
