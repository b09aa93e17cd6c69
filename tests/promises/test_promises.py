"""The program that measures the promises: it goes on where it was, its page says what it found, nothing is left out."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, ClassVar

import numpy as np
import pytest
from tests.promises import __main__ as program
from tests.promises import store as store_module
from tests.promises.__main__ import write_page
from tests.promises.cell import Cell, Key, Kind, Outcome, Tally, Truth, list_estimates_at
from tests.promises.judged_rows import Row, list_findings, list_results, list_rows, read_document, scale_coverage
from tests.promises.measurement import Progress, Task, list_tasks, run_task, run_tasks
from tests.promises.register import FAMILIES, list_cells, load_family
from tests.promises.report import judge_family, write_report
from tests.promises.store import Store, hash_file, list_packages

import heldout

CHEAP = Task("rankings", next(iter(list_cells("rankings"))), 0, (0.95,))


def measure_inline(store: Store, task: Task) -> None:
    tally, seconds = run_task(task, store.folder)
    store.append(task.family, task.cell, task.chunk, tally, seconds)


def test_a_run_goes_on_where_it_was(tmp_path):
    store = Store(tmp_path, (0.95,))
    before = list_tasks(store, store.read(("rankings",)), 0.05)
    assert before[0] == CHEAP
    run_tasks(store, [CHEAP], Progress([CHEAP], 1))
    with store.path.open("a", encoding="utf-8") as lines:
        lines.write('{"fingerprint": "cut o')
    known = store.read(("rankings",))
    assert known["rankings", CHEAP.name].tally.draws == 10
    assert set(before) - set(list_tasks(store, known, 0.05)) == {CHEAP}
    # The same piece of work gives the same once more, and does not count twice.
    measure_inline(store, CHEAP)
    first, again = list(store._lines())
    assert first["outcomes"] == again["outcomes"]
    assert store.read(("rankings",))["rankings", CHEAP.name].tally.draws == 10
    # At other levels it is another piece of work.
    assert not Store(tmp_path).read(("rankings",))["rankings", CHEAP.name].tally.draws


def test_results_of_other_code_are_not_read(tmp_path, monkeypatch):
    store = Store(tmp_path, (0.95,))
    measure_inline(store, CHEAP)
    monkeypatch.setattr(store_module, "hash_sources", lambda packages: f"another {packages}")
    assert not store.read(("rankings",))["rankings", CHEAP.name].tally.draws


def test_only_the_reviewed_piece_depends_on_the_rules(tmp_path, monkeypatch):
    store = Store(tmp_path, (0.95,))
    rest = Task(CHEAP.family, CHEAP.name, 1, CHEAP.levels)
    measure_inline(store, CHEAP)
    measure_inline(store, rest)
    true = store_module.hash_sources
    monkeypatch.setattr(
        store_module, "hash_sources", lambda packages: true(packages) + "other rules" * ("findings" in packages)
    )
    assert store.read(("rankings",))["rankings", CHEAP.name].chunks == {1}


@pytest.mark.parametrize("changed", [False, True])
def test_results_of_other_code_are_confirmed_by_a_piece_that_is_measured_again(tmp_path, monkeypatch, changed):
    store = Store(tmp_path, (0.95,))
    pieces = [Task(CHEAP.family, CHEAP.name, chunk, CHEAP.levels) for chunk in (0, 1, 2)]
    for piece in pieces:
        measure_inline(store, piece)
    if changed:
        # The other code had intervals that were wider by a thousandth.
        lines = list(store._lines())
        store.path.unlink()
        for line in lines:
            *counts, width, at_end = line["outcomes"][0]
            store._write(line | {"outcomes": [[*counts, 1.001 * width, at_end], *line["outcomes"][1:]]})
    monkeypatch.setattr(store_module, "hash_sources", lambda packages: f"another {packages}")
    earlier = store.find_unconfirmed(("rankings",))
    assert set(earlier[CHEAP.family, CHEAP.name]) == {1, 2}
    assert not store.confirm(CHEAP.family, CHEAP.cell, earlier[CHEAP.family, CHEAP.name])
    measure_inline(store, pieces[1])
    assert store.confirm(CHEAP.family, CHEAP.cell, earlier[CHEAP.family, CHEAP.name]) is not changed
    known = store.read(("rankings",))["rankings", CHEAP.name]
    assert known.chunks == ({1} if changed else {1, 2})
    assert not store.find_unconfirmed(("rankings",))
    # A quantity that changed is known from the new piece alone, the others from both.
    draws = sorted(outcome.n for outcome in known.tally.outcomes.values())
    assert (draws[0] < draws[1]) is changed
    assert draws[1] == draws[-1]
    measure_inline(store, pieces[2])
    assert store.read(("rankings",))["rankings", CHEAP.name].chunks == {1, 2}


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ('"""Another docstring."""\n\n\ndef double(x):\n    # a comment\n    """More."""\n    return 2 * x\n', True),
        ('"""A docstring."""\n\n\ndef double(x):\n    """Twice."""\n    return 3 * x\n', False),
        ('"""A docstring."""\n\n\ndef double(x):\n    """Twice."""\n    return 2 * x\n\n\nCELLS = (1, 2)\n', True),
    ],
)
def test_words_about_the_code_are_not_in_its_hash(tmp_path, text, same):
    first, second = tmp_path / "first.py", tmp_path / "second.py"
    first.write_text('"""A docstring."""\n\n\ndef double(x):\n    """Twice."""\n    return 2 * x\n', encoding="utf-8")
    second.write_text(text, encoding="utf-8")
    assert (hash_file(first) == hash_file(second)) is same


# What only writes or carries, or checks which rules are ignored: a number that comes out is the same. Options have
# their defaults in the fingerprint, without the words of their help.
WRITING = (
    "__init__.py", "show/", "report/", "errors.py", "result.py", "review.py", "synonyms.py", "files/", "api/options.py",
    "api/fitted_model.py", "findings/review.py", "imports.py",
)  # fmt: skip


def _is_imported(frame: FrameType | None, root: str) -> bool:
    """Whether a module of ours is being imported, for the first time in this process: its decorators run then."""
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_code.co_filename.startswith(root):
            return True
        frame = frame.f_back
    return False


@pytest.mark.parametrize("family", FAMILIES)
def test_all_code_that_a_draw_runs_is_in_the_fingerprint(family):
    cells = list_cells(family, (0.95,)).values()
    # One cell of every kind of the family, the fastest.
    kinds = {type(cell): cell for cell in sorted(cells, key=lambda cell: -getattr(cell, "n", 0))}
    ran: set[str] = set()
    root = f"{store_module.SOURCES.as_posix()}/"

    def note(frame: FrameType, event: str, argument: object) -> None:
        del argument
        path = frame.f_code.co_filename
        if event != "call" or not path.startswith(root) or frame.f_code.co_name[0] == "<":
            return
        if (file := path.removeprefix(root)) not in ran and not _is_imported(frame, root):
            ran.add(file)

    for cell in kinds.values():
        # Elsewhere the truth only says what is tallied; what is asked does not depend on it.
        truth = defaultdict(float, cell.find_truth() if family in ("comparisons", "gates") else {})
        sys.setprofile(note)
        try:
            cell.draw(np.random.default_rng(1), truth, Tally())
        finally:
            sys.setprofile(None)
    declared = tuple(
        f"{name}/" if (store_module.SOURCES / name).is_dir() else f"{name}.py" for name in list_packages(family)
    )
    assert ran
    assert sorted(path for path in ran if not path.startswith((*declared, *WRITING))) == []


def test_another_level_gives_what_an_evaluation_at_that_level_gives():
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 2, 60)
    options: dict[str, Any] = {
        "score": np.clip(0.5 + 0.2 * (truth - 0.5) + 0.2 * rng.normal(size=60), 0.01, 0.99), "positive": 1,
        "costs": {(0, 1): 1.0, (1, 0): 3.0},
    }  # fmt: skip
    found = list(list_estimates_at(heldout.evaluate(truth, **options), 0.8))
    expected = heldout.evaluate(truth, **options, level=0.8).estimates
    assert [e.name for e in found] == [e.name for e in expected]
    np.testing.assert_allclose([(e.low, e.high) for e in found], [(e.low, e.high) for e in expected], rtol=1e-12)


def test_all_cells_advance_alike(tmp_path):
    store = Store(tmp_path)
    tasks = list_tasks(store, store.read(("rankings",)), 0.2)
    first = [task for task in tasks if task.chunk == 0]
    assert tasks[: len(first)] == first
    assert len(first) == len(list_cells("rankings"))


@dataclass(frozen=True, kw_only=True)
class Coin(Cell):
    """An interval of known coverage: it lies above the truth in one draw of ten, and is undefined in another."""

    family: ClassVar[str] = "coins"

    def __str__(self) -> str:
        return "coin"

    def draw(self, rng: np.random.Generator, truth: Truth, tally: Tally) -> None:
        del truth
        u = rng.random()
        low = float("nan") if u < 0.1 else 1.0 if u < 0.2 else 0.0
        tally.add_interval("coin", 0.95, low, 2.0, 0.5)
        tally.add_test("coin", 0.95, u)


def test_misses_are_counted_on_their_side():
    tally = Coin().measure(1, {}, 4000)
    outcome = tally.outcomes["interval", "coin", 0.95]
    assert outcome.too_low == 0
    assert outcome.undefined / outcome.n == pytest.approx(0.1, abs=0.02)
    assert outcome.rate == pytest.approx(1 / 9, abs=4 * outcome.error)
    assert outcome.mean_width == pytest.approx(2 - 1 / 9, abs=0.03)
    assert tally.outcomes["test", "coin", 0.95].rate == pytest.approx(0.05, abs=0.015)


def test_tallies_add_up_after_they_were_written():
    one, other = (Coin().measure(chunk, {}, 50) for chunk in (1, 2))
    both = Tally()
    for tally in (one, other):
        both.add_document(tally.document())
    key: Key = ("interval", "coin", 0.95)
    assert both.outcomes[key] == one.outcomes[key] + other.outcomes[key]
    assert both.draws == 100


@pytest.mark.parametrize(
    ("misses", "short", "wide", "failing", "clearly"),
    [(50, False, False, False, False), (80, True, False, False, False), (150, True, False, True, True),
     (5, False, True, False, True)],
)  # fmt: skip
def test_bands(misses, short, wide, failing, clearly):
    row = Row("counts", "cell", "interval", "accuracy", 0.95, Outcome(1000, 0, misses, 0), ())
    assert (row.short, row.wide, row.failing, row.clearly) == (short, wide, failing, clearly)


def test_bands_of_other_levels_are_those_of_a_standard_error_that_is_wrong_alike():
    from scipy import stats

    factor = stats.norm.ppf(0.95) / stats.norm.ppf(0.975)
    for level in (0.8, 0.99):
        wanted = 2 * stats.norm.cdf(factor * stats.norm.ppf((1 + level) / 2)) - 1
        assert scale_coverage(0.9, level) == pytest.approx(wanted)


def test_the_page_names_what_is_outside(tmp_path):
    store = Store(tmp_path, (0.95,))
    tally = Tally()
    tally.draws = 1000
    tally.outcomes["interval", "roc_auc[positive]", 0.95] = Outcome(1000, 0, 120, 0, 1000, 500.0)
    store.append(CHEAP.family, CHEAP.cell, 0, tally, 1.0)
    page = write_report(list_results(store.read(("rankings",))))
    assert "**roc_auc[positive] .880 ± .010 (too low .120, too high .000, width 0.5)**" in page
    assert f"1 of {sum(len(list_cells(family)) for family in FAMILIES)} cells" in page


def test_what_is_not_measured_again_stays_on_the_page_and_is_judged_alike(tmp_path, monkeypatch):
    page, names = tmp_path / "page.md", [list(list_cells(family))[:2] for family in ("rankings", "slices")]

    def measure(folder, family, cell, outcomes):
        tally = Tally()
        tally.draws = 1000
        tally.refused["one class was not drawn"] = 3
        tally.outcomes.update({("interval", what, 0.95): outcome for what, outcome in outcomes.items()})
        store = Store(tmp_path / folder, (0.95,))
        store.append(family, list_cells(family, (0.95,))[cell], 0, tally, 90.0)
        return store

    short, sound, wide = (Outcome(1000, 0, misses, 0, 1000, 300.0) for misses in (120, 50, 5))
    end = Outcome(1000, 0, 0, 0, 1000, 300.0, 1000)
    for cell in names[0]:
        first = measure("first", "rankings", cell, {"gini[positive]": short, "roc_auc[positive]": end})
    first = measure("first", "slices", names[1][0], {"brier": sound, "recall[1]": wide})
    monkeypatch.setattr(program, "find_commit", lambda: "old1")
    write_page(first, FAMILIES, page)
    before = read_document(json.loads(page.with_suffix(".json").read_text()))
    # Measured again: one quantity of one of the two cells, by code that mends it.
    second = measure("second", "rankings", names[0][0], {"gini[positive]": sound})
    monkeypatch.setattr(program, "find_commit", lambda: "new2")
    write_page(second, ("rankings",), page)
    after = read_document(json.loads(page.with_suffix(".json").read_text()))
    assert list_rows(after, "slices") == list_rows(before, "slices")
    of_cell = {(row.cell, row.what): row.outcome.too_low for row in list_rows(after, "rankings")}
    assert of_cell == {
        (names[0][0], "gini[positive]"): 50, (names[0][0], "roc_auc[positive]"): 0,
        (names[0][1], "gini[positive]"): 120, (names[0][1], "roc_auc[positive]"): 0,
    }  # fmt: skip
    text = page.read_text(encoding="utf-8")
    # Three of four are in their band: where the truth is the end of the range an interval cannot be too wide.
    assert "**Rankings**: **not kept**; only 75% of 4 intervals" in text
    assert "**Slices**: **not kept**; only 50% of 2 intervals" in text
    lines = [line for line in text.splitlines() if line.startswith(("| Rankings | ", "| Slices | "))]
    today = max(result.date for result in after)
    assert lines == [
        f"| Rankings | new2 | {today} | 1 | 1 | 1,000 | 2 min |",
        f"| Rankings | old1 | {today} | 2 | 3 | 2,000 | 3 min |",
        f"| Slices | old1 | {today} | 1 | 2 | 1,000 | 2 min |",
    ]  # fmt: skip
    assert "one class was not drawn (3)" in text.partition("## Slices")[2]


def make_row(kind: Kind, misses: int, *, n: int = 1000, findings: tuple[str, ...] = ()) -> Row:
    return Row("counts", f"cell {misses}", kind, "accuracy", 0.95, Outcome(n, 0, 0, misses), findings)


def test_a_family_keeps_its_promise_or_the_page_says_what_it_does_not():
    sound = [make_row("interval", 50)] * 9
    assert ": kept; 100% of 9" in judge_family(sound, "counts")
    # One of ten may leave the band, and may be far below where a finding says so.
    assert ": kept" in judge_family([*sound, make_row("interval", 150, findings=("H024",))], "counts")
    assert "1 are below .900 without a finding" in judge_family([*sound, make_row("interval", 150)], "counts")
    assert "only 82% of 11" in judge_family([*sound, *[make_row("interval", 80)] * 2], "counts")
    assert "1 of 2 tests" in judge_family([make_row("test", 50), make_row("test", 90)], "counts")
    assert ": kept" in judge_family([make_row("gate", 60), make_row("finding", 60)], "counts")
    assert "too few draws" in judge_family([make_row("interval", 2, n=40)], "counts")
    # A rule whose sentence is a count is true wherever it fires.
    for code, told in (("H037", ": kept"), ("H012", "not kept")):
        row = Row("findings_on_sound_models", "cell", "finding", code, 0.95, Outcome(1000, 0, 0, 300), ())
        assert told in judge_family([row], "findings_on_sound_models")
    # What is counted beside the promise does not count.
    assert ": kept" in judge_family([*sound, make_row("beside", 400)], "counts")


def test_only_findings_that_say_that_an_interval_may_miss_excuse_one():
    tally = Tally()
    tally.reviewed = 10
    # Few groups, a wide interval, poor areas, and few cases of a class in four of ten draws.
    tally.findings.update({"H024": 5, "H054": 10, "H003": 10, "H006": 4})
    assert list_findings(tally) == ("H024",)


def test_every_cell_has_a_name_of_its_own():
    for family in FAMILIES:
        cells = list_cells(family)
        assert cells
        assert {cell.family for cell in cells.values()} == {family}


@pytest.mark.parametrize("family", FAMILIES)
def test_declared_packages_are_there(family):
    folder = Path(heldout.__file__).parent
    declared = getattr(load_family(family), "PACKAGES", ())
    assert [name for name in declared if not (folder / name).is_dir() and not (folder / f"{name}.py").is_file()] == []
