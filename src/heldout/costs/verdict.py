"""The sentence for a report on two models of which the more accurate one costs more."""

from __future__ import annotations

from heldout.show.numbers import digits_between, plain, share


def more_accurate_costs_more(
    first: tuple[float, float], second: tuple[float, float], names: tuple[str, str] = ("the first", "the second")
) -> str:
    """A sentence where, of two (accuracy, cost) pairs, the more accurate one costs more; empty otherwise.

    >>> more_accurate_costs_more((0.80, 3910), (0.90, 4255), ("M1", "M2"))
    'M2 is more accurate than M1 (.900 against .800), but it costs more: 4,255 against 3,910.'
    """
    if first[0] > second[0]:
        first, second = second, first
        names = names[1], names[0]
    # Comparisons with nan are false: what is undefined is never said to be better.
    if not (second[0] > first[0] and second[1] > first[1]):
        return ""
    digits = digits_between(first[0], second[0])
    worse, better = share(first[0], digits), share(second[0], digits)
    # The name of a model keeps its own case.
    start = names[1][0].upper() + names[1][1:] if names[1].startswith(("the ", "always ")) else names[1]
    return (
        f"{start} is more accurate than {names[0]} ({better} against {worse}), "
        f"but it costs more: {plain(second[1])} against {plain(first[1])}."
    )
