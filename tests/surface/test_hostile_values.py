"""Numbers of thousands of digits, nesting without end and very long lines end in two sentences and status 2."""

from __future__ import annotations

import pytest

DIGITS, DEEP = "9" * 5_000, "[" * 100_000 + "]" * 100_000
FILES = {
    "digits.toml": f'[costs]\nrows = "truth"\nlabels = ["a", "b"]\nmatrix = [[0, {DIGITS}], [1, 0]]\n',
    "deep.toml": f"a = {DEEP}\n",
    "requirements.toml": f'[[require]]\ntext = "accuracy >= 0.1"\nlevel = {DIGITS}\n',
    "deep.json": DEEP,
    "digits.json": f'[{{"truth": "a", "predicted": {DIGITS}}}]',
    "digits.jsonl": f'{{"truth": "a", "predicted": {DIGITS}}}\n',
    "deep.jsonl": f'{{"truth": "a", "predicted": {DEEP}}}\n',
}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["evaluate", "ok.csv", "--costs", "digits.toml"], "digits.toml holds a number with too many digits."),
        (["evaluate", "ok.csv", "--costs", "deep.toml"], "deep.toml is nested too deeply."),
        (["check", "ok.csv", "--requirements", "requirements.toml"], "holds a number with too many digits."),
        (["check", "ok.csv", "--requirements", "deep.toml"], "deep.toml is nested too deeply."),
        (["check", "ok.csv", "--require", "accuracy >= baseline", "--baseline", "deep.json"], "is nested too deeply."),
        (["check", "ok.csv", "--require", "accuracy >= baseline", "--baseline", "digits.json"], "too many digits"),
        (["evaluate", "deep.json"], "deep.json is nested too deeply."),
        (["evaluate", "digits.json"], "digits.json is not JSON"),
        (["evaluate", "digits.jsonl"], "digits.jsonl, line 1 is not JSON"),
        (["evaluate", "deep.jsonl"], "deep.jsonl, line 1 is nested too deeply."),
    ],
)
def test_documents_that_no_reader_takes_are_refused(run, tmp_path, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ok.csv").write_text("truth,predicted\na,a\nb,b\na,b\n")
    for name in words:
        if name in FILES:
            (tmp_path / name).write_text(FILES[name])
    status, out, err = run(*words)
    assert (status, out) == (2, "")
    assert said in err.splitlines()[0]
    assert err.splitlines()[1].startswith("Hint: ")
    assert len(err.splitlines()) == 2


def test_a_header_of_more_than_a_megabyte_is_read_to_its_end(run, tmp_path):
    names = [f"a_column_with_a_name_of_some_length_{at:06d}" for at in range(27_000)]
    row = ",".join("1" for _ in names)
    file = tmp_path / "wide.csv"
    file.write_text(f"{','.join(names)},truth,predicted\n{row},a,b\n{row},b,b\n")
    assert len(file.read_text().partition("\n")[0]) > 1 << 20
    status, _, err = run("evaluate", str(file), "--measure", "accuracy")
    assert (status, err) == (0, "")
