"""The program that measures the promises: it goes on where it was, its page says what it found, nothing is left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from tests.promises import store as store_module
from tests.promises.cell import Cell, Key, Outcome, Tally, Truth
from tests.promises.measurement import Progress, Task, list_tasks, run_task, run_tasks
from tests.promises.register import FAMILIES, list_cells
from tests.promises.report import Row, scale_coverage, write_report
from tests.promises.store import Store

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
    monkeypatch.setattr(store_module, "hash_sources", lambda: "another")
    assert not store.read(("rankings",))["rankings", CHEAP.name].tally.draws


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
    page = write_report(store.read(("rankings",)), ("rankings",))
    assert "**roc_auc[positive] .880 ± .010 (too low .120, too high .000, width 0.5)**" in page
    assert f"1 of {len(list_cells('rankings'))} cells" in page


def test_every_cell_has_a_name_of_its_own():
    for family in FAMILIES:
        cells = list_cells(family)
        assert cells
        assert {cell.family for cell in cells.values()} == {family}
