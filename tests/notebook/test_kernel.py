"""In a real kernel: what is streamed, what remains, Stop, and code of the agent between cells."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from agentsvc_nb import AgentService
from agentsvc_nb.testing import RunningService
from tests.notebook.jupyter import ROOT, Jupyter, jupyter
from tests.support.waiting import until


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


def test_an_executed_notebook_holds_one_output_a_cell_and_no_widget_and_ends_at_a_failed_run(
    service: RunningService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SERVICE_API_KEY", service.api_key)
    monkeypatch.setenv("AGENTSVC_BASE_URL", service.base_url)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    cells = [
        "%load_ext agentsvc_nb",
        "%%ask\nsay hello\nwrite a.txt hi",
        '%%job echo_job\n{"steps": 2, "seconds": 0.1}',
        "%%ask\nfail agent_error no",
        "open('reached', 'w').close()",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    with pytest.raises(Exception, match="RunFailed"):
        NotebookClient(notebook, timeout=60, kernel_name="python3").execute(cwd=str(tmp_path))
    nbformat.validate(notebook)
    assert [len(cell.outputs) for cell in notebook.cells] == [0, 1, 1, 2, 0]
    assert "widgets" not in notebook.metadata
    assert service.api_key not in nbformat.writes(notebook)
    assert not (tmp_path / "reached").exists()
