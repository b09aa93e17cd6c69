"""Generated pages are the ones that the code would write now."""

from __future__ import annotations

from docs import course_pictures, findings_page, measures_page


def test_the_page_of_measures_is_current():
    assert measures_page.PAGE.read_text(encoding="utf-8") == measures_page.page(), "run `make docs`"


def test_the_page_of_findings_is_current():
    assert findings_page.PAGE.read_text(encoding="utf-8") == findings_page.page(), "run `make docs`"


def test_the_pictures_of_the_course_are_current(tmp_path):
    made = course_pictures.write(tmp_path)
    assert {path.name for path in made} == {path.name for path in course_pictures.FOLDER.iterdir()}
    for path in made:
        assert path.read_text(encoding="utf-8") == (course_pictures.FOLDER / path.name).read_text(encoding="utf-8"), (
            "run `make docs`"
        )
