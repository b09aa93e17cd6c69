"""A real JupyterLab: the server, a notebook whose cells are run in the browser, and both of its themes.

`python -m tests.jupyter docs` takes the pictures of a notebook that the documentation shows.
"""

from __future__ import annotations

import io
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page

ROOT = Path(__file__).parents[1]
THEMES = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}
# Asks nobody whether news may be fetched, and keeps what is below the window in the page.
SETTINGS = {
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
    "@jupyterlab/notebook-extension:tracker": {"windowingMode": "none"},
}
# Seconds that a machine with much else to do may take to start the server.
PATIENCE = 40
KERNEL = "window.jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel?.status"
CELLS = (
    """import heldout
evaluation = heldout.evaluate("diabetes.csv", fold="none")
evaluation""",
    'evaluation.curve("roc")',
    "evaluation.confusion",
)


def write_notebook(path: Path, cells: Sequence[str]) -> None:
    """A notebook with these cells, none of which was run."""
    from nbformat import write
    from nbformat.v4 import new_code_cell, new_notebook

    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    write(new_notebook(cells=[new_code_cell(cell) for cell in cells], metadata={"kernelspec": kernel}), path)


@contextmanager
def serve_lab(folder: Path) -> Iterator[str]:
    """JupyterLab over the notebooks in `work` of a folder, which holds all that it keeps; yields its address."""
    own = {
        "HOME": folder,
        "IPYTHONDIR": folder / "ipython",
        "JUPYTER_CONFIG_DIR": folder / "config",
        "JUPYTER_DATA_DIR": folder / "data",
        "JUPYTER_RUNTIME_DIR": folder / "runtime",
        "JUPYTERLAB_SETTINGS_DIR": folder / "settings",
        "JUPYTERLAB_WORKSPACES_DIR": folder / "workspaces",
        "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}",
    }
    overrides = folder / "config" / "labconfig" / "default_setting_overrides.json"
    overrides.parent.mkdir(parents=True)
    overrides.write_text(json.dumps(SETTINGS), encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
    options = [f"--ServerApp.root_dir={folder / 'work'}", f"--ServerApp.port={address.rpartition(':')[2]}"]
    options += ["--IdentityProvider.token=", "--ServerApp.open_browser=False", "--ServerApp.allow_root=True"]
    options += ["--ServerApp.ip=127.0.0.1", "--LabApp.expose_app_in_browser=True"]
    log = folder / "server.log"
    with log.open("wb") as said:
        server = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", *options],
            env={**os.environ, **{name: str(place) for name, place in own.items()}},
            stdout=said,
            stderr=said,
        )
        try:
            _wait(f"{address}/api", server, log)
            yield address
        finally:
            # The first word ends its kernels too.
            server.terminate()
            server.wait(60)


def _wait(address: str, server: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and server.poll() is None:
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except OSError:
            time.sleep(0.2)
    message = f"JupyterLab did not start:\n{log.read_text(encoding='utf-8')[-2000:]}"
    raise RuntimeError(message)


def run_cells(page: Page, address: str, notebook: str, outputs: int) -> None:
    """Open a notebook, run all of its cells, and wait until so many of ours are shown."""
    page.set_default_timeout(1000 * PATIENCE)
    page.goto(f"{address}/doc/tree/{notebook}?reset")
    page.wait_for_selector(".jp-NotebookPanel .jp-CodeCell")
    # Before the kernel is there, a dialogue would ask for one.
    page.wait_for_function(f"() => {KERNEL} === 'idle'")
    # The promise is kept when all cells have run: what they show is waited for below.
    page.evaluate("() => void window.jupyterapp.commands.execute('notebook:run-all-cells')")
    page.wait_for_function(f"() => document.querySelectorAll('.jp-OutputArea .heldout-doc').length === {outputs}")


def change_theme(page: Page, scheme: str) -> None:
    """Let the laboratory be light or dark, and wait until it is."""
    page.evaluate("(theme) => window.jupyterapp.commands.execute('apputils:change-theme', {theme})", THEMES[scheme])
    light = "true" if scheme == "light" else "false"
    page.wait_for_function(f"() => document.body.dataset.jpThemeLight === '{light}'")


def take_pictures(docs: Path) -> None:
    """Photograph a notebook in both themes."""
    from playwright.sync_api import sync_playwright

    from tests.browsing import launched

    with tempfile.TemporaryDirectory() as name, sync_playwright() as driver:
        folder = Path(name)
        (folder / "work").mkdir()
        example = ROOT / "examples" / "diabetes.csv"
        (folder / "work" / example.name).write_bytes(example.read_bytes())
        write_notebook(folder / "work" / "answers.ipynb", CELLS)
        with serve_lab(folder) as address:
            browser = launched(driver)
            page = browser.new_page(viewport={"width": 1000, "height": 1130})
            run_cells(page, address, "answers.ipynb", len(CELLS))
            for scheme in THEMES:
                change_theme(page, scheme)
                page.evaluate("() => document.querySelector('.jp-WindowedPanel-outer').scrollTo(0, 0)")
                page.wait_for_timeout(500)
                _write_small(page.screenshot(), docs / f"notebook-{scheme}.png")
            browser.close()


def _write_small(picture: bytes, path: Path) -> None:
    """A picture in so many colours as a screen of lines and letters needs."""
    from PIL import Image

    Image.open(io.BytesIO(picture)).convert("RGB").quantize(128).save(path, optimize=True)


if __name__ == "__main__":
    take_pictures(Path(sys.argv[1]))
