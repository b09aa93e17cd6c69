"""The name that a client gives its file: shown, and never used as a path."""

from __future__ import annotations

import re
from pathlib import Path

from heldout.files.opening import inner_ending
from heldout.files.sniff import KIND_BY_ENDING
from heldout.show.printable import visible

LONGEST = 80
NAMELESS = "unnamed file"


def shown_name(given: str) -> str:
    r"""The last part of a name, on one line and not longer than a reader reads.

    >>> shown_name("../../etc/passwd"), shown_name("C:\\x\\churn.csv"), shown_name("a\x00b.csv")
    ('passwd', 'churn.csv', 'a\\x00b.csv')
    """
    last = re.split(r"[/\\]", given.strip())[-1].strip()
    return shortened(visible(last)) or NAMELESS


def shortened(text: str, most: int = LONGEST) -> str:
    """The text without its middle where it is longer than `most`.

    >>> shortened("a" * 100, 9)
    'aaaa…aaaa'
    """
    half = (most - 1) // 2
    return text if len(text) <= most else f"{text[:half]}…{text[-half:]}"


def safe_ending(given: str) -> str:
    """The part of a name that says what the file holds, if it is one that we know; nothing else of it is kept.

    >>> safe_ending("Churn.CSV.gz"), safe_ending("../x.parquet"), safe_ending("x.csv/../../y")
    ('.csv', '.parquet', '')
    """
    ending = inner_ending(Path(re.split(r"[/\\]", given.strip())[-1] or "x"))
    return next((known for known in KIND_BY_ENDING if known == ending), "")


def download_name(*shown: str) -> str:
    """A name for a download, in letters that every system takes.

    >>> download_name("Umsatz <2024>.csv", "b.parquet")
    'Umsatz-2024-and-b'
    """
    stems = [re.sub(r"[^A-Za-z0-9]+", "-", name.partition(".")[0]).strip("-")[:40] for name in shown]
    return "-and-".join(stem for stem in stems if stem) or "report"
