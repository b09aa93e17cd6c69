"""Generated pages are the ones that the code would write now."""

from __future__ import annotations

from docs.measures_page import PAGE, page


def test_the_page_of_measures_is_current():
    assert PAGE.read_text(encoding="utf-8") == page(), "run `make docs`"
