"""How numbers are written, in this one place for all forms.

A share drops its leading zero and never rounds to a bound it has not reached: `.000` and `1.000` mean
exactly that, `<.001` and `>.999` mean almost. Limits of intervals keep the same rule. What is undefined
is a dash.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from heldout.show.blocks import Cell, Heat, Number, Range, Span, Style
from heldout.show.escape import visible

if TYPE_CHECKING:
    from collections.abc import Callable

    from heldout.show.blocks import Cell, Style

UNDEFINED = "–"
# Past this, commas no longer help a reader, and a float no longer holds every whole number.
_LONG = 1e15


def share(value: float, digits: int | None = None) -> str:
    """A number between -1 and 1, without its leading zero.

    >>> [share(x) for x in (0.912, 1.0, -0.0561, 0.0, 0.0002, 0.9999)]
    ['.912', '1.000', '-.056', '.000', '<.001', '>.999']
    """
    if not math.isfinite(value) or abs(value) >= _LONG:
        return _special(value)
    decimals = 3 if digits is None else digits
    size = abs(value)
    text, almost = _bounded(size, decimals, 1.0)
    if float(text) < 1 and decimals:
        text = text[1:]
    return _signed(text, almost, negative=value < 0)


def percent(value: float, digits: int | None = None) -> str:
    """A share in hundredths.

    >>> [percent(0.5833), percent(0.1424, 1), percent(0.999), percent(1.0), percent(0.001)]
    ['58 %', '14.2 %', '>99 %', '100 %', '<1 %']
    """
    if not math.isfinite(value) or abs(value) >= _LONG:
        return _special(value)
    text, almost = _bounded(abs(value) * 100, digits or 0, 100.0)
    return _signed(text, almost, negative=value < 0) + " %"


def count(value: float, digits: int | None = None) -> str:
    """A whole number with commas; a sum of weights with a decimal or two.

    >>> [count(1649), count(0), count(12.25), count(1649.25), count(0.004)]
    ['1,649', '0', '12.25', '1,649.2', '<0.01']
    """
    if isinstance(value, int):
        return f"{value:,}" if abs(value) < _LONG else _scientific(value)
    if not math.isfinite(value) or abs(value) >= _LONG:
        return _special(value)
    # Sums of weights such as 0.1 miss whole numbers by rounding only.
    if math.isclose(value, round(value), rel_tol=1e-9, abs_tol=0.0):
        return f"{round(value):,}"
    decimals = (2 if abs(value) < 100 else 1) if digits is None else digits
    text = f"{abs(value):,.{decimals}f}"
    if value and not float(text.replace(",", "")):
        return _signed(f"{10.0**-decimals:.{decimals}f}", "<", negative=value < 0)
    return _signed(text, "", negative=value < 0)


def plain(value: float, digits: int | None = None) -> str:
    """A number without bounds, to three or four significant digits.

    >>> [plain(x) for x in (8.811, 162.71, 1.2e6, 0.01234, 0.0, 3.2e-9)]
    ['8.81', '162.7', '1,200,000', '0.0123', '0', '3.20e-9']
    """
    if not math.isfinite(value) or abs(value) >= _LONG:
        return _special(value)
    if not value:
        return "0"
    significant = max(digits if digits is not None else 4 if abs(value) >= 10 else 3, 1)
    mantissa, exponent = f"{value:.{significant - 1}e}".split("e")
    if int(exponent) < -4:
        return f"{mantissa}e{int(exponent)}"
    return f"{value:,.{max(significant - 1 - int(exponent), 0)}f}"


def number(value: float, style: Style = "share", digits: int | None = None) -> str:
    """A number in the style of that name.

    >>> number(0.5, "percent"), number(float("nan")), number(float("-inf"), "plain")
    ('50 %', '–', '-∞')
    """
    return _STYLES[style](value, digits)


def limits(low: float, high: float, style: Style = "share", digits: int | None = None) -> str:
    """The two ends of an interval; a dash when there is none.

    >>> limits(0.899, 0.924), limits(0.0, 0.00004), limits(float("nan"), float("nan"))
    ('.899 – .924', '.000 – <.001', '–')
    """
    if math.isnan(low) and math.isnan(high):
        return UNDEFINED
    ends = ["?" if math.isnan(end) else number(end, style, digits) for end in (low, high)]
    return f"{ends[0]} – {ends[1]}"


def in_brackets(low: float, high: float, style: Style = "share", digits: int | None = None) -> str:
    """The two ends of an interval as a sentence has them: a dash between them would look like a minus sign.

    >>> in_brackets(-0.008, 0.025), in_brackets(1.2, 2.8, "plain", 2)
    ('[-.008, .025]', '[1.2, 2.8]')
    """
    low_text, high_text = ("?" if math.isnan(end) else number(end, style, digits) for end in (low, high))
    return f"[{low_text}, {high_text}]"


def digits_between(low: float, high: float) -> int:
    """Decimals that tell the two limits of a share apart: 3, or more where the interval is narrow.

    >>> digits_between(0.899, 0.924), digits_between(0.69981, 0.70037), digits_between(0.0, 1.0)
    (3, 5, 3)
    """
    width = high - low
    if not 0 < width < 0.002:
        return 3
    return min(7, math.ceil(-math.log10(width)) + 1)


def words(cell: Cell) -> str:
    """What a cell says, the same in every form.

    >>> [words(cell) for cell in ("a", 1649, None, Number(0.5), Range(0.4, 0.6), Heat(12, 0.3), True)]
    ['a', '1,649', '', '.500', '.400 – .600', '12', 'yes']
    """
    match cell:
        case None:
            text = ""
        case str():
            text = visible(cell)
        case Number(value, style, digits):
            text = number(value, style, digits) + "*" * cell.marked
        case Range(low, high, style, digits):
            text = limits(low, high, style, digits)
        case Span(_, low, high):
            text = limits(low, high)
        case Heat(held):
            text = count(held)
        case bool():
            text = "yes" if cell else "no"
        case _:
            text = count(cell)
    return text


_STYLES: dict[Style, Callable[[float, int | None], str]] = {
    "share": share,
    "percent": percent,
    "count": count,
    "plain": plain,
}


def _bounded(size: float, decimals: int, bound: float) -> tuple[str, str]:
    """A size rounded, and "<" or ">" where rounding would have claimed 0 or the bound."""
    text = f"{size:.{decimals}f}"
    step = 10.0**-decimals
    if size > 0 and not float(text):
        return f"{step:.{decimals}f}", "<"
    if size < bound <= float(text):
        return f"{bound - step:.{decimals}f}", ">"
    return text, ""


def _signed(text: str, almost: str, *, negative: bool) -> str:
    """The sign in front, and the comparison turned round with it: just below zero is >-.001."""
    if not negative:
        return almost + text
    return {"<": ">", ">": "<", "": ""}[almost] + "-" + text


def _special(value: float) -> str:
    if math.isnan(value):
        return UNDEFINED
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    return _scientific(value)


def _scientific(value: float) -> str:
    """Three significant digits and an exponent, also for integers that no float can hold."""
    exponent = math.floor(math.log10(abs(value)))
    if isinstance(value, int):
        return f"{'-' if value < 0 else ''}{abs(value) // 10 ** (exponent - 2) / 100:.2f}e{exponent}"
    return f"{value:.2e}".replace("e+", "e")


def number_of(n: float, one: str, more: str = "") -> str:
    """A number of things.

    >>> number_of(1, "case"), number_of(1200, "case"), number_of(2, "class", "classes")
    ('1 case', '1,200 cases', '2 classes')
    """
    return f"{count(n)} {one if n == 1 else more or one + 's'}"


def show_p(p: float) -> str:
    """A p-value as it is printed.

    >>> show_p(0.0271), show_p(0.00002), show_p(float("nan")), show_p(1.0)
    ('.027', '<.001', '–', '1.000')
    """
    if math.isnan(p):
        return "–"
    if p < 0.001:
        return "<.001"
    text = f"{p:.3f}"
    return text if p >= 0.9995 else text[1:]


def write_p(p: float) -> str:
    """A p-value in a sentence.

    >>> write_p(0.0271), write_p(0.00002)
    ('p = .027', 'p < .001')
    """
    return "p < .001" if p < 0.001 else f"p = {show_p(p)}"
