"""The questions about a model that only a person can answer, and the answers as far as there are any."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from heldout.arguments import listing, suggest
from heldout.errors import FileError, OptionError

UNANSWERED = "unanswered"
FILE_HINT = 'write one line for each answer, such as intended_use = "Whom to call first.".'


@dataclass(frozen=True, slots=True)
class Question:
    """One thing to be said by a person: the name of its field, and the question in words."""

    name: str
    text: str


# What no figure can say of a model. Mitchell et al. (2019), "Model cards for model reporting", and Gebru et al. (2021),
# "Datasheets for datasets", ask for much the same; the words here are ours.
QUESTIONS = (
    Question("intended_use", "What decision is it for, who makes that decision, and what happens next?"),
    Question("out_of_scope_use", "For which people, places or purposes must it not be used?"),
    Question("affected_people", "Who bears the consequence when it is wrong, and were they asked?"),
    Question("costs_of_errors", "What does each kind of error cost, and to whom?"),
    Question("current_practice", "What is done today without it, and how well does that work?"),
    Question("data_origin", "Where do the cases come from, and whom or what do they leave out?"),
    Question("labels", "Who decided the true class of each case, by what rule, and how often would two of them agree?"),
    Question("consent", "May the data be used for this, and did those whom they describe agree?"),
    Question("sensitive_features", "Which features stand for, or stand in for, what must not decide?"),
    Question("human_oversight", "Who may overrule an answer, on what grounds, and is there time to?"),
    Question("explanation_owed", "What must a person who is refused be told, and can this model tell it?"),
    Question("monitoring", "How will it be noticed that it got worse, who looks, and who switches it off?"),
    Question("legal_and_ethical_review", "Which laws and rules apply, who checked, and when?"),
    Question("responsible", "Who answers for the model, and how can that person be reached?"),
)
NAMES = tuple(question.name for question in QUESTIONS)


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers, one place for each question; None where nobody answered.

    >>> Answers().given(intended_use="Whom to call first.").unanswered[0]
    'out_of_scope_use'
    """

    texts: tuple[str | None, ...] = (None,) * len(QUESTIONS)

    def given(self, **answers: str | None) -> Answers:
        """The same with these answers added or replaced; None or an empty text takes one back."""
        texts = dict(zip(NAMES, self.texts, strict=True))
        for name, answer in answers.items():
            _check_answer(name, answer)
            texts[name] = (answer or "").strip() or None
        return replace(self, texts=tuple(texts.values()))

    @property
    def unanswered(self) -> tuple[str, ...]:
        """The names of the questions that nobody answered."""
        return tuple(name for name, text in zip(NAMES, self.texts, strict=True) if text is None)

    def pairs(self) -> list[tuple[Question, str | None]]:
        """Every question with its answer."""
        return list(zip(QUESTIONS, self.texts, strict=True))

    def document(self) -> list[dict[str, object]]:
        """Every question as it stands in a JSON document."""
        return [
            {"name": question.name, "question": question.text, "answer": answer, "answered": answer is not None}
            for question, answer in self.pairs()
        ]


def _check_answer(name: str, answer: object) -> None:
    if name not in NAMES:
        raise OptionError(
            f"There is no question {name!r}. There are: {listing(NAMES, most=20)}.",
            hint=suggest(name, NAMES, "use one of these names."),
        )
    if answer is not None and not isinstance(answer, str):
        raise OptionError(
            f"The answer to {name!r} must be a text. Got {type(answer).__name__}.",
            hint=f'write it in quotes: {name} = "…".',
        )


def read_answers(given: Any) -> Answers:
    """Answers from a mapping of names to texts, or from a TOML file with one line for each.

    >>> read_answers({"labels": "Two nurses."}).texts[6]
    'Two nurses.'
    """
    if given is None:
        return Answers()
    if isinstance(given, Answers):
        return given
    if isinstance(given, str | Path):
        return _read_file(given)
    if isinstance(given, Mapping):
        return Answers().given(**{str(name): answer for name, answer in given.items()})
    raise OptionError(
        f"The answers must be a dictionary or the name of a TOML file. Got {type(given).__name__}.",
        hint="for example answers={'intended_use': 'Whom to call first.'}.",
    )


def _read_file(path: str | Path) -> Answers:
    from heldout.files.input_stream import load, parse_toml, utf8_text

    content = load(path)
    document = parse_toml(utf8_text(content).decode("utf-8"), content.name, FILE_HINT)
    table = document.pop("answers", {})
    if not isinstance(table, dict):
        raise FileError(f"{content.name} has something else than a table under [answers].", hint=FILE_HINT)
    try:
        return Answers().given(**(document | table))
    except OptionError as error:
        raise FileError(f"{content.name} cannot be used. {error.what}", hint=error.hint) from None


def questionnaire(answers: Answers | None = None) -> str:
    """An answers file to be filled in by hand, in TOML, with the answers that there are.

    >>> print(questionnaire().splitlines()[3])
    # What decision is it for, who makes that decision, and what happens next?
    """
    lines = ["# Answers for a heldout card. An empty answer is shown as unanswered.", "", "[answers]"]
    for question, answer in (answers or Answers()).pairs():
        lines += [f"# {question.text}", f"{question.name} = {_quoted(answer or '')}", ""]
    return "\n".join(lines).rstrip() + "\n"


def _quoted(text: str) -> str:
    """A basic string of TOML, on one line."""
    short = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
    spelled = (short.get(c, c if c >= " " and c != "\x7f" else f"\\u{ord(c):04x}") for c in text)
    return f'"{"".join(spelled)}"'


def list_names(names: Iterable[str]) -> str:
    """Names of questions as a reader would say them.

    >>> list_names(["intended_use", "labels"])
    'intended use, labels'
    """
    return listing((name.replace("_", " ") for name in names), most=len(NAMES))
