"""Limits of rules that a person changed: by code and name, refused where there is no such rule or limit."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from typing import Any, TypeAlias

from heldout.arguments import closest, listing
from heldout.errors import OptionError
from heldout.findings.catalogue import find_rule
from heldout.findings.rule import About

Limits: TypeAlias = Mapping[str, Mapping[str, float]]
EXAMPLE = "write limits={'H014': {'width': 0.1}} (--limit H014.width=0.1)."


def check_limits(limits: Any, about: About) -> dict[str, dict[str, float]]:
    """The limits of rules about such a result, by code and name.

    >>> check_limits({"h014": {"width": 0.1}}, "evaluation")
    {'H014': {'width': 0.1}}
    """
    if limits is None:
        return {}
    if not isinstance(limits, Mapping) or not all(isinstance(held, Mapping) for held in limits.values()):
        raise OptionError(f"Limits are given by the code of a rule and by name. Got {limits!r}.", hint=EXAMPLE)
    checked: dict[str, dict[str, float]] = {}
    for code, held in limits.items():
        rule = find_rule(code)
        if rule.about != about:
            raise OptionError(
                f"The rule {rule.code} is about a {rule.about}, and this is a result of another kind: {about}.",
                hint="leave out its limits.",
            )
        known = {limit.name: limit for limit in rule.limits}
        for name, value in held.items():
            if name not in known:
                near = closest(str(name), known)
                has = f"It has: {listing(known)}" if known else "It has none"
                raise OptionError(
                    f"The rule {rule.code} has no limit {str(name)!r}. {has}.",
                    hint=f"did you mean {near}?" if near else f"heldout explain {rule.code} says what they mean.",
                )
            checked.setdefault(rule.code, {})[name] = _number(rule.code, name, value)
    return checked


def _number(code: str, name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not math.isfinite(float(value)):
        raise OptionError(f"The limit {name} of {code} must be a number. Got {value!r}.", hint=EXAMPLE)
    return float(value)
