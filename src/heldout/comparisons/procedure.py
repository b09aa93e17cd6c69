"""The procedures by name: what each compares, where it comes from, and what was measured of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from heldout.arguments import closest, listing, method_key
from heldout.errors import OptionError

Setting = Literal["same cases", "different cases", "same splits", "data sets"]


@dataclass(frozen=True, slots=True)
class Procedure:
    """A way to compare, as the catalogue and the reports name it.

    `finding` says, with figures, where the procedure does not keep its promise.
    """

    name: str
    setting: Setting
    summary: str
    reference: str
    finding: str = ""


PROCEDURES: dict[str, Procedure] = {}


def procedure(name: str, setting: Setting, summary: str, reference: str, finding: str = "") -> Procedure:
    """Enter a procedure into the catalogue."""
    made = Procedure(name, setting, summary, reference, finding)
    PROCEDURES[name] = made
    return made


def find_procedure(name: str, setting: Setting) -> Procedure:
    """The procedure of that name, which must fit the setting.

    >>> entered = procedure("coin", "same cases", "Tosses a coin.", "nobody")
    >>> find_procedure("Coin", "same cases").summary
    'Tosses a coin.'
    >>> del PROCEDURES["coin"]
    """
    key = method_key(name)
    fitting = [p.name for p in PROCEDURES.values() if p.setting == setting]
    if key not in PROCEDURES:
        near = closest(key, fitting) or closest(key, PROCEDURES)
        raise OptionError(
            f"There is no method {name!r} to compare with. For {setting} there are: {listing(fitting, most=20)}.",
            hint=f"did you mean {near!r}?" if near else "leave method out for the default.",
        )
    found = PROCEDURES[key]
    if found.setting != setting:
        raise OptionError(
            f"The method {found.name!r} is for {found.setting}, and these results have {setting}.",
            hint=f"use one of: {listing(fitting, most=20)}.",
        )
    return found
