"""Where an answer goes: the terminal, and files in other forms."""

from __future__ import annotations

import codecs
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from heldout.arguments import closest
from heldout.cli.progress import hush, keep_to_readings
from heldout.errors import FileError, HeldoutError, OptionError

if TYPE_CHECKING:
    from heldout.result import Result
    from heldout.show.blocks import Block


class Nearest:
    """What stands for a character that a terminal's encoding lacks: one of the same width."""

    NAME = "heldout.nearest"
    LOOKS_LIKE = str.maketrans("–—−·…●├┤┊─│×≤≥‘’“”▏▎▍▌▋▊▉█░▒▓", "---.~*||:-|x<>''\"\"||||####.:#")

    @classmethod
    def install(cls) -> None:
        """Let standard output replace what it cannot show, instead of failing."""
        codecs.register_error(cls.NAME, cls.replace)
        reconfigure = getattr(sys.stdout, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors=cls.NAME)

    @classmethod
    def replace(cls, error: UnicodeError) -> tuple[str, int]:
        """Python's protocol: the replacement, and where to go on."""
        if not isinstance(error, UnicodeEncodeError):
            raise error
        shown = error.object[error.start : error.end].translate(cls.LOOKS_LIKE)
        return shown.encode("ascii", "replace").decode("ascii"), error.end


@contextmanager
def standard_output() -> Iterator[TextIO]:
    """Standard output, flushed at the end; a reader that has gone (head, less) is no error."""
    hush()
    if sys.stdout is None:
        raise FileError("Standard output is closed.", hint="leave it open, or write to a file with --json FILE.")
    try:
        yield sys.stdout
        sys.stdout.flush()
    except BrokenPipeError:
        end_quietly()
    except OSError as error:
        end_quietly()
        raise FileError(
            f"Standard output cannot be written: {error.strerror or error}.",
            hint="check where it goes to, such as the disk of that file.",
        ) from None


@contextmanager
def learners_may_print() -> Iterator[None]:
    """Send what a learner prints, here or in a worker, to standard error: standard output is for the answer."""
    with keep_to_readings(), _sent_elsewhere():
        yield


@contextmanager
def _sent_elsewhere() -> Iterator[None]:
    if sys.stdout is None or sys.stderr is None:
        yield
        return
    try:
        out, err = sys.stdout.fileno(), sys.stderr.fileno()
    except (OSError, ValueError):
        # Under a test runner, or where there is no real file behind.
        with redirect_stdout(sys.stderr):
            yield
        return
    sys.stdout.flush()
    saved = os.dup(out)
    try:
        os.dup2(err, out)
        with redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(saved, out)
        os.close(saved)


def end_quietly() -> None:
    """Let Python find nothing to complain of when it closes standard output."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def tell(text: str) -> None:
    """Write a line to standard error, if anybody holds it open."""
    hush()
    if sys.stderr is not None:
        with suppress(OSError):
            sys.stderr.write(f"{text}\n")


def print_document(text: str) -> None:
    """Write a document to standard output: in UTF-8, as its file would be, unless a person is looking."""
    with standard_output() as output:
        buffer = getattr(output, "buffer", None)
        if buffer is None or output.isatty():
            output.write(text)
        else:
            output.flush()
            buffer.write(as_bytes(text))


def as_bytes(text: str) -> bytes:
    """UTF-8, with half a surrogate pair, which has no form there, spelled out."""
    return text.encode("utf-8", "backslashreplace")


def write_files(files: dict[str, tuple[str, str]]) -> None:
    """Write the text of each option to its path: all of them, or none."""
    from heldout.atomic_write import write_together

    write_together((f"--{option} cannot write {path}", path, as_bytes(text)) for option, (path, text) in files.items())


OWN_NAME = "give each file its own name."
# Options whose values may name files that are read.
READ_OPTIONS = ("costs", "matrix")
STANDARD_OUTPUT = "-"
LAYOUTS = ("heldout", "weka")
FORMS = ("json", "html", "markdown", "latex")
# What -o FILE asks for by its ending: one of the forms, or what a result writes or draws by itself.
FORM_OF_ENDING = {".json": "json", ".html": "html", ".md": "markdown", ".tex": "latex"}
# The most bytes that GitHub allows in the summary of a step.
SUMMARY = 1 << 20


@dataclass(frozen=True, slots=True)
class Outputs:
    """The forms asked for: a path each, or - for standard output."""

    json: str | None = None
    html: str | None = None
    markdown: str | None = None
    latex: str | None = None
    layout: str | None = None
    full: bool = False
    chosen: bool = False
    predictions: str | None = None
    # The files of -o that are none of these forms, and the forms that others of its files are.
    others: tuple[str, ...] = ()
    by_ending: tuple[str, ...] = ()

    @classmethod
    def gather(cls, output: Sequence[str] = (), **given: Any) -> Outputs:
        """The outputs of a command line: each file of -o is what its ending says.

        >>> Outputs.gather(["report.html", "figures.csv"], json="-").forms()
        {'json': '-', 'html': 'report.html'}
        """
        others: list[str] = []
        by_ending: list[str] = []
        for path in output:
            form = FORM_OF_ENDING.get(Path(path).suffix.lower())
            if form is None:
                others.append(path)
            elif given.get(form) is not None:
                raise OptionError(
                    f"Two files were named for one form, {form}: {given[form]} and {path}.", hint="name one of them."
                )
            else:
                given[form] = path
                by_ending.append(form)
        return cls(**given, others=tuple(others), by_ending=tuple(by_ending))

    def take(self, ending: str) -> tuple[Outputs, list[str]]:
        """The outputs without the files of -o that have this ending, and these; a command writes them itself."""
        taken = [path for path in self.others if Path(path).suffix.lower() == ending]
        return replace(self, others=tuple(path for path in self.others if path not in taken)), taken

    def forms(self) -> dict[str, str]:
        """Each form that was asked for, with where it goes."""
        named = dict(zip(FORMS, (self.json, self.html, self.markdown, self.latex), strict=True))
        named["predictions"] = self.predictions
        return {form: path for form, path in named.items() if path is not None}

    def check(
        self,
        inputs: Sequence[str | None],
        options: Mapping[str, Any],
        *,
        charts: Sequence[str] = (),
        more: Mapping[str, str | None] | None = None,
    ) -> None:
        """Refuse what cannot work before anything is computed: also what would overwrite another file.

        Of the `options` of the command those count that name files: costs and a matrix are read, a ledger is kept.
        """
        self._check_layout()
        self._check_others()
        forms = self.forms()
        inputs = [*inputs, *(options[name] for name in READ_OPTIONS if isinstance(options.get(name), str))]
        others = {name: path for name, path in {**(more or {}), "ledger": options.get("ledger")}.items() if path}
        on_screen = [f"--{form}" for form, path in forms.items() if path == STANDARD_OUTPUT]
        if len(on_screen) > 1:
            raise OptionError(
                f"Two forms cannot share standard output: {' and '.join(on_screen)}.",
                hint="write one of them to a file.",
            )
        if charts:
            from heldout.show.figure import check_ending

            for path in charts:
                check_ending(path)
        written = [*forms.items(), *others.items(), *(("chart", path) for path in charts)]
        written += [("output", path) for path in self.others]
        old = any(path != STANDARD_OUTPUT and is_file(path) for _, path in written)
        taken = {_identify(file): "the input" for path in inputs if path for file in _input_files(path, inside=old)}
        for form, path in written:
            if path == STANDARD_OUTPUT:
                continue
            if form != "chart":
                check_writable("output" if form in self.by_ending else form, path)
            other = taken.setdefault(_identify(path), f"--{form}")
            twice = form == "output" and self.others.count(path) > 1
            if (other != f"--{form}" or twice) and (other == "the input" or not _is_device(path)):
                raise FileError(f"--{form} would overwrite {other}: both are {path}.", hint=OWN_NAME)

    def _check_others(self) -> None:
        """Refuse files of -o whose ending says nothing."""
        from heldout.result import PICTURES, check_result_ending

        for path in self.others:
            if path == STANDARD_OUTPUT:
                raise OptionError("-o names a file.", hint="--json - writes JSON to standard output.")
            if Path(path).suffix.lower() in PICTURES:
                from heldout.show.figure import check_ending

                check_ending(path)
            else:
                check_result_ending(Path(path), f"-o {path}")

    def _check_layout(self) -> None:
        if self.layout not in (None, *LAYOUTS):
            near = closest(str(self.layout), LAYOUTS)
            form = str(self.layout).strip().casefold()
            hint = f"did you mean --format {near}?" if near else "use one of these with --format."
            if form in FORMS:
                hint = f"--{form} FILE writes it, and --{form} - to standard output; --format is for the terminal."
            raise OptionError(f"There is no layout {self.layout!r}. There are: {', '.join(LAYOUTS)}.", hint=hint)
        unused = "--full" if self.full else "--measure" if self.chosen else ""
        if self.layout == "weka" and unused:
            raise OptionError(
                f"Weka's layout is always the same, so {unused} has no effect on it.",
                hint=f"leave out {unused} or --format weka.",
            )


def _input_files(path: str, *, inside: bool) -> list[str]:
    """The files that are read, those of a folder or a pattern only where `inside` says that they matter."""
    if is_file(path) or not inside:
        return [path] if is_file(path) else []
    from heldout.files.paths import is_address, list_files

    try:
        return [] if is_address(path) else [part.path for part in list_files(path).parts]
    except (HeldoutError, OSError, ValueError):
        return []  # whoever reads it says what is wrong with it


def is_file(path: str) -> bool:
    """Whether a text names a file that is there."""
    try:
        return Path(path).is_file()
    except (OSError, ValueError):
        return False  # no file can have that name, such as the text of a large matrix


def _identify(path: str) -> object:
    """What two names of one file have in common, also through links."""
    try:
        status = Path(path).stat()
    except (OSError, ValueError):
        return os.path.realpath(path)
    return status.st_dev, status.st_ino


def _is_device(path: str) -> bool:
    return Path(path).exists() and not Path(path).is_file()


def check_own_file(flag: str, path: str, taken: Iterable[str | None]) -> None:
    """Refuse to write over another file of the same call."""
    others = [other for other in taken if other not in (None, STANDARD_OUTPUT)]
    if any(os.path.realpath(other) == os.path.realpath(path) for other in others if other):
        raise FileError(f"--{flag} would overwrite another file: {path}.", hint=OWN_NAME)


def check_writable(form: str, name: str) -> None:
    """Refuse a file that could not be written."""
    path = Path(name)
    try:
        why = (
            "the name is empty" if not name else
            "it is a folder" if path.is_dir() else
            f"there is no folder {path.parent}" if not path.absolute().parent.is_dir() else
            ""
        )  # fmt: skip
    except (OSError, ValueError):
        why = "no file can have that name"
    if why:
        raise FileError(
            f"--{form} cannot write {name or repr(name)}: {why}.",
            hint="give the name of a file in a folder that exists, or - for standard output.",
        )


def deliver(result: Result, outputs: Outputs) -> None:
    """Write every form asked for; the report goes to the terminal unless a form took its place."""
    forms = outputs.forms()
    texts = {form: _make_document(result, form, outputs) + "\n" for form in forms}
    files = {form: (path, texts[form]) for form, path in forms.items() if path != STANDARD_OUTPUT}
    from heldout.show.escape import visible

    # Files first: whoever reads standard output may stop reading at any line.
    write_files(files)
    for path in outputs.others:
        result.write(path)
    if STANDARD_OUTPUT in forms.values():
        print_document(next(texts[form] for form, path in forms.items() if path == STANDARD_OUTPUT))
    else:
        _print_report(result, outputs)
    for path in (*(path for path, _ in files.values()), *outputs.others):
        tell(f"Wrote {visible(path)}")


def _make_document(result: Result, form: str, outputs: Outputs) -> str:
    """The answer in a form for others; the page holds everything, the rest what the terminal shows."""
    if form == "json":
        return result.to_json()
    if form == "predictions":
        from heldout.results.validation import Validation

        return result.predictions_csv() if isinstance(result, Validation) else ""
    if form == "html":
        from heldout.show.html import render_page

        return render_page(_make_page(result, chosen=outputs.chosen), title=_find_title(result))
    from heldout.show.latex import render_latex
    from heldout.show.markdown import render_markdown

    blocks = _choose_blocks(result, full=outputs.full, chosen=outputs.chosen)
    return cut_markdown(render_markdown(blocks)) if form == "markdown" else render_latex(blocks)


def _make_page(result: Result, *, chosen: bool) -> list[Block]:
    """The blocks of the page, with the command that made it."""
    from heldout.results.evaluation import Measured

    blocks = result.chosen_page_blocks() if chosen and isinstance(result, Measured) else result.page_blocks()
    return with_command(blocks, _read_command())


def _read_command() -> str:
    """The command line as it was typed, where heldout was started from one."""
    import shlex
    import sys

    started = Path(sys.argv[0] if sys.argv else "")
    name = started.parent.name if started.name == "__main__.py" else started.stem
    return shlex.join(["heldout", *sys.argv[1:]]) if name in ("heldout", "cli") else ""


def with_command(blocks: list[Block], command: str) -> list[Block]:
    """The blocks with the command among the facts of where the page comes from."""
    from heldout.show.blocks import PROVENANCE, Section, Verbatim

    if not command:
        return blocks
    return [
        replace(block, blocks=(*block.blocks, Verbatim(command)))
        if isinstance(block, Section) and block.name == PROVENANCE
        else block
        for block in blocks
    ]


def cut_markdown(text: str, most: int = SUMMARY) -> str:
    r"""Markdown that fits a summary on GitHub: whole lines up to the limit, and a sentence on what is missing.

    >>> print(cut_markdown("one\ntwo\nthree" * 40, 200).splitlines()[-1])
    Cut here: 17 of 81 lines fit into the 200 bytes that a step summary on GitHub may have.
    """
    if len(text.encode("utf-8", "surrogatepass")) <= most:
        return text
    lines = text.split("\n")
    message = "Cut here: {kept:,} of {all:,} lines fit into the {most:,} bytes that a step summary on GitHub may have."
    room = most - len(message.format(kept=len(lines), all=len(lines), most=most)) - 2
    kept = 0
    for line in lines:
        room -= len(line.encode("utf-8", "surrogatepass")) + 1
        if room < 0:
            break
        kept += 1
    return "\n".join([*lines[:kept], "", message.format(kept=kept, all=len(lines), most=most)])


def _find_title(result: Result) -> str:
    from heldout.results.evaluation import Evaluation
    from heldout.show.blocks import Title

    if isinstance(result, Evaluation):
        return result.source.name or "heldout"
    return next((block.text for block in result.blocks() if isinstance(block, Title)), "heldout")


def _choose_blocks(result: Result, *, full: bool, chosen: bool) -> list[Block]:
    """The blocks of a result: all that it has, or the measures that were asked for, where it is of measures."""
    from heldout.results.evaluation import Measured

    if chosen and isinstance(result, Measured):
        return result.chosen_blocks()
    return result.full_blocks() if full else result.blocks()


def _print_report(result: Result, outputs: Outputs) -> None:
    if outputs.layout == "weka":
        from heldout.results.evaluation import Measured

        if isinstance(result, Measured):
            from heldout.show.escape import visible

            with standard_output() as output:
                output.write("\n".join(map(visible, result.to_weka().split("\n"))) + "\n")
            return
    show(_choose_blocks(result, full=outputs.full, chosen=outputs.chosen))


def show(blocks: Sequence[Block]) -> None:
    """Print blocks: in colour and as wide as the terminal, or plain and 100 columns wide where there is none."""
    from heldout.show.text import WIDTH, lay_out, to_rich

    with standard_output() as output:
        if output.isatty() or os.environ.get("FORCE_COLOR") or os.environ.get("TTY_COMPATIBLE") == "1":
            from rich.console import Console

            width = None if output.isatty() else WIDTH
            Console(file=output, highlight=False, width=width).print(to_rich(blocks))
            return
        # What rich would write to a file, without loading it, which takes as long as the report.
        lines = lay_out(blocks, WIDTH)
        output.write("".join("".join(text for text, _ in line) + "\n" for line in lines))
