"""Runs the notebooks in docs/notebooks and keeps what their cells print; `make notebooks` does it.

The number and the time of an execution change from run to run and say nothing, so they are left out: a difference in
the repository is a difference in what a reader sees. Cells whose output depends on the machine have the tag "varies".
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).with_name("notebooks")
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
VARIES = "varies"
# Seconds that one cell may take on a machine with much else to do.
PATIENCE = 300
FORGET = "%reset -f"


def load_nbformat() -> Any:
    """The package that reads and writes notebooks; it has no types."""
    return import_module("nbformat")


def run_notebooks(paths: Iterable[Path]) -> Iterator[tuple[Path, Any]]:
    """Each notebook with the outputs of its cells; an error in a cell is raised.

    One kernel runs them all, because starting it takes longer than most of the cells; each begins with nothing defined.
    """
    from nbclient import NotebookClient

    nbformat = load_nbformat()
    empty = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(FORGET)])
    client = NotebookClient(
        empty, timeout=PATIENCE, kernel_name="python3", resources={"metadata": {"path": str(FOLDER)}}
    )
    with client.setup_kernel():
        for path in paths:
            notebook = nbformat.read(path, as_version=4)
            for one in (empty, notebook):
                client.nb = one
                client.reset_execution_trackers()
                for at, cell in enumerate(one.cells):
                    client.execute_cell(cell, at)
            yield path, clean(notebook)


def clean(notebook: Any) -> Any:
    """The notebook without the numbers and the times of its executions."""
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.execution_count = None
            cell.outputs = join_streams(cell.outputs)
            for output in cell.outputs:
                if "execution_count" in output:
                    output.execution_count = None
    notebook.metadata["language_info"] = {"name": "python"}
    return notebook


def join_streams(outputs: list[Any]) -> list[Any]:
    """The outputs with what was printed in one piece: how it was cut depends on how busy the machine was."""
    joined: list[Any] = []
    for output in outputs:
        last = joined[-1] if joined else {}
        if output.output_type == "stream" == last.get("output_type") and output.name == last["name"]:
            last["text"] += output.text
        else:
            joined.append(output)
    return joined


def read_texts(notebook: Any) -> list[str]:
    """What every cell printed, but for those whose output depends on the machine."""
    return [
        "".join(output.text for output in cell.outputs if output.output_type == "stream" and output.name == "stdout")
        for cell in notebook.cells
        if cell.cell_type == "code" and VARIES not in cell.metadata.get("tags", ())
    ]


if __name__ == "__main__":
    for where, ran in run_notebooks(NOTEBOOKS):
        load_nbformat().write(ran, where)
        sys.stdout.write(f"ran {where.name}\n")
