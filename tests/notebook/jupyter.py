"""A real kernel, and its cells as a front end with live outputs would show them."""

from __future__ import annotations

import os
import tempfile
import threading
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
    """What a cell did: its outputs, what it printed, its error, and what all that weighed on the channel."""

    cell: Cell = field(default_factory=Cell)
    printed: str = ""
    error: dict[str, Any] | None = None
    results: list[dict[str, Any]] = field(default_factory=list)
    bytes: int = 0
    messages: int = 0

    def shows(self, words: str) -> bool:
        return any(words in output.get("text/plain", "") for output in self.cell.outputs)


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
        asks with `input` gets these answers.

        As front ends do, it waits for the reply, too: ipykernel 7.0 to 7.3 lose what arrives while they send one.
        """
        metadata = {"cellId": cell_id} if cell_id else {}
        content = {"code": code, "silent": False, "store_history": True, "stop_on_error": True}
        content["allow_stdin"] = bool(answers)
        request = self._client.session.msg("execute_request", content, metadata=metadata)
        self._client.shell_channel.send(request)
        if answers:
            threading.Thread(target=self._answer, args=(answers,), daemon=True).start()
        run, interrupted = Run(), False
        for message in self._messages(run):
            if message["parent_header"].get("msg_id") != request["header"]["msg_id"]:
                continue
            if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
                break
            _apply(run, message["msg_type"], message["content"])
            if stop_when and not interrupted and stop_when(run):
                interrupted = True
                self.manager.interrupt_kernel()
        # A kernel that was interrupted before the cell's first line sends no reply.
        assert self._replies(request["msg_id"], 1 if interrupted else PATIENCE_SECONDS) or interrupted, "no reply"
        return run

    def _answer(self, answers: tuple[str, ...]) -> None:
        # Without the client's own functions: each makes an event loop for this thread.
        socket, session = self._client.stdin_channel.socket, self._client.session
        for answer in answers:
            if socket.poll(PATIENCE_SECONDS * 1000):
                socket.recv_multipart()
                session.send(socket, session.msg("input_reply", {"value": answer}))

    def _replies(self, msg_id: str, patience: float) -> bool:
        channel = self._client.shell_channel
        while channel.socket.poll(patience * 1000):
            if channel.get_msg()["parent_header"]["msg_id"] == msg_id:
                return True
        return False

    def _messages(self, run: Run) -> Iterator[dict[str, Any]]:
        socket, session = self._client.iopub_channel.socket, self._client.session
        while True:
            assert socket.poll(PATIENCE_SECONDS * 1000), "the kernel is silent"
            parts = socket.recv_multipart()
            _, rest = session.feed_identities(parts)
            run.bytes += sum(len(part) for part in parts)
            run.messages += 1
            yield session.deserialize(rest)


def _apply(run: Run, kind: str, content: dict[str, Any]) -> None:
    display_id = content.get("transient", {}).get("display_id")
    if kind == "display_data":
        run.cell.show(content["data"], display_id=display_id, metadata=content["metadata"])
    elif kind == "update_display_data" and run.cell.has(display_id):  # else it is an earlier cell's
        run.cell.update(content["data"], display_id, metadata=content["metadata"])
    elif kind == "clear_output":
        run.cell.clear()
    elif kind == "stream":
        run.printed += content["text"]
    elif kind == "execute_result":
        run.results.append(content["data"])
    elif kind == "error":
        run.error = content


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
