"""Talk to the JupyterLab and Notebook pages that show this notebook, if they have our extension (docs/decisions/18).

When the magics are loaded, the kernel announces this in a message. A page with the extension then opens a comm, a
channel between page and kernel. Other pages ignore the message.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Final

from agentsvc_nb import clock
from agentsvc_nb.notebook import host
from agentsvc_nb.notebook.kernel.comm_proxy import register_proxy

TARGET: Final = "agentsvc_nb"
"""The name of the comm, and the id in the announcement. Front ends ignore messages with ids that they don't know."""
ANSWER_SECONDS: Final = 10.0
"""How many seconds a page may take to answer."""
_CONNECT_SECONDS: Final = 2.0
"""How many seconds a page may take to connect after the magics were loaded."""
_KEPT: Final = 8
PageAnswer = dict[str, Any]


class PageGone(Exception):
    """The page did not answer. It was closed, or the kernel can't receive its messages while a cell runs."""


@dataclass(eq=False)
class _PageConnection:
    """The comm of a page. `names` are the ids of its connections to the kernel, also those before a reload."""

    comm: Any
    names: frozenset[str]
    subshell: bool


class NotebookPages:
    """The pages that show the notebook of one kernel. All methods may be called from any thread."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._kernel = getattr(shell, "kernel", None)
        self._manager = getattr(self._kernel, "comm_manager", None)
        self._open: list[_PageConnection] = []
        self._asked: dict[str, Future[PageAnswer]] = {}
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        self._announced = clock.monotonic()
        self.reloads = 0
        """The number of pages that replaced other pages. A new page has no earlier outputs."""
        if self._manager is not None:
            self._manager.register_target(TARGET, self._on_open)
            self._announce()

    def close(self) -> None:
        if self._manager is None:
            return
        self._manager.unregister_target(TARGET, self._on_open)
        with self._lock:
            pages, self._open = self._open, []
        for page in pages:
            page.comm.close()

    def output_metadata(self) -> PageAnswer:
        """Return metadata that name the running cell. They tell a reloaded page to which cell later outputs belong."""
        if self._manager is None:
            return {}
        return {
            "cell": host.cell_id(self._shell),
            "count": self._shell.displayhook.prompt_count,  # newer IPython increments it before a cell runs
            "subshells": self.have_subshells,
        }

    def current(self) -> NotebookPage:
        """Return the page from which the user ran the cell. Its `is_there` returns False if it has no extension."""
        return NotebookPage(self, host.page(self._shell))

    @property
    def may_connect(self) -> bool:
        return self._manager is not None and clock.monotonic() - self._announced < _CONNECT_SECONDS

    @property
    def have_subshells(self) -> bool:
        """Whether the kernel can receive messages from a page while a cell runs. The page must support this, too."""
        return getattr(self._kernel, "shell_channel_thread", None) is not None

    def _announce(self) -> None:
        kernel: Any = self._kernel
        content = {"comm_id": TARGET, "data": {"subshells": self.have_subshells}}
        kernel.session.send(kernel.iopub_socket, "comm_msg", content, parent=kernel.get_parent())

    def _on_open(self, comm: Any, message: Mapping[str, Any]) -> None:
        data = message["content"]["data"]
        page = _PageConnection(comm, frozenset([data["page"], *data.get("earlier", ())]), bool(data.get("subshell")))
        register_proxy(comm)
        comm.on_msg(lambda answer: self._on_answer(answer["content"]["data"]))
        with self._lock:
            self._open = [*(other for other in self._open if not other.names <= page.names), page][-_KEPT:]
            self.reloads += bool(data.get("earlier"))

    def _on_answer(self, told: PageAnswer) -> None:
        with self._lock:
            future = self._asked.pop(str(told.get("id")), None)
        if future is not None:
            future.set_result(told)

    def _find(self, name: str) -> _PageConnection | None:
        with self._lock:
            return next((page for page in reversed(self._open) if name in page.names), None)

    def _send(self, name: str, do: str, what: PageAnswer) -> Future[PageAnswer]:
        page, future = self._find(name), Future[PageAnswer]()
        if page is None:
            future.set_exception(PageGone())
            return future
        number = str(next(self._numbers))
        with self._lock:
            self._asked[number] = future
        page.comm.send({"id": number, "do": do, **what})
        return future


@dataclass(frozen=True)
class NotebookCell:
    """A code cell as the page shows it. `count` is its execution number, or None if it has not run."""

    id: str
    source: str
    count: int | None = None

    @property
    def name(self) -> str:
        return f"cell [{self.count}]" if self.count else "a cell that has not run"


@dataclass(frozen=True)
class NotebookPage:
    """A page that shows the notebook. If it is reloaded, this object uses the new page.

    `name` is the id of the connection that the page had when the cell ran.
    """

    pages: NotebookPages
    name: str

    def is_there(self, *, while_busy: bool) -> bool:
        """Return True if the page has our extension. With `while_busy`, the kernel must also receive its messages while
        a cell runs.

        If the magics were loaded just now, wait for the page to connect.
        """
        while (page := self.pages._find(self.name)) is None and self.pages.may_connect:
            clock.sleep(0.05)
        return page is not None and (page.subshell or not while_busy)

    def ask(self, do: str, **what: Any) -> PageAnswer:
        """Send a request to the page and return its answer. Do not call this on the main thread.

        Raises `PageGone` if the page does not answer.
        """
        try:
            return self.pages._send(self.name, do, what).result(ANSWER_SECONDS)
        except TimeoutError:
            raise PageGone from None

    def cells(self) -> list[NotebookCell]:
        """Return the notebook's code cells as the page shows them. Raises `PageGone` if the page does not answer."""
        return [
            NotebookCell(str(cell["id"]), str(cell["source"]), cell["count"]) for cell in self.ask("cells")["cells"]
        ]

    def send(self, do: str, then: Callable[[PageAnswer], object], **what: Any) -> None:
        """Send a request and return at once. Later, `then` is called with the answer, in any thread.

        If no page is left that could answer, the answer is `{}`.
        """

        def done(future: Future[PageAnswer]) -> None:
            then({} if future.exception() else future.result())

        self.pages._send(self.name, do, what).add_done_callback(done)
