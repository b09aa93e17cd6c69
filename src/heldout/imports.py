"""Names that a person gives as module:name: imported from installed packages, or from the current folder."""

from __future__ import annotations

import importlib
import importlib.util
import os
import pkgutil
import sys
import traceback
from collections.abc import Iterable, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

from heldout.arguments import SPELLED_EXACTLY, closest, listing, suggest
from heldout.errors import OptionError, first_line


class FolderModules:
    """Finds modules of one folder by the names that were given, and what these import from the folder themselves.

    The folder is never on `sys.path`, where a file that happens to lie there, such as lz4.py, would be found by
    whichever library tries to import an optional package of that name.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.names: set[str] = set()

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """The module of that name in the folder; asked only after every other finder."""
        if path is not None or not (fullname in self.names or _find_importer() in self.names):
            return None
        spec = PathFinder.find_spec(fullname, [self.folder], target)
        if spec is not None:
            self.names.add(fullname)
        return spec

    def __reduce__(self) -> tuple[Any, ...]:
        # Sent to a worker process before the learner, so that the worker finds the learner's module.
        return allow_folder_modules, (self.folder, sorted(self.names))


def allow_folder_modules(folder: str, names: Sequence[str]) -> FolderModules:
    """Let the modules of those names be imported from a folder, for as long as this process lives."""
    finder = next((module_finder for module_finder in folder_modules() if module_finder.folder == folder), None)
    if finder is None:
        finder = FolderModules(folder)
        sys.meta_path.append(finder)
    finder.names.update(names)
    return finder


def folder_modules() -> list[FolderModules]:
    """The folders whose modules were named; sent to worker processes before the learners."""
    return [finder for finder in sys.meta_path if isinstance(finder, FolderModules)]


def _find_importer() -> str:
    """The top-level package of the code that an import statement stands in."""
    frame = sys._getframe(2)  # noqa: SLF001 - the only way to ask who imports
    machinery = ("importlib", "_frozen_importlib", "_frozen_importlib_external", "zipimport")
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in machinery:
        frame = frame.f_back  # type: ignore[assignment]
    return "" if frame is None else str(frame.f_globals.get("__name__", "")).partition(".")[0]


def _is_installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        # A module without a spec, such as __main__, is there.
        return name in sys.modules


def import_name(module_name: str, name: str, named_by: str, *, suggestions: Iterable[str] = ()) -> Any:
    """What a name stands for in a module, which may also lie in the current folder; `named_by` says who names it.

    >>> import_name("math", "sqrt", "the measure 'math:sqrt'")(4)
    2.0
    """
    module = _import_module(named_by, module_name, suggestions)
    if not hasattr(module, name):
        raise _no_such_name(module, name)
    return getattr(module, name)


def _import_module(named_by: str, name: str, suggestions: Iterable[str]) -> ModuleType:
    importlib.invalidate_caches()
    top, here = name.partition(".")[0], str(Path.cwd())
    if not _is_installed(top) and PathFinder.find_spec(top, [here]) is not None:
        allow_folder_modules(here, [top])
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            raise _no_module(named_by, error.name, suggestions) from None
        raise _broken_module(name, error) from error
    except (Exception, SystemExit) as error:  # whatever a person's module raises
        raise _broken_module(name, error) from error


def _no_module(named_by: str, missing: str, suggestions: Iterable[str]) -> OptionError:
    parent, _, last = missing.rpartition(".")
    beside = [
        f"{parent}.{module.name}" for module in pkgutil.iter_modules(getattr(sys.modules.get(parent), "__path__", []))
    ]
    if not parent and (near := closest(missing, suggestions)) is not None:
        what = " ".join(named_by.split()[:2])
        hint = f"did you mean {what} {near!r}?"
    elif hasattr(sys.modules.get(parent), last):
        hint = f"{missing} is no module but a name in one: write '{parent}:{last}()'."
    elif (near := closest(missing, beside)) is not None:
        hint = f"did you mean {near!r}?"
    elif parent:
        hint = f"{parent} has these modules: {listing(beside) or 'none'}."
    else:
        hint = f"install {missing}, or run from the folder that holds {missing}.py."
    return OptionError(f"There is no module {missing!r}, which {named_by} names.", hint=hint)


def _broken_module(name: str, error: BaseException) -> OptionError:
    where = ""
    if isinstance(error, SyntaxError) and error.filename:
        where = f" ({os.path.basename(error.filename)}, line {error.lineno})"  # noqa: PTH119 - not always a path
        message = f"SyntaxError: {error.msg}"
    else:
        message = first_line(error)
        # The last line of the module itself: where it went wrong, or where it called what went wrong.
        own = [frame for frame in traceback.extract_tb(error.__traceback__) if _belongs(frame.filename, name)]
        if own:
            where = f" ({Path(own[-1].filename).name}, line {own[-1].lineno})"
    return OptionError(
        f"The module {name!r} cannot be imported: {message}{where}.",
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
    classes = [known for known in names if isinstance(getattr(module, known, None), type)]
    return OptionError(
        f"The module {module.__name__!r} has no {name!r}. It has: {listing(classes or names) or 'nothing'}.",
        hint=suggest(name, names, SPELLED_EXACTLY),
    )
