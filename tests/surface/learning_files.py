"""Files to learn from, good and bad, and learners of somebody's own, as a person's folder may hold them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np


def table(header: str, *columns) -> str:
    """A CSV file from its header and its columns."""
    rows = zip(*columns, strict=True)
    return "\n".join([header, *(",".join(str(value) for value in row) for row in rows)]) + "\n"


def numbers(n: int, shift=0.0) -> list[str]:
    """The same numbers on every run, with three digits."""
    return [f"{x:.3f}" for x in np.random.default_rng(n).normal(shift, 1, n)]


def words(n: int) -> list[str]:
    """no and yes in turns."""
    return ["yes" if i % 2 else "no" for i in range(n)]


OK = table("a,b,class", numbers(60), numbers(60, np.arange(60) % 2), words(60))

FILES = {
    "ok.csv": OK,
    "rare.csv": OK + "1,2,maybe\n1,3,maybe\n",
    "groups.csv": table("a,place,class", numbers(30), np.arange(30) % 3, [words(2)[(i // 3) % 2] for i in range(30)]),
    "one-class.csv": table("a,class", numbers(20), ["yes"] * 20),
    "one-row.csv": "a,class\n1,yes\n",
    "eleven.csv": table("a,class", numbers(11), words(11)),
    "continuous.csv": table("a,y", numbers(40), [f"{x:.5f}" for x in np.random.default_rng(1).random(40)]),
    "gaps.csv": table("a,b,class", ["", *numbers(39)], numbers(40), words(40)),
    "no-class.csv": table("a,class", numbers(20), [*words(19), ""]),
    "numbers.csv": table("a,class", numbers(60, np.arange(60) % 3), np.arange(60) % 3),
    "odd.csv": table("größe [cm],klasse ☃", numbers(40, np.arange(40) % 2), ["n[e]in", "ja 👍"] * 20),
    "empty.csv": "",
    "header.csv": "a,class\n",
    "own_no_predict.py": "class Half:\n    def fit(self, X, y):\n        return self\n",
    "own_broken.py": "import surely_nothing_has_this_name\n",
    "own_failing.py": (
        "class Fails:\n    def fit(self, X, y):\n        raise RuntimeError('no luck')\n\n"
        "    def predict(self, X):\n        return X[:, 0]\n"
    ),
    "own_slow.py": (
        "import pathlib\nimport time\n\nimport numpy as np\n\n\n"
        "class Slow:\n"
        '    """Quick for the first fits, then as slow as a large network."""\n\n'
        "    def __init__(self, quick=3):\n        self.quick = quick\n\n"
        "    def fit(self, X, y):\n"
        "        with pathlib.Path('fits').open('a') as file:\n            file.write('x')\n"
        "        if pathlib.Path('fits').stat().st_size > self.quick:\n            time.sleep(300)\n"
        "        self.answer = np.unique(y)[0]\n        return self\n\n"
        "    def predict(self, X):\n        return np.full(len(X), self.answer)\n"
    ),
    "own_freed.py": (
        "import os\nimport signal\nimport time\n\n\n"
        "class Freed:\n    def __del__(self):\n        os.kill(os.getpid(), signal.SIGINT)\n"
        "        time.sleep(0.01)\n\n\n"
        "class Slow:\n"
        '    """Is interrupted while an object is freed, where nothing can catch it, then takes long."""\n\n'
        "    def fit(self, X, y):\n        Freed()\n        time.sleep(300)\n\n"
        "    def predict(self, X):\n        return X[:, 0]\n"
    ),
}  # fmt: skip


def interrupt(command: list[Any], folder: Path, fits: int) -> tuple[int, str, str]:
    """Run a command with own_slow.py, press Ctrl-C when so many fits have begun: its status, output and errors."""
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder, env=os.environ
    ) as process:
        begun = folder / "fits"
        while not begun.exists() or begun.stat().st_size < fits:
            assert process.poll() is None, process.communicate()
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        try:
            output, said = process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            output, said = process.communicate()
            raise AssertionError(f"It goes on after an interrupt, and said: {said or 'nothing'}") from None
    return process.returncode, output, said


# The data, the learner, the options of validate and learn alike, what the first sentence says, what the hint says.
WRONG: dict[str, Any] = {
    "no such file": ("okk.csv", "knn:5", {}, "There is no file okk.csv.", "did you mean ok.csv?"),
    "an empty file": ("empty.csv", "knn:5", {}, "empty.csv is empty", "at least one row"),
    "a header only": ("header.csv", "knn:5", {}, "header.csv has a header but no rows", "at least one row"),
    "one row": ("one-row.csv", "knn:5", {}, "'class' has one class only: the one row is 'yes'", "at least two classes"),
    "one class": ("one-class.csv", "knn:5", {}, "has one class only: all 20 rows are 'yes'", "at least two classes"),
    "a continuous target": ("continuous.csv", "knn:5", {}, "The target 'y' looks continuous", "regression"),
    "a row without a class": ("no-class.csv", "knn:5", {}, "missing in 1 of 20 rows; the first is row 20", "drop"),
    "a slip in the target": (
        "ok.csv",
        "knn:5",
        {"target": "clas"},
        "no column 'clas'. It has: a, b, class.",
        "mean 'class'?",
    ),
    "no such feature": (
        "ok.csv",
        "knn:5",
        {"features": ["c"]},
        "no column 'c'. It has: a, b, class.",
        "one of these",
    ),
    "the target among the features": (
        "ok.csv",
        "knn:5",
        {"features": ["a", "class"]},
        "The target 'class' is also among the features",
        "leave it out",
    ),
    "no feature left": ("ok.csv", "knn:5", {"drop": ["a", "b"]}, "no features left to learn from", "fewer columns"),
    "a slip in the learner": ("ok.csv", "knm", {}, "There is no learner 'knm'.", "did you mean 'knn'?"),
    "no module of that name": ("ok.csv", "nowhere_at_all:A()", {}, "There is no module 'nowhere_at_all'", "install"),
    "a module that breaks": (
        "ok.csv",
        "own_broken:A()",
        {},
        "'own_broken' cannot be imported: ModuleNotFoundError",
        "mend it",
    ),
    "a learner without predict": ("ok.csv", "own_no_predict:Half()", {}, "has no predict", "fit and predict"),
    "a learner that fails": ("ok.csv", "own_failing:Fails()", {}, "RuntimeError: no luck.", "--on-error record"),
    "gaps that the learner cannot take": (
        "gaps.csv",
        "sklearn.neighbors:KNeighborsClassifier()",
        {},
        "1 of 40 rows have missing values, in a (1)",
        "'knn'",
    ),
    "on_error": ("ok.csv", "knn:5", {"on_error": "ignore"}, "'ignore'", "'record'"),
    "missing": ("ok.csv", "knn:5", {"missing": "ignore"}, "'refuse' or 'drop'. Got 'ignore'", "drop"),
    "a level of 95": ("ok.csv", "knn:5", {"level": 95.0}, "between 0 and 1. Got 95", "write 95 % as 0.95"),
    "a seed below zero": ("ok.csv", "knn:5", {"seed": -1}, "seed", "seed"),
    "labels that leave one out": ("ok.csv", "knn:5", {"labels": ["no"]}, "'yes'", ""),
}


def flags(options: dict) -> list[str]:
    """The same options as a person writes them on the command line."""
    made: list[str] = []
    for name, value in options.items():
        flag = {"features": "--feature", "measures": "--measure"}.get(name, f"--{name.replace('_', '-')}")
        if name == "labels":
            made += ["--labels", ",".join(value)]
        else:
            for one in value if isinstance(value, list) else [value]:
                made += [flag, str(one)]
    return made


def check_two_sentences(said: str, what: str, hint: str) -> None:
    """What is wrong, and then what to do, in a line each."""
    first, second, rest = said.split("\n")
    assert rest == ""
    assert what in first
    assert re.search(r"[.?]$", first)
    assert second.startswith("Hint: ")
    assert hint in second
    assert second.endswith((".", "?"))
