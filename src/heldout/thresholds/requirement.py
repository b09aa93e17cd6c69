"""A requirement as a person writes it, such as "recall[spam] >= 0.8": its measure, its sign and its bound."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import closest
from heldout.errors import OptionError
from heldout.measures.cells import Cells
from heldout.measures.quantity import Quantity
from heldout.thresholds.objective import Classes, quantity_values, resolve_quantity

HOW = "write for example 'recall >= 0.9', or 'recall >= 0.9, specificity >= 0.5'."
# Rounding only: 0.9 of 10 cases must count as 0.9, also after the cases were reweighted.
TIE = 1e-12
BASELINE = "baseline"
SPELLED = {"≥": ">=", "≤": "<=", "⩾": ">=", "⩽": "<=", "≧": ">=", "≦": "<="}
# Signs as people write them from habit in other languages.
MEANT = {"=>": ">=", "=<": "<=", ">==": ">=", "<==": "<=", ">>": ">", "<<": "<", "=": ">=", "==": ">=", "~": ">="}
WORDS = {"at least": ">=", "at most": "<=", "above": ">", "below": "<", "over": ">", "under": "<", "more than": ">",
         "less than": "<", "ge": ">=", "le": "<=", "gt": ">", "lt": "<"}  # fmt: skip
SIGNS = re.compile(r"[<>=!~≥≤⩾⩽≧≦]+(?:\s+=+)?")
# Possessive quantifiers (a plus behind *, + or ?) do not backtrack, so the time is linear in the length of the text.
_SIZE = r"(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][-+]?\d++)?"
PART = re.compile(
    r"(?P<name>(?:\s*+\S)+?)\s*+(?P<sign>>=|<=|[≥≤⩾⩽≧≦<>])\s*+"
    rf"(?P<bound>(?:(?P<baseline>baseline)\s*+)?(?:(?P<minus>[-+−]?)\s*+(?P<size>{_SIZE})\s*+(?P<percent>%?))?)\s*+",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Written:
    """What a person wrote: the name of a quantity, a sign, and a number, or a distance from a baseline."""

    text: str
    name: str
    sign: str
    bound: str
    limit: float
    baseline: bool = False

    def is_met(self, value: float) -> bool:
        """Whether a value, or a difference from the baseline, meets it; undefined does not."""
        return bool(shortfall(self.sign, self.limit, np.float64(value)) == 0)


def shortfall(sign: str, limit: float, values: Any) -> Any:
    """How much is missing: 0 where it is met, infinite where it is undefined.

    >>> shortfall(">=", 0.5, np.array([0.25, 0.5, np.nan]))
    array([0.25, 0.  ,  inf])
    """
    missing = limit - values if sign[0] == ">" else values - limit
    slack = TIE * max(1.0, abs(limit))
    # A strict sign is not met at the limit itself.
    is_met = missing < -slack if sign in (">", "<") else missing <= slack
    return np.where(np.isnan(values), np.inf, np.where(is_met, 0.0, np.maximum(missing, slack)))


def read_all(texts: str | Iterable[str]) -> list[Written]:
    """Read requirements, each text one or several that are separated by commas or "and".

    >>> [(r.name, r.sign, r.limit) for r in read_all("sensitivity ≥ 90%, FPR < .2")]
    [('sensitivity', '>=', 0.9), ('FPR', '<', 0.2)]
    """
    if not isinstance(texts, Iterable):
        raise OptionError(f"Requirements are texts. Got {texts!r}.", hint=HOW)
    each = [texts] if isinstance(texts, str) else list(texts)
    for text in each:
        if not isinstance(text, str):
            raise OptionError(f"A requirement is a text. Got {text!r}.", hint=HOW)
    return [read_written(part) for text in each for part in _split_requirements(text)]


def has_sign(text: str) -> bool:
    """Whether a text is meant as a requirement: outside brackets it has a sign, or what was meant as one.

    >>> has_sign("recall > 0.8"), has_sign("f_score(beta=2)")
    (True, False)
    """
    return SIGNS.search(_blank_brackets(text)) is not None


def read_written(text: str) -> Written:
    """Read one requirement.

    >>> found = read_written("accuracy >= baseline - 0.02")
    >>> found.name, found.baseline, found.limit, found.bound
    ('accuracy', True, -0.02, 'baseline - 0.02')
    """
    text = text.strip()
    match = PART.fullmatch(text)
    # A second sign before the one that counts, as in "recall => 0.8", would make it part of the name.
    if match is None or not match["bound"] or SIGNS.search(_blank_brackets(match["name"])):
        raise _unreadable_error(text)
    if match["baseline"] and match["size"] and not match["minus"]:
        raise OptionError(
            f"{match['bound']!r} in {text!r} does not say on which side of the baseline.",
            hint=f"write 'baseline - {match['size']}{match['percent']}' or 'baseline + …'.",
        )
    size = float(match["size"] or 0) / (100 if match["percent"] else 1)
    if not math.isfinite(size):
        raise OptionError(f"{match['size']!r} in {text!r} is not a number that can be reached.", hint=HOW)
    limit = -size if match["minus"] in ("-", "−") else size
    sign = SPELLED.get(match["sign"], match["sign"])
    return Written(text, match["name"], sign, match["bound"].strip(), limit, baseline=bool(match["baseline"]))


def _split_requirements(text: str) -> list[str]:
    """The parts of a text, none of which may be empty where there are several."""
    parts = _split_parts(text)
    if len(parts) > 1 and not all(part.strip() for part in parts):
        at = next(index for index, part in enumerate(parts) if not part.strip())
        where = "at the end of" if at == len(parts) - 1 else "at the beginning of" if not at else "in"
        raise OptionError(
            f"A requirement is missing {where} {text!r}: nothing stands {'before' if not at else 'after'} a comma "
            "or an 'and'.",
            hint=HOW,
        )
    return parts


def _split_parts(text: str) -> list[str]:
    """The text cut at commas and "and", except inside brackets, as in f_score(beta=2) or recall[salt and pepper]."""
    cuts, depth = [0], 0
    for mark in re.finditer(r"[()\[\],&]|\band\b", text):
        if mark[0] in "([":
            depth += 1
        elif mark[0] in ")]":
            depth -= 1
        elif depth <= 0:
            cuts += [mark.start(), mark.end()]
    cuts.append(len(text))
    return [text[start:end] for start, end in zip(cuts[::2], cuts[1::2], strict=True)]


def _unreadable_error(text: str) -> OptionError:
    """What is wrong with a text that is no requirement."""
    if re.fullmatch(_SIZE + r"\s*%?", text):
        return OptionError(
            f"{text!r} is not a requirement: a number alone.", hint="decimals have a point: 'recall >= 0.9'."
        )
    bare = _blank_brackets(text)
    signs = list(SIGNS.finditer(bare))
    if not signs:
        word = next((word for word in WORDS if re.search(rf"\b{word}\b", bare, re.IGNORECASE)), "")
        return OptionError(
            f"{text!r} is not a requirement: it has none of >=, <=, > and <.",
            hint=f"did you mean {WORDS[word]!r} instead of {word!r}?" if word else HOW,
        )
    if len(signs) > 1:
        either = re.search(r"\bor\b", bare, re.IGNORECASE)
        why = "there is no 'or', every requirement must be met" if either else f"it has {len(signs)} signs"
        return OptionError(
            f"{text!r} is not a requirement: {why}.",
            hint="check each in a call of its own, and let either pass."
            if either
            else "write two, each with its measure first: 'recall >= 0.7, recall <= 0.9'.",
        )
    sign = SPELLED.get(signs[0][0], signs[0][0])
    before, after = text[: signs[0].start()].strip(), text[signs[0].end() :].strip()
    if sign not in (">=", "<=", ">", "<"):
        near = MEANT.get(sign) or closest("".join(sign.split()), (">=", "<="))
        return OptionError(
            f"{text!r} is not a requirement: there is no sign {sign!r}; there are >=, <=, > and <.",
            hint=f"did you mean {f'{before} {near} {after}'.strip()!r}?" if near else HOW,
        )
    if not before or not after:
        what = "measure before" if not before else "number after"
        return OptionError(f"{text!r} is not a requirement: there is no {what} {sign}.", hint=HOW)
    return _no_bound_error(text, before, sign, after)


def _blank_brackets(text: str) -> str:
    """The text with dots for what stands in brackets, which may hold any character."""
    first, last = text.find("["), text.rfind("]") + 1
    if 0 <= first < last:
        text = text[:first] + "·" * (last - first) + text[last:]
    done = ""
    while (start := text.find("(")) >= 0 and (end := text.find(")", start) + 1):
        done, text = done + text[:start] + "·" * (end - start), text[end:]
    return done + text


def _no_bound_error(text: str, before: str, sign: str, after: str) -> OptionError:
    turned = {">=": "<=", "<=": ">=", ">": "<", "<": ">"}[sign]
    if re.fullmatch(_SIZE + r"\s*%?", before):
        hint = f"the measure stands first: {f'{after} {turned} {before}'!r}."
    elif closest(after.split(maxsplit=1)[0], [BASELINE]):
        hint = f"did you mean '{before} {sign} baseline', or 'baseline - 0.02' for a margin?"
    else:
        hint = HOW
    return OptionError(f"{after!r} in {text!r} is not a number.", hint=hint)


# Requirements such as "recall >= 0.9, specificity >= 0.5", and how far every threshold is from meeting them.


@dataclass(frozen=True)
class ThresholdRequirement:
    """A quantity that must be at least, or at most, some value."""

    quantity: Quantity
    sign: str
    limit: float
    classes: Classes

    @property
    def name(self) -> str:
        """The quantity as it was asked for."""
        quantity = self.quantity
        if quantity.average is not None:
            return f"{quantity.average} {quantity.bound.name}"
        other = quantity.class_ is not None and quantity.class_ != self.classes[1]
        return f"{quantity.bound.name}[{quantity.class_}]" if other else quantity.bound.name

    @property
    def text(self) -> str:
        """The requirement as it is written."""
        return f"{self.name} {self.sign} {self.limit:g}"

    def values(self, cells: Cells) -> Any:
        """The quantity at every threshold."""
        return quantity_values(self.quantity, cells, self.classes)

    def shortfall(self, values: Any) -> Any:
        """How much is missing at every threshold."""
        return shortfall(self.sign, self.limit, values)

    def is_met(self, value: float) -> bool:
        """Whether a value meets it."""
        return bool(self.shortfall(np.float64(value)) == 0)


def read_requirements(
    text: str, classes: Classes, costs: NDArray[np.float64] | None
) -> tuple[ThresholdRequirement, ...]:
    """Read requirements that are separated by commas or "and".

    >>> [r.text for r in read_requirements("sensitivity >= 90%, FPR < 0.2", (0, 1), None)]
    ['recall >= 0.9', 'false_positive_rate < 0.2']
    """
    requirements = []
    for written in read_all(text):
        if written.baseline:
            raise OptionError(
                f"{written.text!r} names a baseline, and a threshold is chosen without one.",
                hint="write a number, as in 'recall >= 0.9'.",
            )
        quantity = resolve_quantity(written.name, classes, costs)
        requirements.append(ThresholdRequirement(quantity, written.sign, written.limit, classes))
    return tuple(requirements)


def default_then(requirements: tuple[ThresholdRequirement, ...]) -> str:
    """What is best to have once the requirements are met: precision, or recall where precision was required."""
    required = {requirement.quantity.bound.name for requirement in requirements}
    return "recall" if required & {"precision", "false_discovery_rate"} else "precision"
