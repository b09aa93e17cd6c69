"""What a gate requires, as it is written: a file of requirements, the slices that they name, forbidden findings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heldout.arguments import closest, listing, split_outside_quotes
from heldout.errors import ColumnError, FileError, OptionError
from heldout.files.input_stream import load, parse_toml, utf8_text
from heldout.findings.review import RULE_CATALOGUE, find_rule
from heldout.findings.slice_search import SliceSearch
from heldout.gates.gate import Requirement
from heldout.intervals.estimate import Estimate
from heldout.measures.quantity import Quantity
from heldout.results.evaluation import Evaluation
from heldout.results.slices import Divided, choose_columns
from heldout.review import Finding
from heldout.show.escape import visible
from heldout.show.text_width import shorten
from heldout.threads import cached_property

REQUIREMENT_FILE_EXAMPLE = (
    "write [[require]] with text = \"recall >= 0.9\" for each, or require = ['recall >= 0.9', …]."
)


def read_requirement_file(path: str | Path) -> list[str]:
    r"""The requirements of a file: tables [[require]] with a text each, or one list `require` of texts.

    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = pathlib.Path(folder.name, "gate.toml")
    >>> _ = file.write_text('[[require]]\ntext = "recall[spam] >= 0.8"\n')
    >>> read_requirement_file(file)
    ['recall[spam] >= 0.8']
    >>> folder.cleanup()
    """
    content = load(path)
    document = parse_toml(utf8_text(content).decode("utf-8"), content.name, REQUIREMENT_FILE_EXAMPLE)
    entries = document.pop("require", None)
    if document:
        unknown = next(iter(document))
        near = closest(unknown, ["require"])
        raise FileError(
            f"{content.name} holds {listing(map(repr, document))}, and only 'require' is known.",
            hint=f"did you mean [[{near}]]?" if near else REQUIREMENT_FILE_EXAMPLE,
        )
    if not isinstance(entries, list) or not entries:
        raise FileError(f"{content.name} holds no requirements.", hint=REQUIREMENT_FILE_EXAMPLE)
    return [_text(entry, at, content.name) for at, entry in enumerate(entries, start=1)]


def _text(entry: Any, at: int, name: str) -> str:
    if isinstance(entry, dict):
        unknown = [key for key in entry if key != "text"]
        if unknown:
            raise FileError(
                f"Entry {at} of [[require]] in {name} has a key {unknown[0]!r}.", hint=REQUIREMENT_FILE_EXAMPLE
            )
        entry = entry.get("text")
    if not isinstance(entry, str) or not entry.strip():
        raise FileError(f"Entry {at} of [[require]] in {name} has no text.", hint=REQUIREMENT_FILE_EXAMPLE)
    return entry


QUOTED = "quote a class whose name holds an equals sign: recall['a=b']."
HOW = "write for example recall[spam, sex=f], or recall[sex=f] for the positive class."
MOST = 2
SHOWN = 60


@dataclass(frozen=True, slots=True)
class SliceTerm:
    """Which columns must have which values, as they were written."""

    columns: tuple[str, ...] = ()
    values: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.columns)

    @property
    def text(self) -> str:
        """The slice as it is written inside the brackets."""
        pairs = zip(self.columns, self.values, strict=True)
        return ", ".join(f"{shorten(visible(c), SHOWN)}={shorten(visible(v), SHOWN)}" for c, v in pairs)


def read_slice_term(name: str) -> tuple[str, SliceTerm]:
    """The quantity without its slice, and the slice.

    >>> read_slice_term("recall[spam, sex=f]")
    ('recall[spam]', SliceTerm(columns=('sex',), values=('f',)))
    >>> read_slice_term("macro f1[region = 'north, east']")
    ('macro f1', SliceTerm(columns=('region',), values=('north, east',)))
    """
    measure, bracket, inside = name.rstrip().partition("[")
    if not bracket or not inside.endswith("]"):
        return name, SliceTerm()
    rest: list[str] = []
    pairs: list[tuple[str, str]] = []
    for part in split_outside_quotes(inside[:-1], ","):
        condition = _read_condition(part)
        if condition is None:
            rest.append(part)
            continue
        column, value = condition
        if not value:
            raise OptionError(f"{part.strip()!r} in {shorten(name, SHOWN)!r} names no value of the column.", hint=HOW)
        pairs.append((_unquoted(column), _unquoted(value)))
    if not pairs:
        return name, SliceTerm()
    columns = tuple(column for column, _ in pairs)
    if len(pairs) > MOST or len(set(columns)) < len(columns):
        what = f"{len(pairs)} columns" if len(pairs) > MOST else f"{columns[0]!r} twice"
        raise OptionError(
            f"{shorten(name, SHOWN)!r} names {what}, and a slice has one column, or two different ones.", hint=HOW
        )
    class_ = ",".join(rest).strip()
    quantity = f"{measure}[{class_}]" if class_ else measure.strip()
    return quantity, SliceTerm(columns, tuple(value for _, value in pairs))


def _read_condition(part: str) -> tuple[str, str] | None:
    """The column and the value of `column=value`, either of them in quotes or not; None where it is no condition."""
    text = part.strip()
    end = text.find(text[0], 1) + 1 if text[:1] in ("'", '"') else text.find("=")
    column, rest = text[: max(end, 0)].rstrip(), text[max(end, 0) :].lstrip()
    quoted = column[:1] in ("'", '"')
    if not rest.startswith("=") or not column.strip("'\"") or (not quoted and set(column) & set("<>!'\"")):
        return None
    return column, rest[1:].removeprefix("=").strip()


def _unquoted(text: str) -> str:
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text


def slices_to_read(terms: Iterable[SliceTerm], asked: Any) -> Any:
    """The slice columns that must be read: those that were asked for, and those of the requirements."""
    wanted = list(dict.fromkeys(column for term in terms for column in term.columns))
    if not wanted or isinstance(asked, dict) or asked == "all":
        return asked
    given = [asked] if isinstance(asked, str | int) else list(asked or [])
    return list(dict.fromkeys([*given, *wanted]))


@dataclass(frozen=True)
class SlicedQuantity:
    """A quantity among the cases of one slice."""

    evaluation: Evaluation
    quantity: Quantity
    term: SliceTerm

    def estimate(self, level: float, *, one_sided: bool) -> Estimate:
        """The estimate on the cases of the slice."""
        columns, places = self._slice
        return self._search.single(self.quantity, columns, places, level, one_sided=one_sided)

    @cached_property
    def _search(self) -> SliceSearch:
        return SliceSearch(self.evaluation)

    @cached_property
    def _slice(self) -> tuple[tuple[Divided, ...], tuple[int, ...]]:
        dividing = self.evaluation.slice_columns
        if not dividing:
            raise OptionError(
                f"[{self.term.text}] names a slice, and no columns divide these cases.",
                hint=f"give the rows in a file or a data frame, or slices={{'{self.term.columns[0]}': values}}.",
            )
        columns = tuple(choose_columns(dividing, [name])[0] for name in self.term.columns)
        pairs = zip(columns, self.term.values, strict=True)
        return columns, tuple(_place(column.labels, value, column.name) for column, value in pairs)


def _place(labels: Sequence[str], value: str, column: str) -> int:
    """Where a value is among the slices of a column: as written, or in another case where that leaves no doubt."""
    if value in labels:
        return labels.index(value)
    folded = [at for at, label in enumerate(labels) if label.casefold() == value.casefold()]
    if len(folded) == 1:
        return folded[0]
    near = closest(value, labels)
    raise OptionError(
        f"The column {shorten(visible(column), SHOWN)!r} has no slice {shorten(visible(value), SHOWN)!r}. "
        f"It has: {listing([shorten(visible(label), SHOWN) for label in labels], most=12)}.",
        hint=f"did you mean {near!r}?" if near else "use one of these.",
    )


def explain_unknown_column(error: ColumnError, terms: Iterable[SliceTerm]) -> ColumnError:
    """The error of a column that is not there, with what to do if it was meant to be a class."""
    named = any(repr(column) in error.what for term in terms for column in term.columns)
    return ColumnError(error.what, hint=f"{error.hint.rstrip('.')}; or {QUOTED}") if named else error


# Each with the findings it forbids: whoever minds what is good to know also minds what must be acted on.
SEVERITIES: dict[str, tuple[str, ...]] = {"act": ("act",), "know": ("act", "know")}
WORDS = {"act": "finding to act on", "know": "finding"}


def check_forbidden(forbid: str | Iterable[str], ignore: Sequence[str] = ()) -> tuple[str, ...]:
    """The codes and severities that are forbidden, refused where there is no such thing.

    >>> check_forbidden(["H001", "ACT"])
    ('H001', 'act')
    """
    asked = [forbid] if isinstance(forbid, str) else list(forbid)
    return tuple(dict.fromkeys(_resolve_forbidden(text, ignore) for text in asked))


def _resolve_forbidden(asked: Any, ignore: Sequence[str]) -> str:
    word = str(asked).strip().casefold()
    if word in SEVERITIES:
        return word
    if not word.startswith("h") and (near := closest(word, SEVERITIES)):
        raise OptionError(f"There are no findings {str(asked)!r} to forbid.", hint=f"did you mean {near!r}?")
    try:
        rule = find_rule(asked)
    except OptionError as error:
        raise OptionError(error.what, hint=f"{error.hint} Or forbid 'act' or 'know'.") from None
    if rule.about != "evaluation":
        codes = [code for code, other in RULE_CATALOGUE.items() if other.about == "evaluation"]
        raise OptionError(
            f"{rule.code} is a rule about a {rule.about}, and a gate looks at an evaluation.",
            hint=f"forbid one of: {listing(codes, most=40)}.",
        )
    if rule.code in ignore:
        raise OptionError(f"{rule.code} is ignored and forbidden at once.", hint="leave out one of the two.")
    return rule.code


def forbidden(evaluation: Evaluation, forbid: Sequence[str], *, unchecked_fails: bool = True) -> list[Requirement]:
    """A requirement for each that is forbidden: failed where it was found; of a severity, one for each finding.

    A code that does not apply was not checked, which is no assurance: it is undecided, and fails where
    `unchecked_fails`.
    """
    requirements: list[Requirement] = []
    for asked in forbid:
        if asked not in SEVERITIES:
            requirements.append(_require_absent(evaluation.review[asked], unchecked_fails=unchecked_fails))
            continue
        fired = [finding for finding in evaluation.findings if finding.severity in SEVERITIES[asked]]
        requirements += [
            _require_absent(finding, unchecked_fails=unchecked_fails) for finding in fired if finding.code not in forbid
        ]
        if not fired:
            seen = sum(finding.outcome == "passed" for finding in evaluation.review.findings)
            rules = "The 1 rule that applies has not" if seen == 1 else f"None of the {seen} rules that apply has"
            why = f"{rules} found anything of the kind."
            requirements.append(Requirement(f"no {WORDS[asked]}", "passed", fails=False, why=why))
    # A finding that is forbidden by two severities is listed once.
    return list({requirement.text: requirement for requirement in requirements}.values())


def _require_absent(finding: Finding, *, unchecked_fails: bool) -> Requirement:
    text = f"no {finding.code}"
    if finding.outcome == "fired":
        why = f"{finding.title} {finding.advice}".strip()
        return Requirement(text, "failed", fails=True, why=why, finding=finding)
    if finding.outcome == "not applicable":
        why = _ended(f"Not checked: {finding.title}")
        return Requirement(text, "undecided", fails=unchecked_fails, why=why, finding=finding)
    return Requirement(text, "passed", fails=False, why=_ended(finding.title), finding=finding)


def _ended(sentence: str) -> str:
    return sentence if sentence.endswith((".", "!", "?")) else f"{sentence}."
