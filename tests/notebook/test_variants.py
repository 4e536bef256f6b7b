"""One question asked several times, and one of the answers gone on from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.notebook.errors import AskError, RunFailed
from agentsvc_nb.testing import RunningService
from tests.notebook.allowlist import offences
from tests.notebook.shells import KernelShell, loaded


@pytest.fixture(autouse=True)
def connected(service: RunningService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVICE_API_KEY", service.api_key)
    monkeypatch.setenv("AGENTSVC_BASE_URL", service.base_url)


def test_they_stand_side_by_side_and_one_goes_on(kernel: Any, client: AgentService) -> None:
    own = kernel.cell("%%ask\nsay before").chat
    answers = kernel.cell("%%ask --n 3 -o drafts\nsay **draft**\nwrite a.txt x\nwait 1.2", cell_id="c1")
    assert kernel.shown.messages > 2, "nothing was seen of them while they were written"
    (output,) = kernel.shown.outputs
    assert (output["text/html"].count("<strong>draft</strong>"), output["text/plain"].count("**draft**")) == (3, 3)
    assert offences(output["text/html"]) == []
    assert answers is kernel.user_ns["drafts"]
    assert len({answer.chat for answer in answers} | {own}) == 4
    assert [answer.text for answer in answers] == ["**draft**"] * 3
    assert own == kernel.cell("%%ask\nsay the notebook stays").chat
    assert answers.pick(2) is answers[1]
    assert answers[1].chat == kernel.cell("%%ask\nsay gone on").chat
    with pytest.raises(AskError, match="There is no variant 4"):
        answers.pick(4)


def test_what_was_put_goes_along_with_each(terminal: Any, tmp_path: Any, client: AgentService) -> None:
    (tmp_path / "facts.txt").write_text("facts")
    terminal.cell("%files put facts.txt")
    for answer in terminal.cell("%%ask --n 2\nsay x"):
        assert [file.file_name for file in client.files.list(answer.chat)] == ["facts.txt"]


def test_each_has_the_files_of_the_chat_and_the_one_picked_keeps_them(
    terminal: Any, tmp_path: Any, client: AgentService
) -> None:
    (tmp_path / "facts.txt").write_text("facts")
    own = terminal.cell("%%ask\nwrite out/plan.md x").chat
    terminal.cell(f"%files put {tmp_path / 'facts.txt'}")
    answers = terminal.cell("%%ask --n 2\nwrite out/draft.md y")
    for answer in answers:
        paths = [file.path for file in client.files.list(answer.chat)]
        assert paths == ["out/draft.md", "out/plan.md", "uploads/facts.txt"]
    assert [file.path for file in client.files.list(own)] == ["out/plan.md", "uploads/facts.txt"]
    answers.pick(2)
    assert list(terminal.cell("%files")["path"]) == ["out/draft.md", "out/plan.md", "uploads/facts.txt"]


def test_what_was_put_before_the_first_question_stays_for_the_chat_unless_a_variant_takes_its_place(
    terminal: Any, tmp_path: Any, client: AgentService
) -> None:
    (tmp_path / "facts.txt").write_text("facts")
    terminal.cell(f"%files put {tmp_path / 'facts.txt'}")
    answers = terminal.cell("%%ask --n 2\nsay x")
    own = terminal.cell("%%ask\nsay y").chat
    assert [file.path for file in client.files.list(own)] == ["uploads/facts.txt"]
    answers.pick(1)
    assert list(terminal.cell("%files")["path"]) == ["uploads/facts.txt"]


def test_that_none_completed_fails_the_cell_and_they_are_kept(terminal: Any) -> None:
    with pytest.raises(RunFailed, match="None of the variants completed"):
        terminal.cell("%%ask --n 2 -o drafts\nsay so far\nfail agent_error no")
    assert [answer.status for answer in terminal.user_ns["drafts"]] == ["failed", "failed"]


def test_what_is_refused_says_why_in_its_column(terminal: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RunFailed):
        terminal.cell("%%ask --n 2\nfail-http api_wallet_exhausted")
    assert capsys.readouterr().out.count("api_wallet_exhausted") == 2


@pytest.fixture
def notebook() -> Iterator[Any]:
    shell: Any = loaded(KernelShell, "/home/ada/variants.ipynb")
    yield shell
    shell.cell("%unload_ext agentsvc_nb")
    KernelShell.clear_instance()


def test_restart_and_run_all_starts_none_again(notebook: Any) -> None:
    seen = []
    for _ in range(2):
        answers = notebook.cell("%%ask --n 2\nsay x", cell_id="c1")
        notebook.cell("_.pick(2)", cell_id="c2")
        seen.append([*(answer.run_id for answer in answers), notebook.cell("%%ask\nsay on", cell_id="c3").run_id])
        notebook.cell("%unload_ext agentsvc_nb")
        notebook.cell("%load_ext agentsvc_nb")
    assert seen[0] == seen[1]
    assert len(set(seen[0])) == 3
