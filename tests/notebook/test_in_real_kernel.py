"""Code of the agent in a real kernel, between cells, and stopped."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.testing import RunningService
from tests.notebook.jupyter import Jupyter, jupyter
from tests.support.waiting import until


def calling(code: str) -> str:
    return "call run_in_kernel " + json.dumps({"code": code})


class Background:
    """A run in the background of a kernel, seen from the service: a cell that asks would keep the kernel busy."""

    def __init__(self, kernel: Jupyter, client: AgentService, script: str) -> None:
        self.kernel, self.client = kernel, client
        kernel.run(f"%%ask --kernel --bg -o later\n{script}", cell_id="c1")
        self.run_id = until(lambda: kernel.run("print(later.run_id)").printed.strip())

    def payloads(self, kind: str) -> list[dict[str, object]]:
        return [event.payload for event in self.client.runs.events(self.run_id).data if event.type == kind]

    def waiting(self) -> str:
        """The id of the call for code that waits."""

        def found() -> list[str]:
            asked = self.payloads("client_call.waiting")
            return [str(each["call_id"]) for each in asked if each["tool"] == "run_in_kernel"]

        return until(found)[-1]

    def told(self) -> str:
        until(lambda: self.client.runs.get(self.run_id).ended)
        return json.dumps(self.payloads("tool.result"))


@pytest.fixture
def kernel(service: RunningService, tmp_path: Path) -> Iterator[Jupyter]:
    named = {"SERVICE_API_KEY": service.api_key, "AGENTSVC_BASE_URL": service.base_url}
    with jupyter(tmp_path, **named) as started:
        yield started


@pytest.fixture
def client(service: RunningService) -> Iterator[AgentService]:
    with AgentService(service.api_key, service.base_url) as client:
        yield client


def test_it_waits_for_a_yes_and_then_for_the_cells_that_are_queued(kernel: Jupyter, client: AgentService) -> None:
    kernel.run("import time; order = []")
    script = f"call list_variables {{}}\n{calling('order.append(99); print(order)')}\nsay done"
    asked = Background(kernel, client, script)
    call_id = asked.waiting()
    time.sleep(0.5)  # the card is drawn
    assert "Approved" in kernel.run(f"%approve {call_id}", cell_id="c2").printed
    for number in range(5):
        kernel.run(f"time.sleep(0.3); order.append({number})", cell_id=f"c{number + 3}")
    assert "[0, 1, 2, 3, 4, 99]" in asked.told()
    assert kernel.run("print(order)").printed == "[0, 1, 2, 3, 4, 99]\n"


def test_a_cell_that_waits_for_the_answer_has_the_code_run(kernel: Jupyter, client: AgentService) -> None:
    asked = Background(kernel, client, f"{calling('n = 6 * 7')}\nsay done")
    asked.waiting()
    assert kernel.run("print(later.text, n)", answers=("y",)).printed.endswith("done 42\n")


def test_an_endless_loop_is_stopped_and_the_agent_goes_on(kernel: Jupyter, client: AgentService) -> None:
    kernel.run("begun = []")
    asked = Background(kernel, client, f"{calling('begun.append(1)' + chr(10) + 'while True: pass')}\nsay and on")
    call_id = asked.waiting()
    time.sleep(0.5)
    kernel.run(f"%approve {call_id}", cell_id="c2")
    time.sleep(3)
    kernel.manager.interrupt_kernel()
    assert "stopped the code" in asked.told()
    assert kernel.run("print(begun, later.text)").printed == "[1] and on\n"


@pytest.mark.parametrize("elsewhere", [False, True])
def test_cancelled_while_it_waits_it_never_runs(kernel: Jupyter, client: AgentService, elsewhere: bool) -> None:
    asked = Background(kernel, client, f"{calling('ran = True')}\nwait 60")
    call_id = asked.waiting()
    time.sleep(0.5)
    if elsewhere:
        client.runs.cancel(asked.run_id)
    else:
        kernel.run("later.cancel()")
    until(lambda: client.runs.get(asked.run_id).ended)
    until(lambda: kernel.run("print(later.done())").printed == "True\n")
    assert kernel.run(f"%approve {call_id}").error is not None
    assert kernel.run("print('ran' in globals())").printed == "False\n"
