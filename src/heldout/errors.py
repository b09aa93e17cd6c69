"""Every error that heldout raises on purpose.

    HeldoutError (a ValueError)
    ├── FileError       a file cannot be opened or understood
    ├── ColumnError     a column is missing, ambiguous or of the wrong kind
    ├── LabelError      class labels that cannot be used or matched
    ├── ValuesError     weights, scores or other values that cannot be used
    ├── MatrixError     a confusion or cost matrix that cannot be used
    ├── LearnerError    a learner that failed, or gave answers that cannot be used
    ├── GateError       a requirement that was not met (an AssertionError too)
    └── OptionError     a measure, method, level or other option that does not exist or does not fit
        └── ArgumentError   an argument that a function does not have, or has under another name (also a TypeError)

Each holds two sentences: what is wrong (`what`) and what to do about it (`hint`).
"""

from __future__ import annotations

import re

__all__ = [
    "ArgumentError",
    "ColumnError",
    "FileError",
    "GateError",
    "HeldoutError",
    "LabelError",
    "LearnerError",
    "MatrixError",
    "OptionError",
    "ValuesError",
]

# A longer word is a number or a text from outside, which is cut: nobody reads it to the end.
_LONG_WORD, _KEPT = re.compile(r"\S{201,}"), 60


class HeldoutError(ValueError):
    """The input or the call is wrong, and this says how to fix it.

    >>> print(OptionError("There is no measure 'acuracy'.", hint="use 'accuracy'."))
    There is no measure 'acuracy'.
    Hint: use 'accuracy'.
    """

    def __init__(self, what: str, *, hint: str) -> None:
        what, hint = shorten_words(what), shorten_words(hint)
        super().__init__(what)
        self.what = what
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.what}\nHint: {self.hint}"

    def __reduce__(self) -> tuple[object, ...]:
        # The default rebuilds from args alone and would lose the keyword-only hint in a worker process.
        return _rebuild, (type(self), self.what, self.hint)


class FileError(HeldoutError):
    """A file cannot be opened or understood.

    >>> import heldout
    >>> heldout.evaluate("nowhere.csv")
    Traceback (most recent call last):
    heldout.errors.FileError: There is no file nowhere.csv.
    ...
    """


class ColumnError(HeldoutError):
    """A column is missing, ambiguous or of the wrong kind.

    >>> import heldout
    >>> heldout.evaluate({"truth": [0, 1]}, predicted="answer")
    Traceback (most recent call last):
    heldout.errors.ColumnError: The dictionary has no column 'answer'. It has: truth.
    ...
    """


class LabelError(HeldoutError):
    """Class labels that cannot be used or matched.

    >>> import heldout
    >>> heldout.evaluate([0, 1], [0, 1], positive=2)
    Traceback (most recent call last):
    heldout.errors.LabelError: The positive class 2 is not among the labels: 0, 1.
    ...
    """


class ValuesError(HeldoutError):
    """Weights, scores or other values that cannot be used.

    >>> import heldout
    >>> heldout.evaluate([0, 1], [0, 1], weight=[1, -1])
    Traceback (most recent call last):
    heldout.errors.ValuesError: Weights must be finite and not negative. Row 2 has -1.
    ...
    """


class MatrixError(HeldoutError):
    """A confusion or cost matrix that cannot be used.

    >>> import heldout
    >>> heldout.evaluate(matrix=[[3, -1], [0, 2]])
    Traceback (most recent call last):
    heldout.errors.MatrixError: The entry in row 1, column 2 of the matrix is -1, which is negative.
    ...
    """


class LearnerError(HeldoutError):
    """A learner that failed, or gave answers that cannot be used.

    >>> import heldout
    >>> heldout.validate("knn:5", [[0.1], [0.2]] * 2, [0, 1] * 2, plan="2-fold")
    Traceback (most recent call last):
    heldout.errors.LearnerError: KNeighborsClassifier failed in fold 1 of 2-fold: ...
    ...
    """


class GateError(HeldoutError, AssertionError):
    """A requirement that was not met, or not beyond chance; test runners show it as a failed assertion.

    >>> import heldout
    >>> heldout.assert_at_least(heldout.evaluate([0, 1], [0, 1])["accuracy"], 0.9)
    Traceback (most recent call last):
    heldout.errors.GateError: accuracy >= 0.9 is not shown. accuracy 1.000 meets it, but not beyond chance: ...
    ...
    """


class OptionError(HeldoutError):
    """A measure, method, level or other option that does not exist or does not fit.

    >>> import heldout
    >>> heldout.evaluate([0, 1], [0, 1])["acuracy"]
    Traceback (most recent call last):
    heldout.errors.OptionError: There is no measure 'acuracy'.
    ...
    """


class ArgumentError(OptionError, TypeError):
    """An argument that a function does not have, or that was given twice; a TypeError as Python's own is.

    >>> import heldout
    >>> heldout.evaluate([0, 1], [0, 1], tresh=0.4)
    Traceback (most recent call last):
    heldout.errors.ArgumentError: evaluate() has no argument 'tresh'.
    ...
    """


def shorten_words(text: str) -> str:
    """A sentence in which of very long words, such as numbers of 4,000 digits, the beginning is left.

    >>> shorten_words(f"Got {'9' * 4000}.")
    'Got 999999999999999999999999999999999999999999999999999999999999… (4,000 characters).'
    """

    def shorten(word: re.Match[str]) -> str:
        inside = word[0].rstrip(".,;:")
        return f"{inside[:_KEPT]}… ({len(inside):,} characters){word[0][len(inside) :]}"

    return _LONG_WORD.sub(shorten, text)


def _rebuild(kind: type[HeldoutError], what: str, hint: str) -> HeldoutError:
    return kind(what, hint=hint)


def first_line(error: BaseException) -> str:
    r"""The kind of an error and the first line of what it says, without a full stop.

    >>> first_line(ValueError("too small.\nMuch too small."))
    'ValueError: too small'
    """
    text = str(error).strip().partition("\n")[0].rstrip(". ")
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
