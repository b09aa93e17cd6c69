"""Whether several classifiers in lazy frames judged the same cases, told by counting where the rows are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from heldout.arguments import listing
from heldout.arrays import Codes
from heldout.engines.lazy.pushed_tables import fetched
from heldout.engines.lazy.sides import CASE, LazySide, columns_of
from heldout.errors import ValuesError
from heldout.evidence import Label
from heldout.predictions.pairing import copied_ids, other_cases, other_sizes, other_truth, other_units

N = "n"


def rows_counted() -> Any:
    """The number of rows, under the name that tables have for it here."""
    import narwhals.stable.v2 as nw

    return nw.len().alias(N)


def alike_ids(parts: Sequence[Any], sides: Sequence[LazySide]) -> list[Any]:
    """The parts with ids of one type: 7 in one frame may be "7" or 7.0 in the other."""
    import narwhals.stable.v2 as nw

    kinds = [part.collect_schema()[CASE] for part in parts]
    if all(map(_fits, kinds)):
        wanted: Any = nw.Int64
    elif len(set(kinds)) == 1 and not kinds[0].is_float() and kinds[0] not in (nw.Categorical, nw.Enum):
        return list(parts)
    elif all(kind.is_integer() or _is_whole(kind) for kind in kinds):
        # As floats, large numbers would fall together; of another sign or width they do not fit.
        wanted = nw.String
    elif all(kind.is_numeric() for kind in kinds):
        wanted = nw.Float64
    elif any(kind.is_float() for kind in kinds):
        shown = ", ".join(f"{side.name} {kind}" for side, kind in zip(sides, kinds, strict=True))
        raise ValuesError(
            f"The ids are numbers with a point in one frame and text in another: {shown}.",
            hint="make both whole numbers, or both text.",
        )
    else:
        wanted = nw.String
    return [part.with_columns(nw.col(CASE).cast(wanted)) for part in parts]


def _fits(kind: Any) -> bool:
    """Whether every number of a type is a signed one of 64 bits; hashes may be larger."""
    import narwhals.stable.v2 as nw

    return bool(kind.is_integer()) and kind not in (nw.UInt64, nw.Int128, nw.UInt128)


def _is_whole(kind: Any) -> bool:
    """Whether a type is of decimals without a point, as Spark has for unsigned numbers of 64 bits."""
    return bool(kind.is_decimal()) and getattr(kind, "scale", None) == 0


def check_copies(side: LazySide, part: Any) -> None:
    """Refuse ids that stand in several rows of one side."""
    import narwhals.stable.v2 as nw

    twice = part.group_by(CASE).agg(rows_counted()).filter(nw.col(N) > 1)
    number = int(fetched(twice.select(nw.len().alias(N)))[N][0])
    if number:
        raise copied_ids(side.name, number, _shown(twice, number))


def _shown(frame: Any, number: int) -> str:
    held = fetched(frame.select(CASE).sort(CASE).head(3))[CASE].to_list()
    texts = [str(int(x) if isinstance(x, float) and x.is_integer() else x) for x in held]
    return listing(texts, most=3) + (f" and {number - len(texts):,} more" if number > len(texts) else "")


def check_matched(sides: Sequence[LazySide], matched: int) -> None:
    """Refuse cases that not all of them judged."""
    import narwhals.stable.v2 as nw

    if all(side.n == matched for side in sides):
        return
    if all(side.in_order for side in sides):
        raise other_sizes({side.name: side.n for side in sides})
    parts = alike_ids([columns_of(side, at) for at, side in enumerate(sides)], sides)
    for place in range(1, len(sides)):
        gone = []
        for there, here in ((0, place), (place, 0)):
            left = parts[there].join(parts[here].select(CASE), on=CASE, how="anti")
            number = int(fetched(left.select(nw.len().alias(N)))[N][0])
            gone.append((number, _shown(left, number) if number else "", sides[there].name, sides[here].name))
        if any(number for number, *_ in gone):
            raise other_cases(gone)
    shown = ", ".join(f"{side.name} has {side.n:,}" for side in sides)
    raise ValuesError(
        f"The rows changed while they were counted: {shown} cases, and {matched:,} were matched.",
        hint="compare data that nobody writes to meanwhile.",
    )


def check_truths(
    sides: Sequence[LazySide], frame: Any, table: Any, truths: Sequence[Codes], counts: Codes, labels: Sequence[Label]
) -> None:
    """Refuse cases of which two sides hold a different truth; `table` has the values that the codes stand for."""
    import narwhals.stable.v2 as nw

    for at in range(1, len(sides)):
        wrong = np.flatnonzero(truths[0] != truths[at])
        if not len(wrong):
            continue
        row = int(wrong[0])
        raw = table["t0"][row], table[f"t{at}"][row]
        found = frame.filter(nw.col("t0") == raw[0], nw.col(f"t{at}") == raw[1]).select(CASE).sort(CASE).head(1)
        case = fetched(found)[CASE][0]
        raise other_truth(
            (sides[0].name, sides[at].name), int(counts[wrong].sum()), int(counts.sum()),
            str(int(case) if isinstance(case, float) and case.is_integer() else case),
            (labels[truths[0][row]], labels[truths[at][row]]),
        )  # fmt: skip


def check_groups(sides: Sequence[LazySide], frame: Any) -> None:
    """Refuse groups that are not the same for all of them, whatever they are called."""
    if sides[0].group is None:
        return
    for at in range(1, len(sides)):
        table = fetched(frame.group_by("g0", f"g{at}").agg(rows_counted()))
        if not len(table) == table["g0"].n_unique() == table[f"g{at}"].n_unique():
            raise other_units(sides[0].name, sides[at].name, "group")
