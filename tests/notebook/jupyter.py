"""A real kernel, and its cells as a front end with live outputs would show them."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jupyter_client.manager import KernelManager

from tests.notebook.screens import Cell
from tests.support.waiting import PATIENCE_SECONDS

ROOT = Path(__file__).parents[2]


@dataclass
class Run:
    """What a cell did: its outputs, what it printed, its error, and how many bytes all that has."""

    cell: Cell = field(default_factory=Cell)
    printed: str = ""
    error: dict[str, Any] | None = None
    bytes: int = 0

    def shows(self, words: str) -> bool:
        return any(words in output.get("text/plain", "") for output in self.cell.outputs)

    def apply(self, kind: str, content: dict[str, Any]) -> None:
        self.bytes += len(json.dumps(content))
        display_id = content.get("transient", {}).get("display_id")
        if kind == "display_data":
            self.cell.show(content["data"], display_id=display_id, metadata=content["metadata"])
        elif kind == "update_display_data" and self.cell.has(display_id):  # else it is an earlier cell's
            self.cell.update(content["data"], display_id, metadata=content["metadata"])
        elif kind == "clear_output":
            self.cell.clear()
        elif kind == "stream":
            self.printed += content["text"]
        elif kind == "error":
            self.error = content


class Jupyter:
    def __init__(self, manager: Any, client: Any) -> None:
        self.manager, self._client = manager, client

    def run(
        self,
        code: str,
        cell_id: str | None = None,
        stop_when: Callable[[Run], bool] | None = None,
        answers: tuple[str, ...] = (),
    ) -> Run:
        """Run a cell to its end. It is interrupted once, at the first message after which `stop_when` is true; what it
        asks with `input` gets these answers."""
        run, left, waits = Run(), [*answers], [stop_when] if stop_when else []

        def output(message: dict[str, Any]) -> None:
            run.apply(message["msg_type"], message["content"])
            if waits and waits[0](run):
                waits.clear()
                self.manager.interrupt_kernel()

        self._client.session.metadata = {"cellId": cell_id} if cell_id else {}
        self._client.execute_interactive(
            code,
            allow_stdin=bool(answers),
            output_hook=output,
            stdin_hook=lambda _: self._client.input(left.pop(0)),
            timeout=2 * PATIENCE_SECONDS,
        )
        return run


@contextmanager
def jupyter(folder: Path, **environ: str) -> Iterator[Jupyter]:
    """A kernel with the extension loaded, working in `folder`.

    Its sockets are files, as another test may take a port before the kernel binds it. Their folder has a short name:
    a socket's path ends at 107 characters.
    """
    env = {name: value for name, value in os.environ.items() if name not in ("JPY_SESSION_NAME", "SERVICE_API_KEY")}
    env |= {"PYTHONPATH": str(ROOT), "IPYTHONDIR": str(folder / "ipython"), "XDG_STATE_HOME": str(folder / "state")}
    with tempfile.TemporaryDirectory(prefix="kernel-") as sockets:
        manager: Any = KernelManager(transport="ipc", ip=str(Path(sockets, "socket")))
        manager.start_kernel(env=env | environ, cwd=str(folder))
        client = manager.client()
        client.start_channels()
        try:
            client.wait_for_ready(timeout=PATIENCE_SECONDS)
            kernel = Jupyter(manager, client)
            assert kernel.run("%load_ext agentsvc_nb").error is None
            yield kernel
        finally:
            client.stop_channels()
            manager.shutdown_kernel(now=True)
