"""The site: nothing public without a page and an example, no broken link, nothing from elsewhere, readable by all."""

from __future__ import annotations

import ast
import builtins
import doctest
import inspect
import json
import re
from pathlib import Path

import pytest
from docs.website import api, build, commands, findings, gallery, intervals, landing, measures, page, plans, procedures
from docs.website import promises as promise_pages
from docs.website.sources import Site, list_written, mend_links
from tests.promises.cell import Tally
from tests.promises.judged_rows import list_results
from tests.promises.report import make_document
from tests.promises.store import Measured
from tests.site import find_broken, look_at, search

import heldout
from heldout.cli.app import COMMANDS
from heldout.comparisons.pair_test import PROCEDURES
from heldout.curves.declare import list_kinds
from heldout.findings.review import RULE_CATALOGUE
from heldout.intervals.fold_estimates import FOLD_METHODS
from heldout.intervals.methods import METHODS
from heldout.intervals.score_methods import score_method_names
from heldout.measures.catalogue import CATALOGUE

KINDS = {kind.name: kind for kind in build.KINDS}


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """The site with every written page and one page of each kind that is generated, built once for all tests."""
    folder = tmp_path_factory.mktemp("site") / "site"
    assert build.build_site(folder, few=1, jobs=1) == 0, "the site does not build: run `make site`"
    return folder


# Nothing without a page


def test_there_is_a_page_for_everything_that_is_declared():
    declared = {
        "measure": {name for name, measure in CATALOGUE.items() if not measure.own},
        "finding": set(RULE_CATALOGUE),
        "interval": {*METHODS, *score_method_names(), *FOLD_METHODS},
        "test": set(procedures.list_procedures()),
        "plan": {name for name in heldout.plans.__all__ if name[0].islower()} - {"read_plan"},
        "command": set(COMMANDS),
        "name": set(api.list_names()),
    }
    assert declared.keys() == KINDS.keys()
    for name, names in declared.items():
        assert set(KINDS[name].list_names()) == names, name
        places = [KINDS[name].page(one) for one in names]
        assert len(set(places)) == len(names), f"two pages of kind {name} have one place"
    assert {"newcombe", "delong", "wilcoxon", "friedman"} <= declared["test"] == set(PROCEDURES)
    assert set(heldout.__all__) - set(heldout._PACKAGES) <= declared["name"]


def test_every_option_of_every_command_has_an_example():
    for name in commands.list_commands():
        chosen = commands.choose_examples(name, whole=False)
        assert chosen[""].command == name
        for flag in commands.list_options(name):
            shown = chosen.get(flag) or commands.find_elsewhere(flag, whole=False)
            assert shown is not None, f"heldout {name} {flag} has no example: add one to docs/website/commands.txt"
            assert not shown.status or shown.command == "check" or flag == "--master", shown.line


def test_every_kind_of_chart_is_drawn():
    made = gallery.make_drawn()
    shown = {(type(made[name]).__name__, kind) for name, kinds in gallery.list_pictures().items() for kind in kinds}
    missing = {(name, kind) for name, kinds in gallery.list_drawable().items() for kind in kinds} - shown
    assert not missing
    assert {kind.name for kind in list_kinds()} <= {kind for _, kind in shown}


# Nothing without an example


def test_every_measure_has_an_example():
    for name in measures.list_measures():
        path, costly = measures.find_example(CATALOGUE[name])
        assert (page.ROOT / path).exists()
        assert costly == (CATALOGUE[name].kind == "cost")


def test_every_interval_method_has_an_example_that_uses_it():
    for name in intervals.list_intervals():
        line, measure = intervals.find_example(name)
        assert f'measures=["{measure}"], method="{name}"' in line


def test_every_finding_has_a_program_that_stands_alone():
    for code in RULE_CATALOGUE:
        program, call = findings.write_program(findings.find_case(code))
        # That it fires is seen by the tests of the rules; here, that it needs nothing that the program has not.
        made: dict[str, object] = {}
        exec(compile(program, code, "exec"), made)
        names = [node for node in ast.walk(ast.parse(call)) if isinstance(node, ast.Name)]
        own = {node.id for node in names if isinstance(node.ctx, ast.Store)}
        assert {node.id for node in names} - own <= {*made, *dir(builtins)}, code


def test_every_plan_and_public_name_has_an_example_in_its_docstring():
    for name in plans.list_plans():
        assert doctest.DocTestParser().get_examples(inspect.getdoc(getattr(heldout.plans, name)) or ""), name
    for name, value in api.list_names().items():
        assert name.startswith("mlflow.") or ">>>" in (inspect.getdoc(value) or ""), f"heldout.{name}"


def test_an_example_that_fails_ends_the_build():
    with pytest.raises(ZeroDivisionError):
        page.run_session("1 / 0")
    with pytest.raises(LookupError, match="no case on which H999 fires"):
        findings.find_case("H999")


# Built


def test_every_link_of_the_site_leads_somewhere(site):
    assert find_broken(site) == []
    pages = {path.relative_to(site).with_suffix("").as_posix() for path in site.rglob("*.html")}
    assert {place.removesuffix(".md") for place in list_written().values() if place.endswith(".md")} <= pages
    for kind in build.KINDS:
        assert f"{kind.home}/index" in pages
    broken = site / "broken.html"
    broken.write_text('<a href="nowhere.html">x</a> <a href="index.html#nowhere">y</a> <img src="https://x.y/z.png">')
    assert len(find_broken(site)) == 3
    broken.unlink()


def test_no_page_has_an_empty_column_of_its_section(site):
    for path in site.glob("*.html"):
        column = re.search(r'<nav class="bd-docs-nav.*?</nav>', path.read_text(encoding="utf-8"), re.DOTALL)
        assert column is None or "<a " in column[0], path.name


def test_a_sample_of_pages_is_readable_by_all_at_three_widths(site, browser):
    shown = ["index", "reference/measures/accuracy", "reference/commands/evaluate"]
    assert look_at(browser, [site / f"{name}.html" for name in shown]) == []


def test_the_search_works_without_a_server(site, browser):
    assert "Accuracy (ACC)" in search(browser, site, "accuracy")


def test_the_first_page_shows_what_the_command_prints(site, run, monkeypatch):
    monkeypatch.chdir(page.ROOT)
    monkeypatch.setenv("COLUMNS", "100")
    status, printed, _ = run(*landing.FIRST)
    text = (site.with_name("site-sources") / "index.md").read_text(encoding="utf-8")
    assert status == 0
    assert printed.strip() in text


# Promises


def test_a_page_shows_the_promises_that_concern_it(tmp_path, monkeypatch):
    tally = Tally()
    tally.draws = tally.reviewed = 1000
    for draw in range(1000):
        tally.add_interval("recall[rarest]", 0.95, 0.0, 0.4 if draw < 120 else 1.0, 0.5)
        tally.add_interval("accuracy", 0.95, 0.0, 0.4 if draw < 50 else 1.0, 0.5)
        tally.add_test("accuracy: mcnemar", 0.95, 0.01 if draw < 80 else 0.5)
    tally.findings["H006"] = 1000
    cell = "2 classes, middling, n = 10"
    measured = {("counts", cell): Measured(tally, {0}, 1.0, "2026-01-02T00:00:00")}
    document = make_document(list_results(measured, "abc1234"), "abc1234")
    path = tmp_path / "promises.json"
    path.write_text(json.dumps(document))
    asked = {(kind, what): number for number, (kind, what, _) in enumerate(document["asked"])}
    rows = {row[1]: dict(zip(document["columns"], row, strict=True)) for row in document["rows"]}
    assert rows[asked["interval", "recall[rarest]"]]["clearly"] == 1
    assert [rows[number]["place"] for number in rows] == ["far below", "in band", "over"]
    assert document["cells"][0] | {"n": 10, "draws": 1000, "findings": ["H006"]} == document["cells"][0]
    monkeypatch.setattr(promise_pages, "FILE", path)
    promise_pages.read_promises.cache_clear()
    try:
        shown = Site(tmp_path)
        recall = promise_pages.write_measure_promises(shown, CATALOGUE["recall"], "x.md")
        assert ".880 ± .010" in recall
        assert "far below" in recall
        assert "H006" in recall
        assert "2026-01-02 at commit `abc1234`" in recall
        assert promise_pages.write_measure_promises(shown, CATALOGUE["gini"], "x.md") == promise_pages.NOT_YET
        assert ".080 ± .009" in promise_pages.write_test_promises(shown, "mcnemar", "x.md")
        promise_pages.add_promises(shown)
        assert "**Counts**: **not kept**" in shown.pages["promises/counts.md"]
        assert "**recall\\[rarest\\] .880**" in shown.pages["promises/counts.md"]
        assert "<svg" in shown.pages["promises/index.md"]
    finally:
        promise_pages.read_promises.cache_clear()


def test_links_that_leave_the_documentation_become_words():
    text = (
        "[a](../SECURITY.md), [b](../src/heldout), [c](measures.md#recall), [d](findings.md#h012--x)\n\n    [e](x.md)"
    )
    assert mend_links(text, "docs/python.md", "python.md") == (
        "[a](project/security-policy.md), b (`src/heldout`), [c](reference/measures/recall.md), "
        "[d](reference/findings/H012.md)\n\n    [e](x.md)"
    )
