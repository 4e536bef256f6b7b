"""In a real kernel: what is streamed, what remains, Stop, and Restart and Run All."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from agentsvc_nb import AgentService
from agentsvc_nb.testing import RunningService
from tests.notebook.allowlist import offences
from tests.notebook.jupyter import ROOT, Jupyter, jupyter


@pytest.fixture
def environ(service: RunningService, tmp_path: Path) -> dict[str, str]:
    name = str(tmp_path / "campaign.ipynb")
    return {"SERVICE_API_KEY": service.api_key, "AGENTSVC_BASE_URL": service.base_url, "JPY_SESSION_NAME": name}


@pytest.fixture
def kernel(environ: dict[str, str], tmp_path: Path) -> Iterator[Jupyter]:
    with jupyter(tmp_path, **environ) as started:
        yield started


def test_a_long_answer_is_streamed_in_under_80_bytes_a_character_and_one_output_remains(kernel: Jupyter) -> None:
    paragraph = "Some *words* about the campaign, and then some more of them. " * 6
    script = "\n".join(f"say {paragraph}\nsay\nwait 0.02" for _ in range(54))
    run = kernel.run(f"%%ask\n{script}", cell_id="c1")
    text = kernel.run("print(len(_.text))").printed
    assert run.error is None
    assert int(text) > 19_000
    assert run.bytes < 80 * int(text)
    assert run.messages > 10, "it was not shown while it was written"
    (output,) = run.cell.outputs
    assert {"text/plain", "text/html"} == set(output)
    assert offences(output["text/html"]) == []
    assert run.results == []


def test_without_a_cell_id_there_is_one_static_output(kernel: Jupyter) -> None:
    run = kernel.run("%%ask -o answer\nsay **hello**")
    assert (run.cell.messages, len(run.cell.outputs)) == (1, 1)
    assert "<strong>hello</strong>" in run.cell.outputs[0]["text/html"]
    assert kernel.run("print(answer is _, answer.text.strip('*'))").printed.strip() == "True hello"
    again = kernel.run("answer")
    assert run.cell.outputs == again.cell.outputs


def test_stop_cancels_the_run_the_cell_says_so_and_fails(kernel: Jupyter, client: AgentService) -> None:
    run = kernel.run(
        "%%ask -o begun\nsay begun\nwait 60\nsay never", cell_id="c1", stop_when=lambda run: run.shows("begun")
    )
    assert run.error is not None
    assert run.error["ename"] == "RunStopped"
    assert len(run.error["traceback"]) <= 3
    (output,) = run.cell.outputs
    assert "■ cancelled" in output["text/plain"]
    assert output["text/plain"].startswith("begun")
    assert output["text/plain"].lower().count("cancelled") == 1, "the error below says the rest"
    assert "topped" not in output["text/plain"]
    assert kernel.run("print(begun.text, begun.status)").printed.split() == ["begun", "cancelled"]
    run_id = str((run.cell.metadata or {})["agentsvc_nb"]["run_id"])
    assert client.runs.get(run_id).status == "cancelled"
    assert kernel.run("print(1 + 2)").printed.strip() == "3"


SERVICE = """
from agentsvc_nb.testing import running_service
context = running_service()
service = context.__enter__()
"""
ANSWERS = "from urllib.request import urlopen\nprint(urlopen(f'{service.base_url}/healthz').status)"


def test_stop_spares_a_service_that_the_notebook_started(kernel: Jupyter) -> None:
    kernel.run(SERVICE)
    stopped = kernel.run(
        "import time\nprint('begun', flush=True)\ntime.sleep(60)", stop_when=lambda run: "begun" in run.printed
    )
    assert (stopped.error or {})["ename"] == "KeyboardInterrupt"
    assert kernel.run(ANSWERS).printed.strip() == "200"
    kernel.run("context.__exit__(None, None, None)")


def test_stop_just_after_the_start_leaves_no_run_behind(kernel: Jupyter, client: AgentService) -> None:
    # Two messages: busy and the echo of the input. The cell has just begun.
    run = kernel.run("%%ask\nsay begun\nwait 60", cell_id="c1", stop_when=lambda run: run.messages >= 2)
    # Without an error the kernel took the interrupt before it came to the cell; then nothing was started either.
    assert run.error is None or run.error["ename"] in ("KeyboardInterrupt", "RunStopped")
    for run_id in kernel.run("print(*(%runs).run_id.dropna())").printed.split():
        assert client.runs.wait(run_id, poll=0.05).status == "cancelled"


def test_stop_cancels_a_job(kernel: Jupyter) -> None:
    run = kernel.run(
        '%%job echo_job -o left\n{"steps": 100, "seconds": 60}', cell_id="c1", stop_when=lambda run: run.shows("job ")
    )
    assert run.error is not None
    assert run.error["ename"] == "RunStopped"
    (output,) = run.cell.outputs
    assert "■ cancelled" in output["text/plain"]
    assert "The cell was stopped; job " in run.error["evalue"]
    assert kernel.run("print(left.status, len(left.files))").printed.strip() == "cancelled 0"


def test_restart_and_run_all_starts_no_run(environ: dict[str, str], tmp_path: Path) -> None:
    seen = []
    for _ in range(2):
        with jupyter(tmp_path, **environ) as kernel:
            cells = ["%%ask\nsay one", "%%ask\nsay two\nwrite out/a.txt hi"]
            runs = [kernel.run(cell, cell_id=f"c{n}").cell.metadata for n, cell in enumerate(cells)]
            count = kernel.run("table = %runs\nprint(len(table), *table['run_id'])").printed
            seen.append((runs, count))
    assert seen[0] == seen[1]
    assert seen[0][1].startswith("2 ")


def test_a_failed_run_fails_the_cell_in_three_lines(kernel: Jupyter) -> None:
    run = kernel.run("%%ask\nsay so far\nfail agent_error It broke.", cell_id="c1")
    assert run.error is not None
    assert run.error["ename"] == "RunFailed"
    assert "agent_error: It broke" in run.error["evalue"]
    assert len(run.error["traceback"]) <= 3
    assert "so far" in run.cell.outputs[0]["text/plain"]
    assert kernel.run("%%ask --no-raise-error\nfail agent_error It broke.").error is None


def _executed(
    cells: list[str], environ: dict[str, str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> nbformat.NotebookNode:
    for name, value in {**environ, "PYTHONPATH": str(ROOT), "XDG_STATE_HOME": str(folder / "state")}.items():
        monkeypatch.setenv(name, value)
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    try:
        NotebookClient(notebook, timeout=60, kernel_name="python3").execute(cwd=str(folder))
    finally:
        nbformat.validate(notebook)
    return notebook


def test_an_executed_notebook_holds_one_output_a_cell_and_no_widget(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = [
        "%load_ext agentsvc_nb",
        "%%ask\nsay hello\nwrite a.txt hi",
        '%%job echo_job\n{"steps": 2, "seconds": 0.1}',
    ]
    notebook = _executed(cells, environ, tmp_path, monkeypatch)
    assert [len(cell.outputs) for cell in notebook.cells] == [0, 1, 1]
    assert "widgets" not in notebook.metadata
    assert environ["SERVICE_API_KEY"] not in nbformat.writes(notebook)


def test_run_all_stops_at_a_failed_run(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = ["%load_ext agentsvc_nb", "%%ask\nfail agent_error no", "open('reached', 'w').close()"]
    with pytest.raises(CellExecutionError, match="RunFailed"):
        _executed(cells, environ, tmp_path, monkeypatch)
    assert not (tmp_path / "reached").exists()
