"""The extras: packages that only some of heldout needs, by the name under which pip installs them."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from heldout.errors import OptionError


@dataclass(frozen=True, slots=True)
class Extra:
    """One extra: what it is for, and the module by which each of its packages is found."""

    name: str
    gives: str
    packages: Mapping[str, str]

    @property
    def command(self) -> str:
        """What to type to have it; the quotes keep shells from reading the brackets."""
        return f'pip install "heldout[{self.name}]"'

    def list_missing(self) -> list[str]:
        """The packages of it that are not installed."""
        return [package for package, module in self.packages.items() if not _is_found(module)]


# Everything else that heldout imports comes with a plain `pip install heldout`.
EXTRAS: Mapping[str, Extra] = MappingProxyType(
    {
        extra.name: extra
        for extra in (
            Extra("png", "charts as PNG pictures", {"vl-convert-python": "vl_convert"}),
            Extra("charts", "Altair charts, also as Vega-Lite documents", {"altair": "altair"}),
            Extra("plot", "Matplotlib figures", {"matplotlib": "matplotlib"}),
            Extra("serve", "heldout serve, the local page", {"starlette": "starlette", "uvicorn": "uvicorn"}),
            Extra("fast", "compiled counting on all cores", {"numba": "numba"}),
            Extra("mlflow", "logging to MLflow, and its evaluator", {"mlflow": "mlflow"}),
            Extra("dask", "--engine dask", {"dask": "dask.dataframe", "distributed": "distributed"}),
            Extra("duckdb", "--engine duckdb", {"duckdb": "duckdb", "pyarrow": "pyarrow"}),
            Extra("ibis", "tables of Ibis", {"ibis-framework": "ibis"}),
            Extra("spark", "--engine spark", {"pyspark": "pyspark", "pyarrow": "pyarrow"}),
        )
    }
)


def missing_extra(name: str, what: str, *, instead: str = "") -> OptionError:
    """The error of whatever needs an extra that is not installed; `instead` is what works without.

    >>> print(missing_extra("png", "A PNG picture", instead="write an .svg file"))
    A PNG picture needs vl-convert-python, which is not installed.
    Hint: pip install "heldout[png]", or write an .svg file.
    """
    extra = EXTRAS[name]
    # Where all of them are found, one of them lacks a dependency of its own.
    packages = extra.list_missing() or list(extra.packages)
    verb = "is" if len(packages) == 1 else "are"
    return OptionError(
        f"{what} needs {' and '.join(packages)}, which {verb} not installed.",
        hint=f"{extra.command}{f', or {instead}' if instead else ''}.",
    )


def require_extra(name: str, what: str, *, instead: str = "") -> None:
    """Refuse what needs an extra where a package of it is missing."""
    if EXTRAS[name].list_missing():
        raise missing_extra(name, what, instead=instead)


def _is_found(module: str) -> bool:
    """Whether a module could be imported, without importing it."""
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        # The package around it is missing, or it was put among the modules without a specification.
        return False
