"""What a person chose on the page: which column is which, and the settings, checked before anything is computed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from heldout.arguments import MISSING
from heldout.costs import parse_costs
from heldout.errors import OptionError

LOAD_AGAIN = "load the page again and choose there."
ONE_COLUMN = ("truth", "predicted", "weight", "group", "fold", "id")
MANY_COLUMNS = ("score", "slices")
# The settings that are texts in the form, and that a second file has like the first.
TEXT_SETTINGS = ("positive", "threshold", "costs", "missing", "level")
LONGEST_TEXT = 10_000


@dataclass(frozen=True, slots=True)
class Choices:
    """The columns by name, and the settings, as `evaluate` takes them."""

    truth: str
    predicted: str | None = None
    score: tuple[str, ...] = ()
    weight: str | None = None
    group: str | None = None
    fold: str | None = None
    id: str | None = None
    slices: tuple[str, ...] = ()
    positive: str | None = None
    threshold: float | None = None
    costs: str = ""
    missing: str = "refuse"
    level: float = 0.95
    different_cases: bool = False

    @classmethod
    def read(cls, form: Mapping[str, Any], columns: Sequence[str]) -> Choices:
        """The choices in what the page sent, which names columns by their place in the file."""
        chosen: dict[str, Any] = {role: _column(form.get(role), columns, role) for role in ONE_COLUMN}
        for role in MANY_COLUMNS:
            places = form.get(role) or []
            if not isinstance(places, list):
                raise _unreadable(role)
            chosen[role] = tuple(dict.fromkeys(_named(place, columns, role) for place in places))
        texts = {name: _text(form.get(name), name) for name in TEXT_SETTINGS}
        if chosen["truth"] is None:
            raise OptionError("No column was chosen as the truth.", hint="choose the column that holds the true class.")
        if chosen["predicted"] is None and not chosen["score"]:
            raise OptionError(
                "Neither a predicted class nor a score was chosen, so there is nothing to judge.",
                hint="choose the column of the predicted class, of the scores, or both.",
            )
        if texts["costs"]:
            parse_costs(texts["costs"])
        if texts["missing"] not in ("", *MISSING):
            raise _unreadable("missing")
        return cls(
            **chosen,
            positive=texts["positive"] or None,
            threshold=_number(texts["threshold"], "threshold", "0.5"),
            costs=texts["costs"],
            missing=texts["missing"] or "refuse",
            level=_level(texts["level"]),
            different_cases=form.get("different_cases") is True,
        )

    @classmethod
    def of(cls, choices: Mapping[str, Any]) -> Choices:
        """The choices that `to_dict` wrote."""
        return cls(**{**choices, **{role: tuple(choices[role]) for role in MANY_COLUMNS}})

    def to_dict(self) -> dict[str, Any]:
        """The choices as JSON has them."""
        return asdict(self)

    def columns(self) -> list[str]:
        """Every column that is needed, each once."""
        single = [getattr(self, role) for role in ONE_COLUMN]
        return list(dict.fromkeys([*(name for name in single if name is not None), *self.score, *self.slices]))

    def options(self) -> dict[str, Any]:
        """What `evaluate` takes; costs are read from the text alone, because a text could also name a file here."""
        return {
            **{role: getattr(self, role) for role in ONE_COLUMN},
            "score": self.score[0] if len(self.score) == 1 else list(self.score) or None,
            "slices": list(self.slices) or None,
            "positive": self.positive,
            "threshold": self.threshold,
            "costs": parse_costs(self.costs) if self.costs else None,
            "missing": self.missing,
            "level": self.level,
        }


def _column(index: object, columns: Sequence[str], role: str) -> str | None:
    return None if index in (None, "") else _named(index, columns, role)


def _named(index: object, columns: Sequence[str], role: str) -> str:
    text = str(index)
    if not (text.isascii() and text.isdigit() and len(text) < 9 and int(text) < len(columns)):
        raise _unreadable(role)
    return columns[int(text)]


def _text(given: object, name: str) -> str:
    if given is None:
        return ""
    # Half a character, which JSON can spell, is in no file and in no page.
    if not isinstance(given, str) or len(given) > LONGEST_TEXT or _broken(given):
        raise _unreadable(name)
    return given.strip()


def _broken(text: str) -> bool:
    return any("\ud800" <= letter <= "\udfff" for letter in text)


def _number(text: str, name: str, example: str) -> float | None:
    if not text:
        return None
    try:
        # Half of the world writes a comma there.
        value = float(text.replace(",", ".") if text.count(",") == 1 and "." not in text else text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise OptionError(f"The {name} must be a number. Got {text!r}.", hint=f"for example {example}.")
    return value


def _level(text: str) -> float:
    value = _number(text, "level", "0.95")
    if value is None:
        return 0.95
    if not 0 < value < 1:
        raise OptionError(f"The level must lie between 0 and 1. Got {text!r}.", hint="for example 0.95.")
    return value


def _unreadable(role: str) -> OptionError:
    return OptionError(f"What was sent as {role} cannot be understood.", hint=LOAD_AGAIN)
