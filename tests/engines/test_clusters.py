"""Files read by every engine: the same table from each, on this machine or a cluster, or a word on what is missing."""

from __future__ import annotations

import socket
import sys
from pathlib import Path
from types import SimpleNamespace

import narwhals.stable.v2 as nw
import polars as pl
import pytest
from tests.engines.parts import FOUND, TABLE, parts, summed

import heldout
from heldout.engines import spark
from heldout.engines.backends import open_table
from heldout.engines.engine_choice import ELSEWHERE
from heldout.engines.engine_errors import engine_errors
from heldout.engines.spark import check_master
from heldout.errors import FileError, HeldoutError, OptionError
from heldout.files.batches import batches_of


@pytest.fixture(params=ELSEWHERE)
def engine(request) -> str:
    """The name of an engine, all of them in turn; Spark's session is there before it is asked for."""
    if request.param == "spark":
        request.getfixturevalue("spark_session")
    return str(request.param)


def open_lazy(path, engine, master=None) -> tuple:
    """A table all of whose columns are wanted: its frame, what it is called, and how to close it."""
    opened = open_table(path, engine, master)
    if opened.withheld:
        opened.close()
        raise next(iter(opened.withheld.values()))
    return opened.frame, opened.name, opened.close


def read(path, engine, master=None) -> dict:
    """What one aggregation of the opened table gives, so that it was really read."""
    frame, name, close = open_lazy(path, engine, master)
    assert name == Path(path).name
    try:
        return summed(nw.from_native(frame))
    finally:
        close()


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_a_folder_a_pattern_and_a_file_are_one_table_in_every_engine(engine, form, tmp_path):
    folder = parts(tmp_path / "with [brackets]", form)
    (folder / "_SUCCESS").touch()
    (folder / f".part-9.{form}").write_bytes(b"not finished")
    assert read(folder, engine) == FOUND
    plain = parts(tmp_path / "plain", form)
    assert read(f"{plain}/part-*.{form}", engine) == FOUND
    only = read(plain / f"part-0.{form}", engine)
    assert sum(n for n, _ in only.values()) == sum(n for n, _ in FOUND.values()) // 3


def test_folders_called_key_value_are_a_column(engine, tmp_path):
    for day in (1, 2):
        parts(tmp_path / f"day={day}", "parquet")
    frame, _, close = open_lazy(tmp_path, engine)
    days = nw.from_native(frame).with_columns(day=nw.col("day").cast(nw.String)).group_by("day").agg(n=nw.len())
    found = dict(days.collect(backend="polars").rows())
    close()
    assert found == dict.fromkeys(("1", "2"), sum(n for n, _ in FOUND.values()))


def test_a_text_file_has_the_classes_that_it_has_in_memory(engine, tmp_path):
    # 007 is a code, NA is a class, only an empty field is a missing value, and a fraction may come late.
    (tmp_path / "a.csv").write_text("truth,predicted,score\n" + "007,NA,1\n" * 50)
    (tmp_path / "b.csv").write_text('truth,predicted,score\n7,"a ""b"", c",0.5\n7,,0\n')
    assert read(tmp_path, engine) == {("007", "NA"): (50, 50.0), ("7", 'a "b", c'): (1, 0.5), ("7", None): (1, 0.0)}


def test_whole_numbers_in_one_file_do_not_round_those_of_another(tmp_path):
    # DuckDB takes the types of the first file unless it is told to join them.
    pl.DataFrame({"truth": ["a"], "predicted": ["a"], "score": [1]}).write_parquet(tmp_path / "0.parquet")
    pl.DataFrame({"truth": ["a"], "predicted": ["a"], "score": [0.5]}).write_parquet(tmp_path / "1.parquet")
    assert read(tmp_path, "duckdb") == {("a", "a"): (2, 1.5)}


@pytest.mark.parametrize("name", ELSEWHERE)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda part: part.drop("score"), r"part-1\.parquet has no column 'score', and .*part-0\.parquet has"),
        (lambda part: part.with_columns(pl.col("score").cast(pl.String)), r"'score' holds .* in .*part-1\.parquet"),
        (None, r"part-1\.parquet"),
    ],
    ids=["missing column", "text for numbers", "truncated"],
)
def test_a_file_that_differs_is_named_before_anything_is_started(name, change, message, tmp_path):
    # Spark would fill up the column and DuckDB cast it, both in silence.
    folder = parts(tmp_path, "parquet")
    odd = folder / "part-1.parquet"
    if change is None:
        odd.write_bytes(odd.read_bytes()[:-100])
    else:
        change(pl.read_parquet(odd)).write_parquet(odd)
    with pytest.raises(FileError, match=message):
        open_lazy(folder, name)


@pytest.mark.parametrize("name", ELSEWHERE)
def test_text_files_with_other_headers_are_refused(name, tmp_path):
    (tmp_path / "a.csv").write_text("truth,predicted\nx,y\n")
    (tmp_path / "b.csv").write_text("truth,answer\nx,y\n")
    with pytest.raises(FileError, match=r"b\.csv has no column 'predicted', and .*a\.csv has"):
        open_lazy(tmp_path, name)


def test_text_files_may_have_another_order_and_separator_each(engine, tmp_path):
    (tmp_path / "a.csv").write_text("truth,predicted,score\nx,y,0.5\n")
    (tmp_path / "b.csv").write_text("predicted;score;truth\ny;1;x\n")
    (tmp_path / "c.csv").write_text("score,truth,predicted\n0,x,z\n")
    assert read(tmp_path, engine) == {("x", "y"): (2, 1.5), ("x", "z"): (1, 0.0)}


@pytest.mark.parametrize("kind", [pl.Float32, pl.Int64], ids=str)
@pytest.mark.parametrize("first", [True, False], ids=["narrow first", "wide first"])
def test_numbers_of_two_types_are_widened(engine, kind, first, tmp_path):
    # A tenth is another number in the narrow type.
    scores = [pl.Series([3, 1], dtype=kind), pl.Series([0.1, 0.25])]
    for name, score in zip("ab", scores if first else scores[::-1], strict=True):
        rows = pl.DataFrame({"truth": ["a", "a"], "predicted": ["a", "a"], "score": score})
        rows.write_parquet(tmp_path / f"{name}.parquet")
    ((n, total),) = read(tmp_path, engine).values()
    assert (n, total) == (4, pytest.approx(4.35, rel=1e-14))


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_columns_that_not_all_files_have_are_left_out_with_a_word_for_who_wants_them(engine, form, tmp_path):
    folder = parts(tmp_path, form)
    odd = folder / f"part-1.{form}"
    more = (pl.read_parquet if form == "parquet" else pl.read_csv)(odd).with_columns(extra=pl.lit(1))
    (more.write_parquet if form == "parquet" else more.write_csv)(odd)
    opened = open_table(folder, engine)
    frame = nw.from_native(opened.frame)
    assert frame.collect_schema().names() == ["truth", "predicted", "score"]
    assert summed(frame) == FOUND
    opened.close()
    assert f"part-0.{form} has no column 'extra', and " in opened.withheld["extra"].what


@pytest.mark.parametrize("form", ["parquet", "csv"])
@pytest.mark.parametrize("name", [*ELSEWHERE, "stream"])
def test_a_folder_that_contradicts_a_column_is_refused(name, form, tmp_path):
    folder = parts(tmp_path / "data" / "score=9", form).parent
    said = r"part-0\.\w+ lies in the folder score=9, and its column 'score' holds 0\.0\."
    with pytest.raises(FileError, match=said):
        batches_of(folder, engine=name) if name == "stream" else open_lazy(folder, name)


def test_a_column_that_says_what_its_folder_says_is_read(engine, tmp_path):
    for day in (1, 2):
        parts(tmp_path / f"day={day}", "parquet", TABLE.with_columns(day=pl.lit(day)))
    frame, _, close = open_lazy(tmp_path, engine)
    days = nw.from_native(frame).group_by("day").agg(n=nw.len()).collect(backend="polars")
    close()
    assert dict(days.rows()) == dict.fromkeys((1, 2), len(TABLE))


def test_folders_with_numbers_and_words_are_a_column_of_text(engine, tmp_path):
    for key in ("1", "x"):
        parts(tmp_path / "data" / f"k={key}", "parquet")
    for path in (tmp_path / "data", f"{tmp_path}/data/k=*"):
        frame, _, close = open_lazy(path, engine)
        keys = nw.from_native(frame).group_by("k").agg(n=nw.len()).collect(backend="polars")
        close()
        assert dict(keys.rows()) == dict.fromkeys(("1", "x"), len(TABLE))


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_the_keys_of_folders_are_those_that_batches_give(engine, form, tmp_path):
    # Engines by themselves make numbers of codes, dates of text, and none of text files any column.
    folder = tmp_path / "run=7" / "data"
    keys = (
        "day=1/code=007/on=2026-01-01/share=0.5/done=true/place=s%C3%BCd",
        "day=__HIVE_DEFAULT_PARTITION__/code=010/on=2026-01-02/share=1/done=false/place=a b[1]",
    )
    for place, key in enumerate(keys):
        parts(folder / key, form, TABLE[place * 9 : place * 9 + 9], n=1)
    # A file may be a link to where no key stands.
    moved = folder / keys[0] / f"part-0.{form}"
    moved.rename(tmp_path / "kept")
    moved.symlink_to(tmp_path / "kept")
    batches = batches_of(folder)
    assert batches is not None
    wanted = pl.concat(batches.frames())
    assert wanted.columns[3:] == ["day", "code", "on", "share", "done", "place"]
    opened = open_table(folder, engine)
    frame = nw.from_native(opened.frame)
    kinds = {name: str(kind) for name, kind in frame.collect_schema().items()}
    found = frame.collect(backend="polars")
    opened.close()
    assert kinds == {name: str(kind) for name, kind in wanted.schema.items()}
    # As text, in which the number 1 is not 1.0.
    assert sorted(map(str, found.rows())) == sorted(map(str, wanted.rows()))


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_a_folder_above_the_one_that_was_named_changes_no_column(engine, form, tmp_path):
    folder = tmp_path / "run=7" / "data"
    parts(folder / "day=1", form, TABLE.with_columns(run=pl.lit(5)))
    opened = open_table(folder, engine)
    frame = nw.from_native(opened.frame)
    assert frame.collect_schema().names() == [*TABLE.columns, "run", "day"]
    assert set(frame.select("run", "day").collect(backend="polars").rows()) == {(5, 1)}
    opened.close()


@pytest.mark.parametrize(
    ("master", "said"),
    [("tcp://127.0.0.1:8786", "but the address of a Dask scheduler"), ("nonsense", "'nonsense', and that is no Spark")],
)
def test_what_is_no_spark_master_is_said_before_java_does(master, said, tmp_path):
    with pytest.raises(OptionError, match=said) as caught:
        open_lazy(parts(tmp_path, "parquet"), "spark", master)
    for word in ("spark://host:7077", "local[4]", "yarn", "k8s://"):
        assert word in caught.value.hint


@pytest.mark.parametrize(
    "master", ["local", "local[*]", "local[2,3]", "spark://a:1,b:2", "sc://a:15002", "yarn", "k8s://https://a:64"]
)
def test_every_kind_of_spark_master_passes(master):
    check_master(master)


@pytest.mark.parametrize("name", ELSEWHERE)
def test_a_path_that_is_not_there_is_a_word_and_not_a_page(name, tmp_path):
    with pytest.raises(FileError, match="There is no file"):
        open_lazy(tmp_path / "nope.parquet", name)


def test_an_engine_that_does_not_exist_is_corrected():
    with pytest.raises(OptionError, match="no engine 'sparc'") as caught:
        heldout.evaluate("x.parquet", engine="sparc")
    assert caught.value.hint == "did you mean 'spark'?"


@pytest.mark.parametrize("name", ["duckdb", "polars"])
def test_a_master_is_for_engines_that_have_clusters(name):
    with pytest.raises(OptionError, match=f"A master was named .* and the engine is {name}"):
        heldout.evaluate("x.parquet", engine=name, master="spark://host:7077")


@pytest.mark.parametrize(("name", "module"), [("duckdb", "duckdb"), ("dask", "dask.dataframe"), ("spark", "pyspark")])
def test_a_library_that_is_missing_is_named_with_the_command_that_installs_it(name, module, monkeypatch, tmp_path):
    package = module.partition(".")[0]
    folder = parts(tmp_path, "parquet")
    for known in [known for known in sys.modules if known == module or known.startswith(f"{module}.")]:
        monkeypatch.delitem(sys.modules, known)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(OptionError, match=f"The engine '{name}' needs {package}, which is not installed") as caught:
        open_lazy(folder, name)
    assert caught.value.hint == f'pip install "heldout[{name}]".'


def free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])


@pytest.mark.parametrize(("name", "scheme"), [("dask", "tcp"), ("spark", "spark")])
def test_a_master_where_nobody_listens_is_refused(name, scheme, tmp_path):
    folder, port = parts(tmp_path, "parquet"), free_port()
    if name == "spark":
        with pytest.raises(OptionError, match=f"127.0.0.1:{port} refuses the connection"):
            spark.check_reachable(f"{scheme}://127.0.0.1:{port}")
        return
    with pytest.raises(OptionError, match=f"127.0.0.1:{port} refuses the connection"):
        open_lazy(folder, name, f"{scheme}://127.0.0.1:{port}")


def test_a_master_that_never_answers_is_given_up(monkeypatch, tmp_path):
    folder = parts(tmp_path, "parquet")
    monkeypatch.setattr(spark, "PATIENCE", 1.0)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        port = silent.getsockname()[1]
        with pytest.raises(OptionError, match="no Dask scheduler answered within 1 seconds"):
            open_lazy(folder, "dask", f"tcp://127.0.0.1:{port}")


def test_a_host_that_cannot_be_found_is_said():
    with pytest.raises(OptionError, match=r"nowhere\.invalid:7077 is a host that cannot be found"):
        spark.check_reachable("spark://nowhere.invalid")


def test_a_dask_cluster_is_used_by_its_address_and_left_running(dask_client, tmp_path):
    folder = parts(tmp_path, "parquet")
    assert read(folder, "dask", dask_client.scheduler.address) == FOUND
    assert dask_client.submit(sum, (1, 2)).result() == 3


def test_a_spark_session_that_is_there_is_used_and_left_running(spark_session, tmp_path):
    folder = parts(tmp_path, "parquet")
    assert read(folder, "spark", "local[2]") == FOUND
    assert spark_session.range(3).count() == 3
    with pytest.raises(OptionError, match=r"master is local\[7\], but this process has a Spark session on local\[2\]"):
        open_lazy(folder, "spark", "local[7]")


def connect_session(host: str) -> object:
    """Stands for a session of Spark Connect, which knows its server and has no context."""

    class SparkSession:
        client = SimpleNamespace(host=host)

        def __getattr__(self, name: str) -> object:
            raise AttributeError(f"{name} is not supported in Spark Connect")

    SparkSession.__module__ = "pyspark.sql.connect.session"
    return SparkSession()


def test_a_spark_connect_session_that_is_there_is_used_and_left_running(monkeypatch):
    import pyspark.sql

    there = connect_session("lake.example")
    monkeypatch.setattr(pyspark.sql.SparkSession, "active", classmethod(lambda _: there))
    # It reads files where its server is.
    assert spark.on_cluster(None)
    for master in (None, "sc://lake.example:15002/;token=x"):
        session, close = spark.spark_session(master)
        assert session is there
        close()
    with pytest.raises(OptionError, match=r"a Spark session on sc://lake\.example already") as caught:
        spark.spark_session("sc://other.example")
    assert "leave out master" in caught.value.hint


def test_a_spark_connect_server_without_its_packages_is_said(monkeypatch, tmp_path):
    import pyspark.sql
    from pyspark.errors import PySparkRuntimeError

    def none(_: object) -> object:
        raise PySparkRuntimeError("no session")

    monkeypatch.setattr(pyspark.sql.SparkSession, "active", classmethod(none))
    monkeypatch.setitem(sys.modules, "grpc", None)
    with pytest.raises(OptionError, match=r"master is sc://127\.0\.0\.1, and the packages with which") as caught:
        open_lazy(parts(tmp_path, "parquet"), "spark", "sc://127.0.0.1")
    assert caught.value.hint == 'pip install "pyspark[connect]".'


def fake_java(folder, says):
    program = folder / "bin" / "java"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f"#!/bin/sh\n{says}\n")
    program.chmod(0o755)
    return str(folder)


@pytest.mark.parametrize(
    ("says", "message"),
    [
        ("echo 'openjdk version \"17.0.15\"' >&2", None),
        ("echo 'java version \"1.8.0_292\"' >&2", "is Java 8"),
        ("echo nothing of use", "does not say which it is: nothing of use"),
        (None, "there is no bin/java in it"),
    ],
)
def test_a_java_that_is_missing_or_too_old_is_said_with_what_to_install(says, message, monkeypatch, tmp_path):
    home = str(tmp_path / "nowhere") if says is None else fake_java(tmp_path, says)
    monkeypatch.setenv("JAVA_HOME", home)
    if message is None:
        assert spark.find_java() == f"{home}/bin/java"
        return
    with pytest.raises(OptionError, match=message) as caught:
        spark.find_java()
    for word in ("apt-get install openjdk-17-jre-headless", "brew install openjdk@17", "conda", "JAVA_HOME"):
        assert word in caught.value.hint


def test_a_java_that_is_not_on_the_path_is_said(monkeypatch, tmp_path):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(OptionError, match="none is on the path"):
        spark.find_java()


def test_an_error_of_an_engine_that_is_not_known_says_what_can_be_done():
    with pytest.raises(HeldoutError) as caught, engine_errors("polars"):
        pl.LazyFrame({"x": [1]}).select("y").collect()
    assert "see its log" not in caught.value.hint
    assert "--engine stream" in caught.value.hint
