"""Every rule, in the order of the codes; importing this declares them all."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType

from heldout import findings
from heldout.arguments import closest
from heldout.errors import OptionError
from heldout.findings.rule import RULES, Rule

# Rules stand in the modules whose names say what they are about: a new one needs no entry here.
for _module in iter_modules(findings.__path__):
    if _module.name.startswith("rules_"):
        import_module(f"{findings.__name__}.{_module.name}")

RULE_CATALOGUE: Mapping[str, Rule] = MappingProxyType(dict(sorted(RULES.items())))


def find_rule(code: str) -> Rule:
    """The rule of a code, in capitals or not.

    >>> find_rule("h001").about
    'evaluation'
    """
    wanted = str(code).strip().upper()
    if wanted in RULE_CATALOGUE:
        return RULE_CATALOGUE[wanted]
    # "H1" and "12" mean H001 and H012 more likely than any code that merely looks alike.
    digits = wanted.removeprefix("H")
    meant = f"H{int(digits):03d}" if digits.isdecimal() else ""
    near = meant if meant in RULE_CATALOGUE else closest(wanted, RULE_CATALOGUE)
    raise OptionError(
        f"There is no rule {str(code)!r}. Rules have codes from {min(RULE_CATALOGUE)} to {max(RULE_CATALOGUE)}.",
        hint=f"did you mean {near}?" if near else "heldout explain lists them.",
    )
