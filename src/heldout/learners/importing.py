"""From `package.module:Class(arguments)` to the object it names; arguments are plain values, nothing is evaluated."""

from __future__ import annotations

import ast
import importlib
import os
import pkgutil
import sys
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from heldout.arguments import closest, listing
from heldout.errors import OptionError
from heldout.learners.learner import first_line
from heldout.learners.shortcuts import SEEDS, SHORTCUTS

_OWN_MODULE = "build the object in a module of your own, my_learner.py, and write 'my_learner:model'."


@dataclass(frozen=True, slots=True)
class Named:
    """A name in a module, and the arguments to call it with; `called` says whether there were parentheses."""

    name: str
    called: bool = False
    args: list[Any] = field(default_factory=list)
    kwargs: dict[str, Any] = field(default_factory=dict)


def imported(text: str, module_name: str, expression: str, *, seed: int = 0) -> Any:
    """The object that a text names; what a call makes gets the seed where it would otherwise draw its own.

    >>> imported("sklearn.svm:SVC(C=10)", "sklearn.svm", "SVC(C=10)").C
    10
    """
    named = _parsed(text, expression)
    module = _module(text, module_name)
    if not hasattr(module, named.name):
        raise _no_such_name(module, named.name)
    found = getattr(module, named.name)
    is_factory = callable(found) and not hasattr(found, "fit")
    if not named.called and not isinstance(found, type) and not is_factory:
        return found
    made = _call(text, found, named)
    return _seeded(made, seed) if isinstance(found, type) else made


def _parsed(text: str, expression: str) -> Named:
    try:
        tree = ast.parse(expression.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise _malformed(text, f"{getattr(error, 'msg', None) or error}") from None
    if isinstance(tree, ast.Name):
        return Named(tree.id)
    if not isinstance(tree, ast.Call) or not isinstance(tree.func, ast.Name):
        raise _malformed(text, "after the colon there must be one name, with arguments in parentheses if need be")
    if any(isinstance(node, ast.Starred) for node in tree.args) or any(k.arg is None for k in tree.keywords):
        raise _malformed(text, "arguments cannot be unpacked with * or **")
    args = [_value(node, text) for node in tree.args]
    kwargs = {str(keyword.arg): _value(keyword.value, text) for keyword in tree.keywords}
    return Named(tree.func.id, called=True, args=args, kwargs=kwargs)


def _malformed(text: str, why: str) -> OptionError:
    return OptionError(
        f"The learner {text!r} cannot be read: {why}.",
        hint="write package.module:Class(name=value), such as 'sklearn.svm:SVC(C=10)'.",
    )


def _value(node: ast.expr, text: str) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        raise OptionError(
            f"The learner {text!r} has an argument that is not a plain value: {ast.unparse(node)[:60]}.",
            hint=f"use numbers, quoted text, True, False, None and lists of these, or {_OWN_MODULE}",
        ) from None


def _module(text: str, name: str) -> ModuleType:
    here = str(Path.cwd())
    if here not in sys.path:
        # Last, so that no file beside the data stands in for a library; for good, so that worker processes have it too.
        sys.path.append(here)
    importlib.invalidate_caches()
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            raise _no_module(text, error.name) from None
        raise _broken_module(name, error) from error
    except (Exception, SystemExit) as error:  # whatever a person's module raises
        raise _broken_module(name, error) from error


def _no_module(text: str, missing: str) -> OptionError:
    parent, _, last = missing.rpartition(".")
    beside = [
        f"{parent}.{found.name}" for found in pkgutil.iter_modules(getattr(sys.modules.get(parent), "__path__", []))
    ]
    if not parent and (near := closest(missing, SHORTCUTS)) is not None:
        hint = f"did you mean the learner {near!r}?"
    elif hasattr(sys.modules.get(parent), last):
        hint = f"{missing} is no module but a name in one: write '{parent}:{last}()'."
    elif (near := closest(missing, beside)) is not None:
        hint = f"did you mean {near!r}?"
    elif parent:
        hint = f"{parent} has these modules: {listing(beside) or 'none'}."
    else:
        hint = f"install {missing}, or run from the folder that holds {missing}.py."
    return OptionError(f"There is no module {missing!r}, which the learner {text!r} names.", hint=hint)


def _broken_module(name: str, error: BaseException) -> OptionError:
    where = ""
    if isinstance(error, SyntaxError) and error.filename:
        where = f" ({os.path.basename(error.filename)}, line {error.lineno})"  # noqa: PTH119 - not always a path
        said = f"SyntaxError: {error.msg}"
    else:
        said = first_line(error)
        # The last line of the module itself: where it went wrong, or where it called what went wrong.
        own = [frame for frame in traceback.extract_tb(error.__traceback__) if _belongs(frame.filename, name)]
        if own:
            where = f" ({Path(own[-1].filename).name}, line {own[-1].lineno})"
    return OptionError(
        f"The module {name!r} cannot be imported: {said}{where}.",
        hint=f"mend it so that `python -c 'import {name}'` runs, then try again.",
    )


def _belongs(file: str, module: str) -> bool:
    """Whether a file is that of a module, or of one of the packages it is in."""
    parts = Path(file).with_suffix("").parts
    parts = parts[:-1] if parts[-1] == "__init__" else parts
    names = module.split(".")
    return any(list(parts[-length:]) == names[:length] for length in range(1, len(names) + 1))


def _no_such_name(module: ModuleType, name: str) -> OptionError:
    names = [known for known in dir(module) if not known.startswith("_")]
    near = closest(name, names)
    classes = [known for known in names if isinstance(getattr(module, known, None), type)]
    return OptionError(
        f"The module {module.__name__!r} has no {name!r}. It has: {listing(classes or names) or 'nothing'}.",
        hint=f"did you mean {near!r}?" if near else "use one of these, spelled exactly as it is.",
    )


def _call(text: str, found: Any, named: Named) -> Any:
    if not callable(found):
        raise OptionError(
            f"In the learner {text!r}, {named.name} is of type {type(found).__name__} and cannot be called.",
            hint="leave out the parentheses.",
        )
    try:
        return found(*named.args, **named.kwargs)
    except TypeError as error:
        raise OptionError(
            f"The arguments of the learner {text!r} do not fit: {str(error).partition(chr(10))[0].rstrip('.')}.",
            hint=_arguments(found, named.name),
        ) from error
    except Exception as error:
        raise OptionError(
            f"The learner {text!r} cannot be made: {first_line(error)}.",
            hint="check its arguments.",
        ) from error


def _arguments(found: Any, name: str) -> str:
    import inspect

    try:
        parameters = inspect.signature(found).parameters
    except (TypeError, ValueError):
        return f"look up the arguments of {name}."
    return f"{name} takes: {listing(parameters) or 'no arguments'}."


def _seeded(made: Any, seed: int) -> Any:
    """Give the seed to a random learner that has none, so that the same command gives the same figures."""
    try:
        if made.get_params(deep=False).get("random_state", seed) is None:
            made.set_params(random_state=int(seed) % SEEDS)
    except Exception:  # noqa: BLE001 - an object with other ways keeps them
        return made
    return made
