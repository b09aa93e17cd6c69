"""How numbers are written."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heldout.show.blocks import Heat, Number, Range, Span, Style
from heldout.show.numbers import count, limits, number, percent, plain, share, words

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.912, ".912"),
        (1.0, "1.000"),
        (-1.0, "-1.000"),
        (0.0, ".000"),
        (-0.0, ".000"),
        (-0.056, "-.056"),
        (0.0004, "<.001"),
        (0.0006, ".001"),
        (-0.0004, ">-.001"),
        (0.9996, ">.999"),
        (0.9994, ".999"),
        (-0.9996, "<-.999"),
        (1 - 2**-53, ">.999"),
        (5e-324, "<.001"),
        (1.25, "1.250"),
        (NAN, "–"),
        (INF, "∞"),
        (-INF, "-∞"),
        (3.5e20, "3.50e20"),
    ],
)
def test_share(value: float, text: str) -> None:
    assert share(value) == text


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (0.58, None, "58 %"),
        (0.142, 1, "14.2 %"),
        (1.0, None, "100 %"),
        (0.0, None, "0 %"),
        (0.9999, 1, ">99.9 %"),
        (0.0001, 1, "<0.1 %"),
        (-0.06, None, "-6 %"),
        (1.5, None, "150 %"),
        (NAN, None, "–"),
    ],
)
def test_percent(value: float, digits: int | None, text: str) -> None:
    assert percent(value, digits) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1649, "1,649"),
        (1649.0, "1,649"),
        (0.1 * 3 * 10, "3"),
        (12.25, "12.25"),
        (1649.26, "1,649.3"),
        (-3, "-3"),
        (0.004, "<0.01"),
        (10**15, "1.00e15"),
        (NAN, "–"),
        (INF, "∞"),
    ],
)
def test_count(value: float, text: str) -> None:
    assert count(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (8.81, "8.81"),
        (162.7, "162.7"),
        (1.2e6, "1,200,000"),
        (9.999, "10.0"),
        (-0.5, "-0.500"),
        (0.0, "0"),
        (0.00012, "0.000120"),
        (0.000012, "1.20e-5"),
        (NAN, "–"),
        (-INF, "-∞"),
        (1e300, "1.00e300"),
    ],
)
def test_plain(value: float, text: str) -> None:
    assert plain(value) == text


def test_an_integer_too_long_to_print_is_still_written() -> None:
    assert count(-(10**5000)) == "-1.00e5000"


def test_limits_keep_the_rule_of_values() -> None:
    assert limits(0.899, 0.924) == ".899 – .924"
    assert limits(0.00001, 0.99999) == "<.001 – >.999"
    assert limits(0.0, 1.0) == ".000 – 1.000"
    assert limits(NAN, NAN) == "–"
    assert limits(NAN, 0.5) == "? – .500"
    assert limits(-INF, 3.0, "plain") == "-∞ – 3.00"


def test_digits_are_decimals_but_significant_in_plain() -> None:
    assert number(0.12345, "share", 4) == ".1235"
    assert number(162.7123, "plain", 5) == "162.71"


def test_words_of_cells() -> None:
    cells = ["x", None, 1649, Number(0.5), Range(0.1, 0.2), Span(0.5, 0.4, 0.6), Heat(3.0, 0.2), False]
    assert [words(cell) for cell in cells] == [
        "x",
        "",
        "1,649",
        ".500",
        ".100 – .200",
        ".400 – .600",
        "3",
        "no",
    ]
    assert words(np.int64(1649)) == "1,649"  # type: ignore[arg-type]


@given(st.floats(-1, 1), st.integers(1, 8))
def test_a_share_reads_back_to_within_its_last_digit(value: float, digits: int) -> None:
    text = share(value, digits)
    read = float(text.lstrip("<>"))
    assert abs(read - value) <= 10.0**-digits * 1.0001
    assert (text == f".{'0' * digits}") == (value == 0)
    assert (abs(read) == 1) == (abs(value) == 1)


@given(st.floats(), st.sampled_from(["share", "percent", "count", "plain"]))
def test_every_float_is_written_briefly(value: float, style: Style) -> None:
    text = number(value, style)
    assert 0 < len(text) <= 24
    if math.isfinite(value) and style == "plain":
        assert float(text.replace(",", "")) == pytest.approx(value, rel=0.006)
