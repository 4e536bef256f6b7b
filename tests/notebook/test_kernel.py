"""In a real kernel: what is streamed, what remains, Stop, and code of the agent between cells."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.manager import KernelManager

from agentsvc_nb import AgentService
from agentsvc_nb.testing import RunningService
from tests.notebook.screens import Cell
from tests.support.waiting import PATIENCE_SECONDS, until

ROOT = Path(__file__).parents[2]


@dataclass
class Run:
    """What a cell did: its outputs, what it printed, its error, and how many bytes all that has."""

    cell: Cell = field(default_factory=Cell)
    printed: str = ""
    results: list[dict[str, Any]] = field(default_factory=list)
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
        elif kind == "execute_result":
            self.results.append(content["data"])
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

    def comm_targets(self) -> list[str]:
        """What the kernel answers a page that asks for its comms."""
        reply = self._client.comm_info(reply=True, timeout=PATIENCE_SECONDS)
        return [comm["target_name"] for comm in reply["content"]["comms"].values()]


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


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kernel")


@pytest.fixture(scope="module")
def kernel(service: RunningService, folder: Path) -> Iterator[Jupyter]:
    """One for all tests, as starting one takes seconds."""
    environ = {
        "SERVICE_API_KEY": service.api_key,
        "AGENTSVC_BASE_URL": service.base_url,
        "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
        "XDG_DATA_HOME": str(folder / "share"),
    }
    with jupyter(folder, **environ) as started:
        yield started


def calling(code: str) -> str:
    return "call run_in_kernel " + json.dumps({"code": code})


class Background:
    """A run in the background of a kernel in a chat of its own, seen from the service."""

    def __init__(self, kernel: Jupyter, client: AgentService, script: str) -> None:
        self.kernel, self.client = kernel, client
        kernel.run(f"%%ask --kernel --bg --new-chat -o later\n{script}", cell_id="c1")
        self.run_id = until(lambda: kernel.run("print(later.run_id)").printed.strip())

    def payloads(self, kind: str) -> list[dict[str, object]]:
        return [event.payload for event in self.client.runs.events(self.run_id).data if event.type == kind]

    def waiting(self) -> str:
        """The id of the call for code that waits."""

        def found() -> list[str]:
            asked = self.payloads("client_call.waiting")
            return [str(each["call_id"]) for each in asked if each["tool"] == "run_in_kernel"]

        return until(found)[-1]

    def approve(self) -> None:
        call_id = self.waiting()
        until(lambda: "Approved" in self.kernel.run(f"%approve {call_id}", cell_id="c2").printed)

    def told(self) -> str:
        until(lambda: self.client.runs.get(self.run_id).ended)
        return json.dumps(self.payloads("tool.result"))


def test_stop_cancels_the_run_the_cell_says_so_and_fails(kernel: Jupyter, client: AgentService) -> None:
    run = kernel.run(
        "%%ask -o begun\nsay begun\nwait 60\nsay never", cell_id="c1", stop_when=lambda run: run.shows("begun")
    )
    assert run.error is not None
    assert run.error["ename"] == "RunStopped"
    (output,) = run.cell.outputs
    assert "■ cancelled" in output["text/plain"]
    assert output["text/plain"].startswith("begun")
    assert kernel.run("print(begun.text, begun.status)").printed.split() == ["begun", "cancelled"]
    run_id = str((run.cell.metadata or {})["agentsvc_nb"]["run_id"])
    assert client.runs.get(run_id).status == "cancelled"
    assert kernel.run("print(1 + 2)").printed.strip() == "3"


def test_it_waits_for_a_yes_and_then_for_the_cells_that_are_queued(kernel: Jupyter, client: AgentService) -> None:
    kernel.run("import time; order = []")
    script = f"call list_variables {{}}\n{calling('order.append(99); print(order)')}\nsay done"
    asked = Background(kernel, client, script)
    asked.approve()
    for number in range(3):
        kernel.run(f"time.sleep(0.3); order.append({number})", cell_id=f"c{number + 3}")
    assert "[0, 1, 2, 99]" in asked.told()


def test_an_endless_loop_is_stopped_and_the_agent_goes_on(kernel: Jupyter, client: AgentService, folder: Path) -> None:
    code = "open('begun', 'w').close()\nwhile True: pass"
    asked = Background(kernel, client, f"{calling(code)}\nsay on")
    asked.approve()
    until((folder / "begun").exists)
    kernel.manager.interrupt_kernel()
    assert "stopped the code" in asked.told()
    assert kernel.run("print(later.text)").printed == "on\n"


def test_cancelled_while_it_waits_it_never_runs(kernel: Jupyter, client: AgentService) -> None:
    asked = Background(kernel, client, f"{calling('ran = True')}\nwait 60")
    call_id = asked.waiting()
    client.runs.cancel(asked.run_id)
    until(lambda: client.runs.get(asked.run_id).ended)
    until(lambda: kernel.run("print(later.done())").printed == "True\n")
    assert kernel.run(f"%approve {call_id}").error is not None
    assert kernel.run("print('ran' in globals())").printed == "False\n"


def test_a_page_that_was_loaded_again_can_list_the_widgets(kernel: Jupyter) -> None:
    assert kernel.run("import agentsvc_nb\nfront = agentsvc_nb.Chat().front").error is None
    assert set(kernel.comm_targets()) == {"jupyter.widget"}
