"""The magics against a real service, in shells of this process."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.notebook.display import results
from agentsvc_nb.notebook.errors import AskError, RunFailed
from agentsvc_nb.testing import RunningService
from tests.notebook.allowlist import offences

COUNT = 'request.outputs: {"mode": "count", "count": 2}'

pytestmark = pytest.mark.usefixtures("connected")


def test_an_answer_is_in_the_variable_and_in_underscore(terminal: Any, capsys: pytest.CaptureFixture[str]) -> None:
    answer = terminal.cell("%%ask -o reply\nsay hello\nwrite out/a.txt hi there\nusage 30 12")
    said = capsys.readouterr().out
    assert said.startswith("hello\n")
    assert said.count("hello") == 1
    assert "✓ completed" in said
    assert "cents" in said
    assert answer is terminal.user_ns["reply"] is terminal.user_ns["_"]
    assert (answer.text, answer.status, list(answer.files.df["path"])) == ("hello", "completed", ["out/a.txt"])
    assert [str(kind) for kind in results.FILES.values()] == [str(kind) for kind in answer.files.df.dtypes][
        : len(results.FILES)
    ]


def test_variables_go_in_as_text_once(terminal: Any) -> None:
    terminal.cell("client, trap = 'Ada', '{{client}}'")
    assert terminal.cell("%%ask\nsay {{client}} {{trap}} $HOME {1+1}").text == "Ada {{client}} $HOME {1+1}"


def test_variables_go_into_the_line_as_one_argument(terminal: Any, tmp_path: Path) -> None:
    (tmp_path / "my plan.txt").write_text("x")
    terminal.cell("plan, name = 'my plan.txt', 'kept'")
    terminal.cell("%%ask --file {{plan}} -o {{name}}\nsay x")
    assert terminal.user_ns["kept"].status == "completed"
    assert list(terminal.cell("%files")["file_name"]) == ["my plan.txt"]
    with pytest.raises(AskError, match="there is no variable `nothing`"):
        terminal.cell("%runs show {{nothing}}")


def test_a_comment_ends_the_line_of_a_magic(terminal: Any, tmp_path: Path) -> None:
    for name in ("report#2.csv", "a #1.csv"):
        (tmp_path / name).write_text("n\n1\n")
    terminal.cell("%%ask --new-chat   # a comment -o other\nsay hello # world")
    assert terminal.user_ns["_"].text == "hello # world"
    terminal.cell("%files put report#2.csv 'a #1.csv' # the two 'reports'")
    assert list(terminal.cell("%files   # all").df["path"]) == ["uploads/a #1.csv", "uploads/report#2.csv"]
    assert terminal.cell("%runs attach last # the first").text == "hello # world"
    assert not terminal.cell("%search nothing # report").df.shape[0]


def test_a_kernel_without_cell_ids_shows_one_static_output(kernel: Any) -> None:
    kernel.cell("%%ask\nsay **hello** <script>alert(1)</script>\nwrite <b>.txt x")
    (output,) = kernel.shown.outputs
    assert kernel.shown.messages == 1
    assert offences(output["text/html"]) == []
    assert "Files of this run" in output["text/html"]


def test_a_cell_with_an_id_is_live_and_leaves_one_output(kernel: Any) -> None:
    answer = kernel.cell("%%ask\nsay one\nsay\nsay two\nwait 0.5", cell_id="c1")
    assert kernel.shown.messages > 3
    (output,) = kernel.shown.outputs
    assert answer._repr_mimebundle_() == output
    assert {"run_id": answer.run_id, "chat": answer.chat, "status": "completed"} == kernel.shown.metadata["agentsvc_nb"]


def test_live_can_be_set(kernel: Any) -> None:
    kernel.cell("%config Ask.live = True")
    kernel.cell("%%ask\nsay one")
    assert kernel.shown.messages > 1
    kernel.cell("%config Ask.live = False")
    kernel.cell("%%ask\nsay one", cell_id="c1")
    assert kernel.shown.messages == 1


def test_an_answer_shown_by_its_cell_is_shown_again_by_another(kernel: Any) -> None:
    kernel.cell("%%ask -o reply\nsay hello")
    assert len(kernel.shown.outputs) == 1
    kernel.cell("reply")
    assert "hello" in kernel.shown.outputs[0]["text/plain"]


def test_nothing_is_doubled_when_the_run_is_resumed(kernel: Any) -> None:
    answer = kernel.cell("%%ask\nsay kept\nstep 1\nsay once\nwait 0.3\nrewind\nsay end", cell_id="c1")
    assert answer.run.output == answer.text
    assert answer.text.count("once") == 1
    assert kernel.shown.outputs[0]["text/plain"].count("once") == 1


def test_a_failed_run_raises_why_and_keeps_what_it_left(terminal: Any) -> None:
    with pytest.raises(RunFailed, match="agent_error: It broke") as caught:
        terminal.cell("%%ask -o reply\nsay so far\nfail agent_error It broke")
    assert terminal.user_ns["reply"].text.strip() == "so far"
    assert terminal.user_ns["reply"].run_id in str(caught.value)
    assert terminal.cell("%%ask --no-raise-error\nfail agent_error no").status == "failed"


@pytest.mark.parametrize(
    ("code", "said"),
    [("api_wallet_exhausted", "wallet"), ("chat_id_retired", "another chat"), ("api_key_budget_exhausted", "budget")],
)
def test_what_the_service_refuses_is_told_with_its_code(terminal: Any, code: str, said: str) -> None:
    with pytest.raises(AskError, match=code) as caught:
        terminal.cell(f"%%ask\nfail-http {code}")
    assert said in f"{caught.value} {caught.value.hint}".lower()


def test_a_wrong_key_is_told_and_not_shown(terminal: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    key = "svc_sk_" + "x" * 43
    monkeypatch.setenv("SERVICE_API_KEY", key)
    with pytest.raises(AskError) as caught:
        terminal.cell("%%ask\nsay x")
    assert "SERVICE_API_KEY" in caught.value.hint
    assert key not in "".join(caught.value._render_traceback_())


def test_a_busy_chat_names_the_run_that_holds_it(terminal: Any, client: AgentService) -> None:
    busy = client.runs.start("wait 60")
    try:
        with pytest.raises(AskError, match=busy.run_id) as caught:
            terminal.cell(f"%%ask --chat {busy.chat}\nsay x")
        assert "--new-chat" in caught.value.hint
    finally:
        terminal.cell(f"%runs cancel {busy.run_id}")
    assert client.runs.wait(busy.run_id, poll=0.05).status == "cancelled"


def test_after_the_time_given_the_run_goes_on_and_can_be_followed(terminal: Any, client: AgentService) -> None:
    with pytest.raises(RunFailed, match="it goes on") as caught:
        terminal.cell("%%ask -o late --timeout 1.5\nsay begun\nwait 60")
    answer: Any = caught.value.answer
    assert answer is terminal.user_ns["late"]
    client.runs.cancel(answer.run_id)
    with pytest.raises(RunFailed, match="was cancelled"):
        terminal.cell(f"%runs attach {answer.run_id}")


def test_a_run_that_reached_its_limit_says_how_to_go_on_and_goes_on(terminal: Any, client: AgentService) -> None:
    script = "usage 10000 0\nsay one\nstep 1\nusage 20000 0\nsay two"
    run_id = client.runs.start(script, max_cents=1).run_id
    with pytest.raises(RunFailed, match=f"`%runs resume {run_id[:8]} --max-cents N` goes on with it"):
        terminal.cell(f"%runs attach {run_id}")
    answer = terminal.cell(f"%runs resume {run_id} --max-cents 3")
    assert answer.text == "one\ntwo"


def test_runs_are_a_frame_of_this_notebooks_runs(terminal: Any) -> None:
    assert (0, list(results.RUNS)) == (len(terminal.cell("%runs")), list(terminal.cell("%runs").df.columns))
    answer = terminal.cell("%%ask\nsay hello\nsay more")
    table = terminal.cell("%runs")
    assert ([answer.run_id], ["completed"]) == (list(table["run_id"]), list(table["status"]))
    assert list(table["prompt"]) == ["say hello say more"]
    assert bool(table["ended_at"].notna().all())


def test_files_are_put_listed_and_got(terminal: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a.csv", "b.csv", "c.txt"):
        (tmp_path / name).write_text(name)
    terminal.cell("%files put *.csv 'c.txt'")
    assert "3 sent" in capsys.readouterr().out
    assert {"a.csv", "b.csv", "c.txt"} == set(terminal.cell("%files")["file_name"])
    terminal.cell("%%ask\nsay x\nwrite out/made.txt made")
    assert {"a.csv", "b.csv", "c.txt", "made.txt"} == set(terminal.cell("%files")["file_name"])
    terminal.cell("%files put a.csv")
    assert "0 sent, 1 unchanged: a.csv" in capsys.readouterr().out
    assert len(terminal.cell("%files")) == 4
    got = Path(terminal.cell("%files get out/made.txt --to got"))
    assert (got.name, got.read_text()) == ("made.txt", "made")
    with pytest.raises(AskError, match=r"There is no file out/nothing\.txt"):
        terminal.cell("%files get out/nothing.txt")
    assert [path.name for path in (tmp_path / "got").iterdir()] == ["made.txt"]


def test_a_file_of_ones_own_is_not_replaced_unasked(
    terminal: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = tmp_path / "made.txt"
    terminal.cell("%%ask\nsay x\nwrite out/made.txt made")
    assert terminal.cell("%files get out/made.txt") == "made.txt"
    capsys.readouterr()
    assert terminal.cell("%files get out/made.txt") == "made.txt"
    assert "made.txt is there already, with the same content" in capsys.readouterr().out
    made.write_text("my own, newer")
    with pytest.raises(AskError, match="there already with other content; nothing was replaced") as caught:
        terminal.cell("%files get out/made.txt")
    assert all(option in caught.value.hint for option in ("--force", "--to DIR"))
    assert made.read_text() == "my own, newer"
    terminal.cell("%files get --force out/made.txt")
    assert made.read_text() == "made"


def test_a_file_goes_along_with_the_question(terminal: Any, tmp_path: Path) -> None:
    (tmp_path / "my plan.txt").write_text("the plan")
    terminal.cell("%%ask --file 'my plan.txt'\nsay x")
    assert list(terminal.cell("%files")["file_name"]) == ["my plan.txt"]


def test_a_frame_says_which_run_model_and_inputs_it_is_from(terminal: Any, tmp_path: Path) -> None:
    (tmp_path / "plan.txt").write_text("the plan")
    answer = terminal.cell("%%ask --file plan.txt\nwrite out/a.txt x")
    digest = hashlib.sha256(b"the plan").hexdigest()
    facts = {"run_id": answer.run_id, "model": "scripted", "chat": answer.chat, "inputs": [digest]}
    assert answer.files.df.attrs == facts
    assert terminal.cell("%runs show last").files.df.attrs == facts


def test_a_new_chat_is_stayed_in(terminal: Any) -> None:
    first, second, third = (
        terminal.cell("%%ask\nsay 1"),
        terminal.cell("%%ask --new-chat\nsay 2"),
        terminal.cell("%%ask\nsay 3"),
    )
    assert first.chat != second.chat == third.chat
    assert first.chat == terminal.cell(f"%%ask --chat {first.chat}\nsay 4").chat


def test_a_job_moves_its_bar_and_leaves_its_files(kernel: Any) -> None:
    kernel.cell("n = 4")
    result = kernel.cell(
        '%%job echo_job -o done\nsteps: {{n}}\nseconds: 1\nfiles: {"out/x.txt": "made of {{n}}"}', cell_id="c1"
    )
    assert kernel.shown.messages > 2
    (output,) = kernel.shown.outputs
    assert "✓ succeeded" in output["text/plain"]
    assert "out/x.txt" in output["text/html"]
    assert offences(output["text/html"]) == []
    assert (list(result.files.df["path"]), kernel.user_ns["done"].status) == (["out/x.txt"], "succeeded")
    assert "out/x.txt" in set(kernel.cell("%files")["path"]), "a job works in the notebook's own chat"
    assert result.chat == kernel.cell("%%ask\nsay x").chat


@pytest.mark.parametrize(
    "cell", ["%%job echo_job\nsteps: 1\nseconds: 0\nfail: it broke", "%%tool web_search\nquery: x"]
)
def test_why_a_job_or_tool_failed_stands_in_the_exception_below_its_output(kernel: Any, cell: str) -> None:
    with pytest.raises(RunFailed) as caught:
        kernel.cell(cell)
    assert "it broke" in str(caught.value) or "AGENTSVC_" in str(caught.value)
    shown = kernel.shown.outputs[-1]["text/plain"]
    assert "failed" in shown
    assert "it broke" not in shown
    assert "AGENTSVC_" not in shown


def test_a_job_that_fails_fails_the_cell(terminal: Any) -> None:
    with pytest.raises(RunFailed, match=r"\(echo_job\) failed: it broke"):
        terminal.cell("%%job echo_job -o done\nsteps: 1\nseconds: 0\nfail: it broke")
    assert terminal.user_ns["done"].status == "failed"
    assert "echo_failed: it broke" in repr(terminal.user_ns["done"].shown)
    with pytest.raises(AskError, match="tool_not_found") as caught:
        terminal.cell("%%job no_such_tool\nx: 1")
    assert "create_images" in caught.value.hint
    assert "echo_job" in caught.value.hint


def test_pictures_of_a_job_are_shown_small(kernel: Any) -> None:
    kernel.cell("%%job create_images\nrequest.kind: static_ad\nrequest.brief: Sale\n" + COUNT)
    html = kernel.shown.outputs[0]["text/html"]
    assert html.count('<img src="data:image/webp;base64,') == 2
    assert offences(html) == []


def test_the_key_is_nowhere(
    kernel: Any, service: RunningService, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kernel.cell("%%ask\nsay x")
    kernel.cell("%agentsvc")
    shown = repr(kernel.shown.outputs) + capsys.readouterr().out
    (ask,) = [part for part in kernel.configurables if type(part).__name__ == "Ask"]
    shown += repr(vars(ask)) + repr(ask.session) + repr(ask.session.client()) + repr(kernel.user_ns["_"])
    files = [path for path in Path(os.environ["XDG_STATE_HOME"]).rglob("*") if path.is_file()]
    assert any(path.name == "journal.sqlite" for path in files)
    assert service.api_key not in shown
    assert not any(service.api_key.encode() in path.read_bytes() for path in files)


def test_a_broken_journal_is_one_line_and_the_ask_goes_on(kernel: Any) -> None:
    Path(os.environ["XDG_STATE_HOME"]).write_text("in the way")
    assert kernel.cell("%%ask\nsay x").text == "x"
    assert "journal of runs can't be used" in kernel.shown.outputs[0]["text/plain"]
    assert kernel.cell("%%ask\nsay y").text == "y"
    assert "journal" not in kernel.shown.outputs[0]["text/plain"]


def test_loading_the_magics_loads_nothing_that_takes_long() -> None:
    code = (
        "import sys; from IPython.core.interactiveshell import InteractiveShell as Shell; before = set(sys.modules);"
        " Shell.instance().run_line_magic('load_ext', 'agentsvc_nb'); print(*set(sys.modules) - before)"
    )
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert "agentsvc_nb.notebook.magics" in loaded
    assert not {"httpx", "pandas", "markdown_it", "PIL", "pydantic", "ipywidgets", "agentsvc_nb.client"} & {*loaded}


def test_a_command_that_the_shell_does_not_find_is_explained(
    kernel: Any, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    kernel.cell("!agentsvc status")
    said = capfd.readouterr().out
    assert "In a notebook \x1b[1m%agentsvc\x1b[0m does it" in said
    assert f"!{sys.executable} -m agentsvc_nb" in said
    kernel.cell("print('!agentsvc')")
    assert "not found" not in capfd.readouterr().out
