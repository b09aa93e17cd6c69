"""Generated pages are the ones that the code would write now."""

from __future__ import annotations

from docs import findings_page, measures_page


def test_the_page_of_measures_is_current():
    assert measures_page.PAGE.read_text(encoding="utf-8") == measures_page.page(), "run `make docs`"


def test_the_page_of_findings_is_current():
    assert findings_page.PAGE.read_text(encoding="utf-8") == findings_page.page(), "run `make docs`"
