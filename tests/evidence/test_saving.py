"""Evidence in files: what comes back is what was saved, and what cannot be trusted is refused with the reason."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import random
import shutil
import signal
import stat
import struct
import subprocess
import sys
import time
import tracemalloc
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heldout.engines.memory import counted
from heldout.errors import FileError
from heldout.evidence import storage
from heldout.evidence.confusion import Confusion
from heldout.evidence.consistency import impossible
from heldout.evidence.counted import Counted
from heldout.evidence.score_bins import ScoreBins
from heldout.evidence.storage import START, as_bytes, from_bytes, is_evidence_file, load, loaded, packed, save, unpacked
from heldout.predictions.source import gather

RNG = np.random.default_rng(3)
N = 60
TRUTH = RNG.choice(["no", "yes"], N)
ROLES = {"fold": RNG.integers(1, 4, N), "weight": RNG.integers(1, 9, N) / 8}
SLICES = {"sex": RNG.choice(["f", "m"], N), "age": RNG.choice([20, 30], N)}
SCORE = RNG.random(N)


def rich(**other):
    """Evidence with everything that there can be."""
    options: dict[str, Any] = {"score": SCORE, "slices": SLICES} | other
    return counted(gather(TRUTH, {**ROLES, "group": options.pop("group", None)}, **options)[0], pairs=True)


EVERY = {
    "rich": rich,
    "groups": lambda: rich(group=RNG.integers(0, 9, N)),
    "text groups": lambda: rich(group=RNG.choice(["ä", "日本", ""], N)),
    "mixed groups": lambda: rich(group=[1, "1"] * (N // 2)),
    "no probabilities": lambda: rich(score=SCORE * 7 - 3, threshold=0.0),
    "sums": lambda: counted(gather(np.arange(9) % 3, {}, score=np.full((9, 3), 0.25), labels=[0, 1, 2])[0]),
    "joined types": lambda: counted(gather([0, 1], {"predicted": ["0", "1"]})[0]),
    "per class": lambda: counted(gather(np.arange(9) % 3, {}, score=RNG.dirichlet(np.ones(3), 9), labels=[0, 1, 2])[0]),
    "counts alone": lambda: counted(gather([True, False, None], {"predicted": [True] * 3}, missing="drop")[0]),
    "numbers as labels": lambda: counted(gather([1.0, 2.0], {"predicted": [1, 3]})[0]),
    "strange labels": lambda: counted(gather(["\ud800", "a\x00b", "😀"], {"predicted": ["", "'", '"']})[0]),
}


@pytest.mark.parametrize("kind", EVERY)
def test_what_is_read_is_what_was_written(kind, tmp_path):
    made = EVERY[kind]()
    place = tmp_path / "some.evidence"
    save(made, place)
    found = load(place)
    assert found == made
    assert [type(label) for label in found.labels] == [type(label) for label in made.labels]
    assert as_bytes(found) == as_bytes(made)
    assert (found + found).n == 2 * made.n
    # A copy has the same checksum, and other evidence has another one.
    copy, other = Path(shutil.copy(place, tmp_path / "copy.evidence")), tmp_path / "other.evidence"
    save(found + found, other)
    assert loaded(copy)[1] == loaded(place)[1] != loaded(other)[1]


@pytest.mark.parametrize(
    "array",
    [
        np.zeros(0),
        np.arange(1000),
        np.array([[1, 2], [3, 400]]),
        np.array([-5, 2**62, -(2**63)]),
        np.array([2**64 - 1], dtype=np.uint64),
        RNG.normal(size=500),
        np.sort(RNG.random(500)),
        np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324]),
        RNG.random(50).astype(np.float32),
        np.array([True, False]),
        np.arange(6, dtype=">i4").reshape(2, 3)[:, ::-1],
    ],
    ids=str,
)
def test_arrays_come_back_to_the_bit(array):
    how, data = packed(array)
    found = unpacked(how, data)
    assert found.shape == array.shape
    assert found.dtype == array.dtype.newbyteorder("=")
    assert found.tobytes() == np.ascontiguousarray(array.astype(array.dtype.newbyteorder("="))).tobytes()


def test_a_flipped_byte_anywhere_is_found():
    data = as_bytes(EVERY["counts alone"]())
    for at in range(len(data)):
        for bit in (1, 128):
            wrong = bytearray(data)
            wrong[at] ^= bit
            with pytest.raises(FileError):
                from_bytes(bytes(wrong), "part.evidence")


def test_every_cut_is_found():
    data = as_bytes(rich())
    for size in [*range(START + 9), *range(START + 9, len(data), 97), len(data) - 1]:
        with pytest.raises(FileError, match="cut short" if size else "not a file of evidence"):
            from_bytes(data[:size], "part.evidence")
    with pytest.raises(FileError, match="has more behind its end"):
        from_bytes(data + b"\x00", "part.evidence")


@pytest.mark.parametrize(
    ("version", "said"), [(1, "older than version 2"), (4, "newer than version 3"), (2**31, "newer than")]
)
def test_other_versions_are_refused(version, said):
    data = bytearray(as_bytes(rich()))
    data[16:20] = struct.pack("<I", version)
    with pytest.raises(FileError, match=said) as caught:
        from_bytes(bytes(data), "old.evidence")
    assert f"version {version} of the format" in caught.value.what


@pytest.mark.parametrize("content", [b"truth,predicted\na,b\n", b"PK\x03\x04", b"heldout Evidence", b""])
def test_what_is_no_evidence_is_refused(content, tmp_path):
    place = tmp_path / "predictions.csv"
    place.write_bytes(content)
    with pytest.raises(FileError, match="not a file of evidence"):
        load(place)
    assert not is_evidence_file(place)


def test_a_file_of_evidence_is_known_by_its_name_or_its_beginning(tmp_path):
    save(rich(), tmp_path / "some.bin")
    assert is_evidence_file(tmp_path / "some.bin")
    assert is_evidence_file("not-there.EVIDENCE")
    assert not is_evidence_file("-")
    assert not is_evidence_file(tmp_path)
    assert not is_evidence_file("x" * 5000)
    with pytest.raises(FileError, match="not-there"):
        load("not-there.evidence")
    (tmp_path / "folder.evidence").mkdir()
    assert not is_evidence_file(tmp_path / "folder.evidence")


def rewritten(change):
    """The bytes of a file whose content was changed by somebody who made the checksum fit."""
    data = as_bytes(rich())
    content = data[START:]
    (size,) = struct.unpack_from("<Q", content)
    header = json.loads(zlib.decompress(content[8 : 8 + size]))
    change(header)
    text = zlib.compress(json.dumps(header).encode())
    content = struct.pack("<Q", len(text)) + text + content[8 + size :]
    front = data[:20] + struct.pack("<Q", len(content))
    return front + hashlib.sha256(front + content).digest() + content


def set_in(*path, value):
    def change(header):
        held = header["evidence"]
        for step in path[:-1]:
            held = held[step]
        held[path[-1]] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        set_in("rows", value=59),
        set_in("rows", value="60"),
        set_in("confusion", value=None),
        set_in("confusion", "labels", value=["no", "no"]),
        set_in("confusion", "labels", value=[["no"], "yes"]),
        set_in("confusion", "counts", value={"array": 10_000}),
        set_in("confusion", "counts", value=[1, 2, 3]),
        set_in("confusion", "=", value="Popen"),
        set_in("=", value="ScoreTally"),
        set_in("positive", value="perhaps"),
        set_in("threshold", value=float("nan")),
        set_in("scores", "probabilities", value=None),
        set_in("scores", "bins", value=[]),
        set_in("slices", 0, "name", value="age"),
        set_in("missing", value={"pairs": [["truth", -1]]}),
        set_in("extra", value=1),
        lambda header: header.pop("arrays"),
        lambda header: header["arrays"].pop(),
        lambda header: header["arrays"][0].update(type="object"),
        lambda header: header["arrays"][0].update(shape=[-1]),
        lambda header: header["arrays"][0].update(shape=[2**50]),
        lambda header: header["arrays"][0].update(bytes=2**40),
    ],
)
def test_content_that_nobody_wrote_is_refused_in_words(change):
    with pytest.raises(FileError, match=r"part\.evidence") as caught:
        from_bytes(rewritten(change), "part.evidence")
    assert "checksum" not in caught.value.what


def test_the_rewriting_of_these_tests_is_sound():
    assert from_bytes(rewritten(len), "part.evidence") == rich()


def changed(made, *path, add):
    """The same evidence with one number changed."""
    name, *rest = path
    if isinstance(name, int):
        return tuple(changed(part, *rest, add=add) if at == name else part for at, part in enumerate(made))
    held = getattr(made, name)
    if not rest:
        if isinstance(held, np.ndarray):
            held = held.copy()
            held.reshape(-1)[0] += add
        else:
            held += add
    else:
        held = changed(held, *rest, add=add)
    return dataclasses.replace(made, **{name: held})


@pytest.mark.parametrize("add", [-1000, 1])
@pytest.mark.parametrize(
    "path",
    [
        ("rows",),
        ("lost",),
        ("confusion", "counts"),
        ("confusion", "truth"),
        ("confusion", "clusters", "count"),
        ("confusion", "clusters", "group"),
        ("scores", "bins", 0, "counts"),
        ("scores", "bins", 0, "low"),
        ("scores", "bins", 0, "groups", "count"),
        ("scores", "probabilities", "n"),
        ("scores", "probabilities", "reliability", "cases"),
        ("scores", "probabilities", "class_weight"),
        ("folds", "counts"),
        ("folds", "fold"),
        ("fold_scores", 0, "bins", 0, "counts"),
        ("slices", 0, "counts", "cases", "counts"),
        ("slices", 0, "counts", "weights", "counts"),
        ("slices", 0, "counts", "groups", "count"),
    ],
    ids=lambda path: ".".join(map(str, path)) if isinstance(path, tuple) else str(path),
)
def test_counts_below_zero_or_that_do_not_add_up_are_impossible(path, add):
    made = EVERY["groups"]()
    assert impossible(made) == ""
    assert impossible(changed(made, *path, add=add))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"most": 0}, "at most 0 were allowed"),
        ({"most": 3}, "at most 3 were allowed"),
        ({"base": -3000}, "wider than the grid"),
        ({"base": 5000}, "wider than the grid"),
        ({"exponent": np.full(N, -3, np.int16), "base": -3}, "out of order"),
        ({"exponent": np.full(N, -30, np.int16), "base": -30}, "not lie on the grid"),
        ({"exponent": np.full(N, -1500, np.int16)}, "wider than the grid"),
        ({"exponent": np.full(N, -2000, np.int64)}, "other numbers"),
        ({"low": SCORE.astype(np.float32)}, "other numbers"),
    ],
    ids=str,
)
def test_bins_that_no_scores_make_are_impossible(change, said):
    made = rich()
    assert made.scores is not None
    bins = dataclasses.replace(made.scores.bins[0], **change)
    scores = dataclasses.replace(made.scores, bins=(bins,))
    assert said in impossible(dataclasses.replace(made, scores=scores))


def test_an_empty_bin_and_ends_of_nothing_are_impossible():
    evidence = rich()
    assert evidence.scores is not None
    assert impossible(evidence) == ""
    bins = evidence.scores.bins[0]
    counts = bins.counts.copy()
    counts[1] += counts[0]
    counts[0] = 0
    for wrong, reason in (
        (dataclasses.replace(bins, counts=counts), "a bin of scores holds none"),
        (dataclasses.replace(ScoreBins.of([], [], 2), least=0.0), "there are no scores, and they have ends"),
    ):
        scores = dataclasses.replace(evidence.scores, bins=(wrong,))
        assert impossible(dataclasses.replace(evidence, scores=scores)) == reason


def crafted(header, arrays=b""):
    """A file that somebody made by hand, with a checksum that fits."""
    text = zlib.compress(header, 9)
    content = struct.pack("<Q", len(text)) + text + arrays
    front = b"heldout evidence" + struct.pack("<IQ", storage.VERSION, len(content))
    return front + hashlib.sha256(front + content).digest() + content


def array_of(bytes_, **how):
    held = {"type": "float64", "kept": "uint8", "shape": [1], "form": "plain", "bytes": len(bytes_)} | how
    return json.dumps({"arrays": [held], "evidence": {"array": 0}}).encode(), bytes_


LONG = b'{"arrays":[],"evidence":' + json.dumps({"values": ["x" * 20_000] + ["a"] * 20_000, "text": True}).encode()
CRAFTED = {
    "a long list": (b'{"arrays":[],"evidence":[' + b"0," * 3_000_000 + b"0]}",),
    "a long key": (LONG + b"}",),
    "zeros": array_of(zlib.compress(bytes(1 << 22)), shape=[1 << 22]),
    "sides": array_of(zlib.compress(b""), shape=[0, 1 << 62]),
    "dimensions": array_of(zlib.compress(b""), shape=[0] * 3),
    "no bytes": array_of(b"", bytes=-1),
    "an endless side": (b'{"arrays":[{"type":"int8","kept":"int8","shape":[1e400],"form":"plain","bytes":1}]}', b"1"),
    "deep lists": (b'{"arrays":[],"evidence":' + b"[" * 50_000 + b"]" * 50_000 + b"}",),
}


@pytest.mark.parametrize("kind", CRAFTED)
def test_a_crafted_file_takes_no_more_memory_than_honest_ones_of_its_size(kind):
    data = crafted(*CRAFTED[kind])
    tracemalloc.start()
    with pytest.raises(FileError, match="no evidence that can be read"):
        from_bytes(data, "crafted.evidence")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4096 * len(data) + (1 << 20)


def test_no_memory_left_is_said_in_words(monkeypatch):
    def full(*_):
        raise MemoryError

    monkeypatch.setattr(storage, "unpacked", full)
    with pytest.raises(FileError, match="needs more memory than there is"):
        from_bytes(as_bytes(rich()), "part.evidence")


def test_evidence_that_shrinks_very_far_is_read_all_the_same(tmp_path):
    # All scores of a grid, the classes in turn: hardly anything is left of them, and of a key of one letter.
    n = 1 << 18
    key = ["x" * 200_000, *["y"] * (n - 1)]
    made = counted(gather(np.arange(n) % 2, {"fold": key}, score=np.arange(n) / n)[0])
    save(made, tmp_path / "grid.evidence")
    assert (tmp_path / "grid.evidence").stat().st_size < n
    assert load(tmp_path / "grid.evidence") == made


def test_one_long_key_among_many_takes_no_room_for_all_of_them(tmp_path):
    keys = [f"g{at}" for at in range(20_000)]
    keys[5] = "x" * 200_000
    plain = [f"h{at}" for at in range(20_000)]
    tracemalloc.start()
    parts = [counted(gather(np.arange(20_000) % 2, {"predicted": np.zeros(20_000), "group": group})[0])
             for group in (keys, plain)]  # fmt: skip
    both = [parts[0] + parts[1], parts[1] + parts[0]]
    save(both[0], tmp_path / "long.evidence")
    assert load(tmp_path / "long.evidence") == both[0]
    assert tracemalloc.get_traced_memory()[1] < 200 << 20
    tracemalloc.stop()
    assert both[0] == both[1]


def test_what_cannot_be_is_refused_when_it_is_read(tmp_path):
    save(dataclasses.replace(rich(), rows=61), tmp_path / "odd.evidence")
    with pytest.raises(FileError, match="60 rows were counted and 0 left out, of 61 that were given"):
        load(tmp_path / "odd.evidence")


def test_evidence_is_small(tmp_path):
    scores = RNG.random(200_000)
    made = counted(gather((scores > RNG.random(200_000)).astype(int), {}, score=scores)[0])
    save(made, tmp_path / "large.evidence")
    # 200,000 distinct scores of 53 random bits and a class each.
    assert (tmp_path / "large.evidence").stat().st_size < 200_000 * 8
    save(counted(gather(np.arange(10**6) % 3, {"predicted": np.arange(10**6) % 2})[0]), tmp_path / "counts.evidence")
    assert (tmp_path / "counts.evidence").stat().st_size < 1500


def test_a_file_is_replaced_whole_and_keeps_its_rights(tmp_path):
    place = tmp_path / "part.evidence"
    save(Counted(Confusion.of([[1, 0], [0, 1]]), rows=2), place)
    place.chmod(0o640)
    save(rich(), place)
    assert stat.S_IMODE(place.stat().st_mode) == 0o640
    assert load(place) == rich()
    assert [path.name for path in tmp_path.iterdir()] == ["part.evidence"]


def test_a_place_that_cannot_be_written_is_said(tmp_path):
    with pytest.raises(FileError, match="cannot be written"):
        save(rich(), tmp_path / "nowhere" / "part.evidence")
    with pytest.raises(FileError, match="cannot be written"):
        save(rich(), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_an_exception_while_writing_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    place = tmp_path / "part.evidence"
    save(rich(), place)

    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        save(Counted(Confusion.of([[1, 0], [0, 1]]), rows=2), place)
    assert load(place) == rich()
    assert len(list(tmp_path.iterdir())) == 1


# Nearly all of its time is spent between the first byte and the last.
WRITER = """
import sys
import numpy as np
from heldout.evidence.confusion import Confusion
from heldout.evidence.counted import Counted
from heldout.evidence.storage import as_bytes
from heldout.atomic_write import write_whole
table = np.random.default_rng(0).integers(1, 2**40, (500, 500))
data = as_bytes(Counted(Confusion.of(table), rows=int(table.sum())))
while True:
    write_whole(sys.argv[1], data)
"""


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_process_that_is_ended_while_it_writes_leaves_a_whole_file_and_nothing_else(ending, tmp_path):
    for round_ in range(2):
        place = tmp_path / f"{round_}" / "part.evidence"
        place.parent.mkdir()
        child = subprocess.Popen([sys.executable, "-c", WRITER, place], stderr=subprocess.DEVNULL)
        while not place.exists():
            time.sleep(0.001)
        # At any moment of the many writings.
        time.sleep(random.Random(round_).uniform(0.01, 0.15))
        child.send_signal(ending)
        child.wait(30)
        assert child.returncode == -ending
        assert [path.name for path in place.parent.iterdir()] == ["part.evidence"]
        assert load(place).confusion.n_classes == 500


def test_the_version_is_3():
    # A file must never be read as what it is not: a new layout takes a new number.
    assert storage.VERSION == 3
    assert as_bytes(rich())[:20] == b"heldout evidence\x03\x00\x00\x00"


def test_files_of_version_2_are_read_and_merged():
    # Written by the last commit with that version: 12 rows with probabilities, weights and groups.
    old: Any = load(Path(__file__).with_name("version_2.evidence"))
    sums = old.scores.probabilities
    p, positive = np.arange(1, 13) / 13, np.arange(12) % 3 > 0
    weight = np.where(np.arange(12) % 4 == 0, 2.0, 1.0)
    distance = (positive - p) ** 2
    assert sums.losses["brier"].total == pytest.approx((weight * distance).sum())
    assert sums.class_losses["brier"][1] == pytest.approx((weight * distance)[positive].sum())
    assert sums.groups.losses["log_loss"].sum() == pytest.approx(sums.losses["log_loss"].total)
    both = old + from_bytes(as_bytes(old), "new.evidence")
    assert both.scores.probabilities.losses["brier"].mean == pytest.approx(sums.losses["brier"].mean)
