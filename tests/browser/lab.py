"""JupyterLab in headless Chromium, driven as a user would: open a notebook, run cells, press Stop, look."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Literal, Self
from urllib.error import URLError
from urllib.request import urlopen

import nbformat
from playwright.sync_api import Browser, Page, WebSocket, expect, sync_playwright

from tests.support.waiting import PATIENCE_SECONDS, until

expect.set_options(timeout=PATIENCE_SECONDS * 1000)  # instead of 5 s: a busy machine is slow

TOKEN = "browser-tests"
EXTENSION = Path(__file__).parents[2] / "agentsvc_nb" / "labextension"
CHROMIUM = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--force-color-profile=srgb"),
)
QUIET = {
    "@jupyterlab/apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    # A cell that is scrolled away stays in the page, so that its output can be read.
    "@jupyterlab/notebook-extension/tracker": {"windowingMode": "none"},
}
HOMES = (
    *(f"JUPYTER{each}_DIR" for each in ("_CONFIG", "_RUNTIME", "_DATA", "LAB_SETTINGS", "LAB_WORKSPACES")),
    "IPYTHONDIR",
)
App = Literal["lab", "notebook"]
CURRENT = "window.jupyterapp.shell.currentWidget"


@contextmanager
def launched() -> Iterator[Browser]:
    """A headless Chromium."""
    executable = shutil.which("chromium")
    assert executable, "install the chromium package"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=[*CHROMIUM])
        yield browser
        browser.close()


class Lab:
    """A JupyterLab server of its own on a free port, and a browser, which is launched unless one is given; nothing of
    the user's settings leaks in. `extension`: whether it has ours, from the checkout."""

    def __init__(
        self,
        root: Path,
        env: dict[str, str] | None = None,
        theme: str = "JupyterLab Light",
        app: App = "lab",
        extension: bool = True,
        browser: Browser | None = None,
    ) -> None:
        self.root, self.app = root, app
        self.homes = root.parent / f"{root.name}-homes"
        self._env = {**os.environ, **{name: str(self.homes / name.lower()) for name in HOMES}, **(env or {})}
        self._env["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"
        self._env["JUPYTER_PATH"] = str(self.homes / "share")  # before what is installed, which may be of another day
        self._extension = extension
        self._settings = {**QUIET, "@jupyterlab/apputils-extension/themes": {"theme": theme}}
        self.port = _free_port()
        self._given = browser

    def __enter__(self) -> Self:
        self._configure()
        with ExitStack() as opened:
            self._start_server(opened)
            self._browser = self._given or opened.enter_context(launched())
            self._opened = opened.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def open(self, name: str, cells: list[str] | None = None, width: int = 1100) -> Notebook:
        """Open a notebook, written from `cells` when they are given, and wait until its kernel is idle."""
        if cells is not None:
            notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
            notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
            nbformat.write(notebook, self.root / name)
        page = self._browser.new_page(viewport={"width": width, "height": 900})
        return Notebook(page, self.root / name, self.page_of(name))

    def page_of(self, name: str) -> str:
        """The address of a notebook's page."""
        where = "lab/tree" if self.app == "lab" else "notebooks"
        return f"http://127.0.0.1:{self.port}/{where}/{name}?token={TOKEN}&reset"

    def _start_server(self, opened: ExitStack) -> None:
        module = "jupyterlab" if self.app == "lab" else "notebook"
        command = [sys.executable, "-m", module, "--no-browser", "--allow-root", "--expose-app-in-browser"]
        command += ["--ServerApp.ip=127.0.0.1", f"--ServerApp.port={self.port}", "--ServerApp.port_retries=0"]
        command += [f"--IdentityProvider.token={TOKEN}", f"--ServerApp.root_dir={self.root}"]
        command += ["--LabApp.news_url=None", "--LabApp.extension_manager=readonly"]
        log = opened.enter_context((self.homes / "lab.log").open("wb"))
        server = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=self._env, cwd=self.root)
        opened.callback(_end, server)
        until(lambda: self._answers() or server.poll() is not None, patience=180)
        assert server.poll() is None, (self.homes / "lab.log").read_text()

    def _answers(self) -> bool:
        try:
            with urlopen(f"http://127.0.0.1:{self.port}/api?token={TOKEN}", timeout=5) as answer:
                return bool(answer.status == 200)
        except (URLError, OSError):
            return False

    def _configure(self) -> None:
        for plugin, values in self._settings.items():
            _write(Path(self._env["JUPYTERLAB_SETTINGS_DIR"]) / f"{plugin}.jupyterlab-settings", values)
        place = self.homes / "share" / "labextensions" / "agentsvc-nb"
        if not self._extension:
            disabled = {"disabledExtensions": {"agentsvc-nb": True}}
            _write(Path(self._env["JUPYTER_CONFIG_DIR"]) / "labconfig" / "page_config.json", disabled)
        elif not place.is_symlink():
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(EXTENSION)


def _write(file: Path, values: object) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(values))


def _end(server: subprocess.Popen[bytes]) -> None:
    server.terminate()
    try:
        server.wait(10)
    except subprocess.TimeoutExpired:  # jupyter_server 2.21, when a page had just connected to a restarted kernel
        server.kill()
        server.wait()


class Notebook:
    """An open notebook. Cells are counted over code cells."""

    def __init__(self, page: Page, path: Path, url: str) -> None:
        self.page = page
        self.path = path
        self.requests: list[str] = []
        self.errors: list[str] = []
        self.kernel_bytes = 0
        page.on("websocket", self._on_websocket)
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.goto(url, wait_until="domcontentloaded")
        self._wait_kernel()

    def _wait_kernel(self, state: str = "kernel.status === 'idle'") -> None:
        self.page.wait_for_selector(".jp-NotebookPanel .jp-Cell", timeout=120_000)
        ready = f"{CURRENT}?.context?.isReady && {CURRENT}.sessionContext.session?.kernel"
        self.page.wait_for_function(
            f"() => {{ const kernel = window.jupyterapp && {ready}; return kernel && {state} }}", timeout=120_000
        )

    def command(self, name: str) -> None:
        """Run a command of JupyterLab's, without waiting for its end."""
        self.page.evaluate("name => { window.jupyterapp.commands.execute(name) }", name)

    def run_all(self) -> None:
        self.command("notebook:run-all-cells")

    def run(self, cell: int) -> None:
        """Run one cell, as Shift+Enter does."""
        self.page.evaluate(f"cell => {{ {CURRENT}.content.activeCellIndex = cell }}", cell)
        self.command("notebook:run-cell")

    def stop(self) -> None:
        self.command("notebook:interrupt-kernel")

    def restart(self) -> None:
        """Restart the kernel, also in the middle of a cell."""
        self.page.evaluate(f"async () => {{ await {CURRENT}.sessionContext.session.kernel.restart() }}")
        self._wait_kernel()

    def reload(self) -> None:
        """Load the page again, as F5 does; the kernel lives on."""
        self.page.reload(wait_until="domcontentloaded")
        self._wait_kernel("true")

    def busy(self) -> bool:
        status = self.page.evaluate(f"() => {CURRENT}.sessionContext.session.kernel.status")
        return status != "idle" or any("*" in prompt for prompt in self.prompts())

    def prompts(self) -> list[str]:
        return self.page.locator(".jp-NotebookPanel .jp-CodeCell .jp-InputPrompt").all_inner_texts()

    def wait_idle(self, patience: float = 60) -> None:
        until(lambda: not self.busy() and any(prompt.strip("[]: \n") for prompt in self.prompts()), patience=patience)

    def output(self, cell: int) -> str:
        """The visible text below a code cell."""
        cells = "document.querySelectorAll('.jp-NotebookPanel .jp-CodeCell')"
        found = f"cell => {cells}[cell].querySelector('.jp-Cell-outputArea')?.innerText ?? ''"
        return str(self.page.evaluate(found, cell))

    def save(self) -> dict[str, Any]:
        """Save, and read the file."""
        self.page.evaluate("async () => { await window.jupyterapp.commands.execute('docmanager:save') }")
        document: dict[str, Any] = json.loads(self.path.read_text())
        return document

    def _on_websocket(self, socket: WebSocket) -> None:
        socket.on("framereceived", self._received)

    def _received(self, payload: str | bytes) -> None:
        self.kernel_bytes += len(payload)


def _free_port() -> int:
    """A port that nobody has, and that the system gives nobody who asks for any: it stays free until it is bound."""
    while True:
        port = 20_000 + secrets.randbelow(12_000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
