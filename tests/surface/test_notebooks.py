"""The notebooks of the documentation run without an error, print what is stored in them, and stay small."""

from __future__ import annotations

import json

import pytest
from docs.notebook_runs import NOTEBOOKS, join_streams, read_texts, run_notebooks

# Bytes that a notebook may take, with the pictures and tables that its cells show.
MOST = 300_000


def test_there_are_five():
    assert [path.name[:1] for path in NOTEBOOKS] == ["1", "2", "3", "4", "5"]


def test_every_notebook_runs_and_prints_what_is_stored():
    import nbformat

    ran = []
    # An error in any cell is raised here.
    for path, notebook in run_notebooks(NOTEBOOKS):
        stored = nbformat.read(path, as_version=4)
        assert read_texts(notebook) == read_texts(stored), f"{path.name}: run `make notebooks`"
        assert any(read_texts(notebook))
        ran.append(path)
    assert ran == NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_what_is_stored_is_small_and_says_nothing_of_the_run(path):
    assert path.stat().st_size < MOST
    notebook = json.loads(path.read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert notebook["cells"][0]["source"][0].startswith("# ")
    assert any(cell["outputs"] for cell in cells)
    for cell in cells:
        assert cell["execution_count"] is None
        assert "execution" not in cell["metadata"]
        assert {output["output_type"] for output in cell["outputs"]} <= {"stream", "execute_result", "display_data"}
        assert "stderr" not in {output.get("name") for output in cell["outputs"]}


def test_what_a_cell_prints_is_stored_in_one_piece():
    from nbformat.v4 import output_from_msg

    def printed(text: str, name: str = "stdout") -> object:
        return output_from_msg({"header": {"msg_type": "stream"}, "content": {"name": name, "text": text}})

    joined = join_streams([printed("a"), printed("b"), printed("c", "stderr"), printed("d")])
    assert [output.text for output in joined] == ["ab", "c", "d"]
