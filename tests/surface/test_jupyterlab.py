"""A notebook in a real JupyterLab: run in the browser, its answers are seen and can be read, light and dark."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page
from tests.browsing import Watched, violations
from tests.jupyter import CELLS, ROOT, THEMES, change_theme, run_cells, serve_lab, write_notebook

SEEN = """() => {
const paper = (part) => {
  const colour = part ? getComputedStyle(part).backgroundColor : 'rgb(255, 255, 255)';
  return colour === 'rgba(0, 0, 0, 0)' ? paper(part.parentElement) : colour;
};
return [...document.querySelectorAll('.heldout-doc')].map((doc) => ({
  charts: [...doc.querySelectorAll('.heldout-chart')].map((chart) => chart.getBoundingClientRect().width),
  ink: getComputedStyle(doc).color,
  paper: paper(doc),
  line: getComputedStyle(doc.querySelector('.heldout-tone-accent') || doc).color,
  names: [...doc.querySelectorAll('tbody th')].map((cell) => getComputedStyle(cell).textAlign),
}))}"""
# A rule of another cell that ours must leave alone.
OUTSIDE = "() => getComputedStyle(document.querySelector('.jp-Cell-inputWrapper')).fontVariantNumeric"


@pytest.fixture
def lab(browser: Browser, tmp_path: Path) -> tuple[Watched, str]:
    (tmp_path / "work").mkdir()
    example = ROOT / "examples" / "diabetes.csv"
    (tmp_path / "work" / example.name).write_bytes(example.read_bytes())
    write_notebook(tmp_path / "work" / "answers.ipynb", CELLS)
    return Watched(browser, viewport={"width": 1000, "height": 980}), "answers.ipynb"


def test_a_notebook_shows_its_answers_in_both_themes(lab: tuple[Watched, str], tmp_path: Path) -> None:
    watched, notebook = lab
    with serve_lab(tmp_path) as address:
        run_cells(watched.page, address, notebook, len(CELLS))
        lines = {scheme: check_answers(watched.page, scheme) for scheme in THEMES}
        assert lines["light"] != lines["dark"]
        watched.close(origin=address)


def check_answers(page: Page, scheme: str) -> str:
    """See the verdict, the figures and the drawings in one theme; the colour of the first line."""
    change_theme(page, scheme)
    first = page.locator(".heldout-doc").first
    assert first.locator(".heldout-verdict").is_visible()
    assert "Better than always" in first.locator(".heldout-verdict").inner_text()
    assert first.get_by_text(".763", exact=True).first.is_visible()
    evaluation, curve, matrix = page.evaluate(SEEN)
    assert [width > 150 for width in evaluation["charts"]] == [True] * 3
    assert len(curve["charts"]) == 1
    assert set(evaluation["names"]) == {"left"} == set(matrix["names"])
    # Ink on paper: one dark, the other light.
    dark = [sum(map(int, re.findall(r"\d+", matrix[part])[:3])) < 380 for part in ("ink", "paper")]
    assert dark == ([True, False] if scheme == "light" else [False, True])
    assert page.evaluate(OUTSIDE) == "normal"
    assert violations(page, ".jp-OutputArea-output .heldout-doc") == []
    folded = first.locator("details", has_text="Every measure")
    assert not folded.locator("table").first.is_visible()
    return str(evaluation["line"])
