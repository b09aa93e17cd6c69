"""Opening what the user named: the unpacked bytes of a file or of standard input, or why there are none."""

from __future__ import annotations

import gzip
import io
import re
import sys
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heldout.arguments import closest
from heldout.errors import FileError, HeldoutError

# One message for a fault that several functions can find.
READ_ACCESS = "ask its owner for read access, or change it with chmod u+r."
WRITE_TO_THE_END = "check that whatever writes it has finished; a header and at least one row are needed."
NOTHING_SET = "check that whatever writes it has finished; TOML has lines such as name = value."
CHECK_GZIP = "copy or download it again, and check it with gzip -t."
# Which of the many 8-bit codes a text is in its bytes do not tell, and a wrong one makes other labels of it.
SAVE_AS_UTF8 = "save it as UTF-8: in Excel as CSV UTF-8, elsewhere for example with iconv -f {} -t UTF-8."
WRITE_AGAIN = "write or copy it again, best as UTF-8."
MEND_LINK = "remove the link, or bring back what it points to."


GZIP_MAGIC = b"\x1f\x8b"
BOM = b"\xef\xbb\xbf"

STANDARD_INPUT = "-"
# Long enough for any header line met in practice, short enough to be read at once.
HEAD_BYTES = 1 << 20
LONGEST_LINE = 1 << 26
_UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True)
class Content:
    """The unpacked bytes of a file, the name to use for it in messages, and its ending without `.gz`.

    Of a file that is read in its place there is the path instead of the bytes.
    """

    name: str
    ending: str
    data: bytes = b""
    path: Path | None = None

    def source(self) -> Path | io.BytesIO:
        """What Polars reads it from."""
        return io.BytesIO(self.data) if self.path is None else self.path.resolve()


def load(path: str | Path) -> Content:
    """Read all bytes of `path` (`-` is standard input), unpacked where they are gzip-compressed, UTF-16 as UTF-8."""
    if str(path) == STANDARD_INPUT:
        if sys.stdin is None:
            raise FileError("There is no standard input.", hint="name a file instead of -.")
        raw = sys.stdin.buffer.read()
        name, ending = "Standard input", ""
    else:
        file = existing_file(path)
        name, ending = str(path), inner_ending(file)
        try:
            raw = file.read_bytes()
        except OSError as error:
            raise _unreadable(name, error) from None
    _refuse_empty(name, raw)
    data = _recoded(name, _unpacked(name, raw, expected=str(path).lower().endswith(".gz")))
    _refuse_empty(name, data)
    return Content(name, ending, data)


def load_head(path: str | Path, size: int) -> Content:
    """Read about the first `size` unpacked bytes of a regular file."""
    file_path = existing_file(path)
    name = str(path)
    try:
        with file_path.open("rb") as file:
            raw = file.read(size)
    except OSError as error:
        raise _unreadable(name, error) from None
    _refuse_empty(name, raw)
    if raw.startswith(GZIP_MAGIC):
        try:
            with gzip.open(file_path, "rb") as packed:
                raw = packed.read(size)
        except (OSError, EOFError, zlib.error) as error:
            raise _broken_gzip(name, error) from None
    elif name.lower().endswith(".gz"):
        raise _not_gzip(name)
    _refuse_empty(name, raw)
    if raw.startswith(_UTF16_BOMS):
        # Of what is cut anywhere nobody knows where its first line ends in UTF-8.
        raw = load(path).data[:size]
    return Content(name, inner_ending(file_path), raw)


def load_first_lines(path: str | Path) -> Content:
    """The first bytes of a regular file, more of them where its first line is longer; not its last, cut-off line."""
    size = HEAD_BYTES
    head = load_head(path, size)
    while len(head.data) >= size and b"\n" not in head.data.lstrip(b"\r\n") and b"\r" not in head.data.strip(b"\r\n"):
        if size >= LONGEST_LINE:
            raise FileError(
                f"The first line of {head.name} is longer than {LONGEST_LINE >> 20} MiB.",
                hint="check that it holds the names of the columns, and that lines end where rows do.",
            )
        size *= 4
        head = load_head(path, size)
    return cut_at_line(head)


def cut_at_line(head: Content) -> Content:
    """The first bytes of a file without their last, cut-off line, which may end in the middle of a character."""
    if len(head.data) < HEAD_BYTES:
        return head
    cut = head.data.rfind(b"\n") + 1
    return Content(head.name, head.ending, head.data[:cut]) if cut else head


def existing_file(path: str | Path) -> Path:
    """Return `path` when it names something that can be read as a file, and say what is wrong otherwise."""
    if not str(path):
        raise FileError("The name of the file is empty.", hint="give the path of a file.")
    file = Path(path)
    try:
        is_folder, exists = file.is_dir(), file.exists()
    except (OSError, ValueError):
        # A name that is too long or holds a zero byte cannot name a file.
        is_folder, exists = False, False
    if is_folder:
        raise FileError(f"{path} is a folder, not a file.", hint="give the path of one file inside it.")
    if not exists:
        _refuse_dead_link(file)
        raise FileError(f"There is no file {path}.", hint=_near_name(file))
    return file


def _refuse_dead_link(path: Path) -> None:
    """Refuse a link that leads to no file, also one that leads to itself."""
    try:
        to = path.readlink()
    except (OSError, ValueError):
        return
    raise FileError(
        f"{path} is a link to {to}, and there is no file behind it.",
        hint=MEND_LINK,
    )


def inner_ending(path: Path) -> str:
    """The ending that tells the format, in lower case and without a trailing `.gz`.

    >>> inner_ending(Path("Scores.CSV.gz"))
    '.csv'
    """
    name = path.name.lower().removesuffix(".gz")
    return Path(name).suffix


# What pickles of the protocols 2 to 5 begin with; no text has such a byte first.
_PICKLES = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")


def utf8_text(content: Content) -> bytes:
    """The bytes of a text file without their byte-order mark, once they are known to be UTF-8."""
    data = content.data
    if data.startswith(_PICKLES):
        raise FileError(
            f"{content.name} is a pickle of Python, which can run code when it is opened, so it is not read.",
            hint="open it where it was made, and save a CSV or Parquet file of its columns.",
        )
    if data.startswith(_UTF16_BOMS) or b"\x00" in data[:4096]:
        raise FileError(
            f"{content.name} is not UTF-8 text: it is UTF-16 or binary, to judge by its first bytes.",
            hint=SAVE_AS_UTF8.format("UTF-16"),
        )
    data = data.removeprefix(BOM)
    if not data.isascii():
        try:
            data.decode("utf-8")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            offset = error.start + len(content.data) - len(data)
            raise FileError(
                f"{content.name} is not UTF-8 text: byte 0x{data[error.start]:02x} at offset {offset} "
                f"(line {line}) does not belong to any character.",
                hint=SAVE_AS_UTF8.format("WINDOWS-1252"),
            ) from None
    if not data or data.isspace():
        raise _empty(content.name)
    return data


# As deep as Python's own limit of recursion lets tables be nested.
MOST_PARTS = 1000
# What no key of several parts goes on behind, in a table's header, an inline table or a line.
KEY_ENDS = re.compile(r"[=,{}\[\]\n]")


def parse_toml(text: str, name: str, hint: str, kind: type[HeldoutError] = FileError) -> dict[str, Any]:
    """The tables of a TOML document, or the error that says why it is none.

    >>> parse_toml("a = [1, 2]", "x.toml", "")
    {'a': [1, 2]}
    """
    import tomllib

    deep = kind(f"{name} is nested too deeply.", hint=hint)
    # The time that a key of many parts takes grows with the square of their number.
    if any(part.count(".") > MOST_PARTS for part in KEY_ENDS.split(text)):
        raise deep
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise deep from None
    except tomllib.TOMLDecodeError as error:
        raise kind(f"{name} is not TOML: {error}.", hint=hint) from None
    except ValueError:
        # Python's limit on turning digits into integers, against texts that take hours to convert.
        raise kind(f"{name} holds a number with too many digits.", hint=hint) from None


def _unpacked(name: str, raw: bytes, *, expected: bool) -> bytes:
    if not raw.startswith(GZIP_MAGIC):
        if expected:
            raise _not_gzip(name)
        return raw
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(raw)) as packed:
            return packed.read()
    except (OSError, EOFError, zlib.error) as error:
        raise _broken_gzip(name, error) from None


def _recoded(name: str, data: bytes) -> bytes:
    """Text that says in its first bytes that it is UTF-16, as Excel's "Unicode text" does, in UTF-8."""
    if not data.startswith(_UTF16_BOMS):
        return data
    try:
        return data.decode("utf-16").encode("utf-8")
    except UnicodeError:
        raise FileError(f"{name} begins as UTF-16 text does and is none.", hint=WRITE_AGAIN) from None


def _refuse_empty(name: str, data: bytes) -> None:
    if not data:
        raise _empty(name)


def _empty(name: str) -> FileError:
    return FileError(
        f"{name} is empty.",
        # What is set in TOML stands in no rows.
        hint=NOTHING_SET if name.lower().endswith(".toml") else WRITE_TO_THE_END,
    )


def _not_gzip(name: str) -> FileError:
    return FileError(
        f"{name} ends in .gz but is not gzip-compressed: its first bytes are not 1f 8b.",
        hint="drop .gz from its name if it is plain, or compress it with gzip.",
    )


def _broken_gzip(name: str, error: Exception) -> FileError:
    if isinstance(error, PermissionError):
        return _unreadable(name, error)
    how = "ends too early" if isinstance(error, EOFError) else f"cannot be unpacked ({error})"
    return FileError(
        f"{name} is gzip-compressed but {how}.",
        hint=CHECK_GZIP,
    )


def _unreadable(name: str, error: OSError) -> FileError:
    if isinstance(error, PermissionError):
        return no_permission(name)
    return FileError(
        f"{name} cannot be read: {error.strerror or error}.",
        hint="check the disk or the connection that the file is on.",
    )


def no_permission(name: str) -> FileError:
    """The error for a file that may not be read."""
    return FileError(f"{name} cannot be opened: no permission to read it.", hint=READ_ACCESS)


def _near_name(path: Path) -> str:
    try:
        beside = [entry.name for entry in path.parent.iterdir() if entry.name != path.name]
    except (OSError, ValueError):
        return f"check the path; the folder {path.parent} cannot be opened either."
    # A file of another kind than the one that was named is no table either.
    from heldout.files.formats import known_endings

    kinds = {*known_endings(), inner_ending(path)}
    near = closest(path.name, [name for name in beside if inner_ending(Path(name)) in kinds])
    # An ending that most files of the folder share says nothing.
    near = near if near and closest(path.stem, [Path(near).stem]) else None
    return f"did you mean {path.with_name(near)}?" if near else "check the path and the current folder."
