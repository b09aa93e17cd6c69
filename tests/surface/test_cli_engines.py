"""The command line with engines: the same report from each, quiet terminals, and errors of one line.

What needs a running cluster stands in `tests/engines/test_on_clusters.py`, so that each is started once.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from tests.engines.parts import TABLE, parts

DIABETES = str(Path(__file__).parents[2] / "examples" / "diabetes.csv")
# As the installed command begins.
START = "from heldout.cli.start import main; main()"


def estimates(text: str) -> dict:
    """What was estimated, by name."""
    rows = json.loads(text)["estimates"]
    return {(row["measure"], row["class"], row["average"]): (row["value"], row["low"], row["high"]) for row in rows}


def assert_alike(one: dict, other: dict) -> None:
    assert one.keys() == other.keys()
    for key, values in one.items():
        pairs = zip(values, other[key], strict=True)
        # What is undefined is so in both.
        assert all(a == b or a == pytest.approx(b, rel=1e-9, abs=1e-12) for a, b in pairs), key


@pytest.mark.parametrize("engine", ["polars", "duckdb", "dask"])
def test_every_engine_gives_the_report_of_rows_in_memory(engine, run):
    assert_report_of_rows(engine, run)


def assert_report_of_rows(engine: str, run) -> None:
    """An engine estimates what rows in memory give."""
    status, out, err = run("evaluate", DIABETES, "--engine", engine, "--json", "-")
    assert (status, err) == (0, "")
    assert_alike(estimates(out), estimates(run("evaluate", DIABETES, "--engine", "memory", "--json", "-")[1]))


@pytest.mark.parametrize("engine", ["polars", "duckdb", "dask"])
def test_every_engine_calls_a_folder_and_its_unused_columns_as_the_stream_does(engine, run, tmp_path):
    table = TABLE.with_columns(fold=pl.int_range(pl.len()) % 3)
    folder = parts(tmp_path / "pq", "parquet", table)
    for path in (f"{folder}/", f"{folder}/*.parquet"):
        words = ("evaluate", path, "--positive", "ja", "--fold", "none", "--json", "-")
        found, streamed = (run(*words, "--engine", name)[1] for name in (engine, "stream"))
        assert "--fold fold would use it" in found
        assert json.loads(found)["notes"] == json.loads(streamed)["notes"]


@pytest.mark.parametrize("engine", ["polars", "duckdb", "dask", "stream"])
def test_a_guessed_column_that_one_file_lacks_is_named_with_the_file(engine, run, tmp_path):
    folder = parts(tmp_path, "parquet")
    TABLE.drop("score").write_parquet(folder / "part-1.parquet")
    status, out, err = run("evaluate", str(folder), "--engine", engine)
    assert (status, out) == (2, "")
    assert "has no column 'score', and" in " ".join(err.split())


@pytest.mark.parametrize("engine", ["polars", "duckdb", "dask"])
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_every_engine_slices_by_the_keys_of_folders_as_the_stream_does(engine, form, run, tmp_path):
    for day in ("007", "010"):
        parts(tmp_path / f"day={day}", form, TABLE[: 100 + int(day)])
    words = ("evaluate", str(tmp_path), "--slice", "day", "--positive", "ja", "--json", "-")
    found, streamed = (json.loads(run(*words, "--engine", name)[1]) for name in (engine, "stream"))
    assert {row["slice"] for row in found["slices"]} == {"007", "010"}
    assert found["slices"] == streamed["slices"]


@pytest.mark.parametrize("engine", ["polars", "duckdb", "dask"])
def test_a_comparison_names_the_options_of_the_command_line(engine, run, tmp_path):
    assert_options_named(engine, run, tmp_path)


def assert_options_named(engine: str, run, folder: Path) -> None:
    """What an engine says of a comparison is said in flags, as the stream does."""
    table = TABLE.with_columns(case=pl.int_range(pl.len()), fold=pl.int_range(pl.len()) % 3)
    folders = [str(parts(folder / name, "parquet", table)) for name in "ab"]
    # One file has a column more, which nobody asks for.
    odd = folder / "a" / "part-1.parquet"
    pl.read_parquet(odd).with_columns(note=pl.lit("x")).write_parquet(odd)
    words = ("compare", *folders, "--engine", engine, "--positive", "ja")
    status, out, err = run(*words, "--id", "case", "--json", "-")
    assert (status, err) == (0, "")
    streamed = json.loads(run(*words, "--id", "case", "--json", "-", "--engine", "stream")[1])
    assert json.loads(out)["notes"] == streamed["notes"]
    assert "a: the column 'fold' of a was not used; --fold fold would use it" in streamed["notes"]
    for more, said in (
        ((), "(id=, --id)"),
        (
            ("--id", "case", "--fold", "fold"),
            "leave out fold= (--fold), or read the rows into memory (engine='memory', --",
        ),
    ):
        status, _, err = run(*words, *more)
        assert status == 2
        assert said in " ".join(err.split())


def test_any_number_of_threads_tells_the_same(run, tmp_path, monkeypatch):
    words = ("evaluate", str(parts(tmp_path, "parquet")), "--positive", "ja", "--json", "-")
    expected = run(*words, "--threads", "1")
    assert expected[0] == 0
    assert run(*words, "--threads", "5") == expected
    monkeypatch.setenv("POLARS_MAX_THREADS", "3")
    assert run(*words) == expected


def test_spark_of_its_own_says_nothing_on_the_terminal_and_leaves_nothing_behind(tmp_path):
    folder, temporary = parts(tmp_path / "data", "parquet"), tmp_path / "temporary"
    temporary.mkdir()
    told = {**os.environ, "TMPDIR": str(temporary), "SPARK_LOCAL_DIRS": str(temporary)}
    words = ["evaluate", str(folder), "--engine", "spark", "--master", "local[2]", "--positive", "ja", "--json", "-"]
    done = subprocess.run(
        [sys.executable, "-c", START, *words], env=told, capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["n"] > 0
    assert list(temporary.iterdir()) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "temporary"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--engine", "sparc"), "There is no engine 'sparc'."),
        (("--master", "spark://host:7077"), "--master spark://host:7077 says where to run, but not what."),
        (("--engine", "duckdb", "--master", "spark://host:7077"), "spark://host:7077"),
        (("--engine", "dask", "--master", "somewhere"), "master is 'somewhere', not the address of a Dask scheduler."),
        (("--engine", "dask", "--master", "tcp://127.0.0.1:9"), "127.0.0.1:9 refuses the connection"),
        (("--engine", "spark", "--master", "tcp://127.0.0.1:8786"), "that is no Spark master"),
        (("--engine", "stream", "--tolerance", "-1"), "The tolerance is a width of areas, 0 or more."),
        (("--engine", "stream", "--passes", "0"), "passes"),
        (("--threads", "0"), "The number of threads cannot be 0."),
    ],
)
def test_what_makes_no_sense_is_said_with_a_hint(words, said, run):
    status, out, err = run("evaluate", DIABETES, *words)
    assert (status, out) == (2, "")
    assert said in " ".join(err.split())
    assert "Hint:" in err
    assert "Traceback" not in err


@pytest.mark.parametrize("option", ["--engine", "--master", "--tolerance", "--passes", "--threads"])
def test_a_matrix_needs_no_engine(option, run):
    status, _, err = run("evaluate", "--matrix", "5 1; 2 4", option, "1")
    assert status == 2
    assert f"{option} is about the rows of a file" in err


def test_without_java_the_command_says_what_to_install(tmp_path):
    told = {**os.environ, "JAVA_HOME": str(tmp_path)}
    words = ["evaluate", DIABETES, "--engine", "spark"]
    done = subprocess.run([sys.executable, "-c", START, *words], env=told, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    for word in ("Spark needs Java", "apt-get install openjdk-17-jre-headless", "brew install openjdk@17", "conda"):
        assert word in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", ["evaluate", "thresholds", "check", "compare", "count"])
@pytest.mark.parametrize("words", [("--passes", "2"), ("--tolerance", "0.1"), ("--tolerance", "0.1", "--passes", "2")])
def test_what_is_said_of_bins_is_refused_of_rows_that_are_held(command, words, run, tmp_path):
    more = {
        "check": ("--require", "accuracy > 0"),
        "compare": (DIABETES,),
        "count": ("-o", str(tmp_path / "a.evidence")),
    }
    status, out, err = run(command, DIABETES, *more.get(command, ()), *words, "--engine", "memory")
    assert (status, out) == (2, "")
    assert f"so {', '.join(word[2:] for word in words[::2])} would have no effect." in err
    assert all(word in err.partition("Hint")[2] for word in words[::2])


def test_what_is_said_of_bins_is_refused_of_evidence_too(run, tmp_path):
    place = str(tmp_path / "a.evidence")
    assert run("count", DIABETES, "--engine", "stream", "--passes", "2", "-o", place)[0] == 0
    for words in (("evaluate", place), ("thresholds", place, "--maximize", "f1")):
        assert run(*words)[0] == 0
        assert "are in their bins already, so passes would have" in run(*words, "--passes", "2")[2]


@pytest.mark.parametrize("engine", ["stream", "polars"])
def test_a_bucket_that_cannot_be_reached_is_one_error_and_no_warning(engine, tmp_path):
    own = {name: value for name, value in os.environ.items() if not name.upper().startswith(("AWS_", "NO_PROXY"))}
    # Nobody listens at this port, so nothing leaves the machine.
    told = {"HTTPS_PROXY": "http://127.0.0.1:9", "HOME": str(tmp_path)}
    told |= {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}
    words = ["evaluate", "s3://no-such-bucket/rows.parquet", "--engine", engine]
    done = subprocess.run(
        [sys.executable, "-c", START, *words], env=own | told, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    first, second = done.stderr.splitlines()
    assert "rows.parquet" in first
    assert second.startswith("Hint: ")
