"""From what a person wrote or passed to a learner: a short name, `package.module:Class(...)`, or an object."""

from __future__ import annotations

from typing import Any

from heldout.arguments import closest, listing
from heldout.errors import OptionError
from heldout.learners.acceptance import check_learner
from heldout.learners.importing import imported
from heldout.learners.learner import Learner, described, takes_missing
from heldout.learners.shortcuts import SHORTCUTS, Shortcut

_OTHER = "any other as 'package.module:Class(name=value)'"


def read_learner(spec: Any, *, seed: int = 0) -> Learner:
    """The learner that a text names, or the object itself; `seed` goes to random learners that a text names.

    >>> read_learner("knn:3").estimator
    KNeighborsClassifier(n_neighbors=3)
    >>> read_learner("sklearn.svm:SVC(C=10)").estimator
    SVC(C=10, random_state=0)
    """
    if isinstance(spec, Learner):
        return spec
    if isinstance(spec, str):
        return _from_text(spec.strip(), seed)
    check_learner(spec, spec.__name__ if isinstance(spec, type) else described(spec))
    return _of_object(spec, described(spec))


def _from_text(text: str, seed: int) -> Learner:
    head, colon, rest = (part.strip() for part in text.partition(":"))
    known = SHORTCUTS.get(head.casefold().replace("_", "-").replace(" ", "-"))
    if known is not None:
        return _of_shortcut(known, text, rest if colon else None, seed)
    if not colon or not _is_module(head) or not rest or rest[0].isdigit():
        raise _unknown(text, head, rest)
    found = imported(text, head, rest, seed=seed)
    check_learner(found, f"{text!r}")
    return _of_object(found, text)


def _of_shortcut(known: Shortcut, text: str, written: str | None, seed: int) -> Learner:
    estimator = known.build(written, seed=seed)
    return Learner(
        text,
        estimator,
        scaled=known.scaled,
        takes_missing=bool(takes_missing(estimator)),
        nominal=known.nominal,
        shortcut=True,
    )


def _of_object(found: Any, name: str) -> Learner:
    return Learner(name, found, takes_missing=bool(takes_missing(found)))


def _is_module(text: str) -> bool:
    return all(part.isidentifier() for part in text.split("."))


def _unknown(text: str, head: str, rest: str) -> OptionError:
    if not text:
        return OptionError("The name of the learner is empty.", hint=f"use one of {listing(SHORTCUTS)}; {_OTHER}.")
    bare = head.partition("(")[0]
    near = closest(bare, SHORTCUTS)
    if head.endswith(".py") or "/" in head or "\\" in head:
        module = head.replace("\\", "/").rpartition("/")[2].removesuffix(".py")
        hint = f"name the module, not its file, from the folder that holds it: '{module}:{rest or 'model'}'."
    elif not rest and "." in bare and _is_module(bare):
        module, _, name = head.partition("(")[0].rpartition(".")
        hint = f"a colon stands between the module and the name: '{module}:{name}{head[len(bare) :] or '()'}'."
    elif near is not None:
        known = SHORTCUTS[near]
        hint = f"did you mean '{near}:{known.number.example}'?" if rest and known.number else f"did you mean {near!r}?"
    elif "(" in head:
        hint = f"name its module too: 'package.module:{text}'."
    else:
        hint = f"use one of {listing(SHORTCUTS)}; {_OTHER}."
    return OptionError(f"There is no learner {text!r}.", hint=hint)
