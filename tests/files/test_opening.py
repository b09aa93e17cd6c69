"""Files that cannot be opened: each with an error that says why."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from heldout.errors import FileError
from heldout.files import column_names, read_table


def test_missing_file_with_a_near_name(write, refusal, tmp_path):
    write("churn.csv", "a\n1\n")
    error = refusal(tmp_path / "chrun.csv")
    assert isinstance(error, FileError)
    assert f"There is no file {tmp_path / 'chrun.csv'}." in error.what
    assert error.hint == f"did you mean {tmp_path / 'churn.csv'}?"


def test_missing_file_in_a_missing_folder(refusal, tmp_path):
    assert "cannot be opened either" in refusal(tmp_path / "no" / "a.csv").hint
    assert "There is no file" in refusal("x" * 5000).what
    assert "There is no file" in refusal("a\0b.csv").what


def test_folder(refusal, tmp_path):
    assert "is a folder" in refusal(tmp_path).what


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.jsonl", "a.npz", "a.arff", "a"])
def test_empty_file(write, refusal, name):
    assert refusal(write(name, b"")).what.endswith(f"{name} is empty.")


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.arff"])
@pytest.mark.parametrize("content", [b"\n\n  \n", b"\xef\xbb\xbf"])
def test_blank_file(write, refusal, name, content):
    assert "is empty" in refusal(write(name, content)).what
    assert "is empty" in refusal(write(name + ".gz", gzip.compress(content))).what


@pytest.mark.parametrize("name", ["a.csv", "a.arff", "a.jsonl", "a.npz"])
def test_no_permission(write, refusal, monkeypatch, name):
    path = write(name, b"a,b\n1,2\n")

    def denied(*_: object, **__: object) -> bytes:
        raise PermissionError(13, "Permission denied")

    # The tests may run as root, who may read everything.
    monkeypatch.setattr(Path, "read_bytes", denied)
    assert "no permission" in refusal(path).what
    monkeypatch.setattr(Path, "open", denied)
    with pytest.raises(FileError, match="no permission"):
        column_names(path)


def test_broken_gzip(write, refusal):
    packed = gzip.compress(os.urandom(2000).hex().encode())
    assert "ends too early" in refusal(write("a.csv.gz", packed[:-700])).what
    assert "cannot be unpacked" in refusal(write("b.csv.gz", packed[:-8] + b"12345678")).what
    assert "is not gzip-compressed" in refusal(write("c.csv.gz", b"a,b\n1,2\n")).what
    with pytest.raises(FileError, match="is not gzip-compressed"):
        column_names(write("c.csv.gz", b"a,b\n1,2\n"))


def test_a_pipe_is_read_once():
    reading, writing = os.pipe()
    os.write(writing, b"a,b\n1,x\n")
    os.close(writing)
    pipe = f"/dev/fd/{reading}"
    with pytest.raises(FileError, match="only once"):
        column_names(pipe)
    assert read_table(pipe).rows() == [(1, "x")]
    os.close(reading)


def test_binary_under_a_text_name(write, refusal):
    assert "holds a Parquet table" in refusal(write("a.csv", b"PAR1abc")).what
    assert "zip archive" in refusal(write("a.csv", b"PK\x03\x04abc")).what


@pytest.mark.parametrize("to", ["churn.csv", "gone.csv"])
def test_a_link_that_leads_nowhere_is_called_one(to, tmp_path, refusal):
    (tmp_path / "churn.csv").symlink_to(to)
    error = refusal(tmp_path / "churn.csv")
    assert error.what == f"{tmp_path / 'churn.csv'} is a link to {to}, and there is no file behind it."
    assert "did you mean" not in error.hint


def test_a_name_that_cannot_be_opened_is_not_suggested_again(tmp_path, monkeypatch):
    from heldout.files.input_stream import existing_file

    (tmp_path / "churn.csv").touch()
    # As where a file of a network is listed and is not there.
    monkeypatch.setattr("pathlib.Path.exists", lambda _: False)
    with pytest.raises(FileError) as caught:
        existing_file(tmp_path / "churn.csv")
    assert caught.value.hint == "check the path and the current folder."
