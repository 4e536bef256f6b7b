"""When a cell asks and when it shows a known run again (docs/decisions/0007)."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.notebook import commands
from agentsvc_nb.notebook.ask.answer import AnswerShape
from agentsvc_nb.notebook.ask.request import AskRequest, prepare
from agentsvc_nb.notebook.errors import RunFailed
from agentsvc_nb.notebook.state.journal import JournalEntry
from agentsvc_nb.testing import RunningService
from tests.notebook.kernels import Kernel


@pytest.fixture
def kernel(service: RunningService, tmp_path: Path) -> Iterator[Kernel]:
    # A notebook of its own for each test: the service is shared.
    yield from _closed(Kernel(service, tmp_path, f"/home/ada/{uuid.uuid4()}.ipynb"))


def _closed(kernel: Kernel) -> Iterator[Kernel]:
    yield kernel
    kernel.close()


def _texts(kernel: Kernel, *messages: str) -> list[str]:
    return [kernel.ask(message).run_id for message in messages]


def test_restart_and_run_all_shows_the_runs_again_and_starts_none(kernel: Kernel) -> None:
    cells = ["say one", "say two\nwrite out/a.txt x", "say three"]
    first = _texts(kernel, *cells)
    kernel = kernel.restart()
    assert first == _texts(kernel, *cells)
    assert kernel.started == 3
    assert "Shown again" in kernel.shown.outputs[0]["text/plain"]
    assert "three" in kernel.shown.outputs[0]["text/plain"]
    kernel.close()


def test_running_a_cell_again_asks_anew(kernel: Kernel) -> None:
    first, second = _texts(kernel, "say one", "say one")
    assert first != second
    kernel = kernel.restart()
    shown, asked = _texts(kernel, "say one", "say one")
    assert second == shown
    assert asked not in (first, second)
    kernel.close()


def test_what_follows_a_changed_cell_is_asked_anew(kernel: Kernel) -> None:
    first, after = _texts(kernel, "say one", "say after")
    kernel = kernel.restart()
    assert first != kernel.ask("say one, changed").run_id
    assert after != kernel.ask("say after").run_id
    kernel.close()


def test_new_chats_are_shown_again_and_kept_apart(kernel: Kernel) -> None:
    first = [kernel.ask("say x", f"cell {n}", new_chat=True) for n in range(2)]
    first.append(kernel.ask("say after", "cell 2"))
    assert first[0].chat != first[1].chat == first[2].chat
    kernel = kernel.restart()
    again = [kernel.ask("say x", f"cell {n}", new_chat=True) for n in range(2)] + [kernel.ask("say after", "cell 2")]
    assert [answer.run_id for answer in first] == [answer.run_id for answer in again]
    assert kernel.started == 3
    kernel.close()


@pytest.mark.parametrize(
    "option", [{"fresh": True}, {"reuse": False}, {"chat": None, "shape": AnswerShape("x", {"type": "object"})}]
)
def test_it_is_asked_anew_when_that_is_wanted_or_it_is_another_question(
    kernel: Kernel, option: dict[str, object]
) -> None:
    first = kernel.ask('answer {"a": 1}').run_id
    kernel = kernel.restart()
    assert first != kernel.ask('answer {"a": 1}', **option).run_id  # type: ignore[arg-type]
    kernel.close()


def test_a_failed_run_is_never_shown_again(kernel: Kernel) -> None:
    script = "say x\nfail agent_error no"
    first = kernel.ask(script, raise_error=False).run_id
    kernel = kernel.restart()
    with pytest.raises(RunFailed) as caught:
        kernel.ask(script)
    assert first not in str(caught.value)
    kernel.close()


def test_a_changed_attachment_is_asked_about_anew_and_an_unchanged_one_is_not(kernel: Kernel, tmp_path: Path) -> None:
    data = tmp_path / "data.csv"
    data.write_text("a,b\n1,2\n")
    first = kernel.ask("say x", files=(data,)).run_id
    kernel = kernel.restart()
    assert first == kernel.ask("say x", files=(data,)).run_id
    data.write_text("a,b\n1,3\n")
    kernel = kernel.restart()
    assert first != kernel.ask("say x", files=(data,)).run_id
    kernel.close()


@pytest.mark.parametrize("warm", [False, True], ids=["before the first ask", "in a chat with a run"])
def test_a_changed_upload_is_never_answered_from_the_past(kernel: Kernel, tmp_path: Path, warm: bool) -> None:
    data = tmp_path / "data.csv"

    def run_all(kernel: Kernel) -> list[str]:
        runs = [kernel.ask("say warm").run_id] if warm else []
        commands.files_put(kernel.session, [data])
        return [*runs, *_texts(kernel, "say x", "say y")]

    data.write_text("a,b\n1,2\n")
    first = run_all(kernel)
    kernel = kernel.restart()
    if not warm:
        assert first == run_all(kernel)
    data.write_text("a,b\n1,3\n")
    kernel = kernel.restart()
    assert not set(first[-2:]) & set(run_all(kernel))
    kernel.close()


def _put_then_ask(kernel: Kernel, data: Path) -> list[str]:
    commands.files_put(kernel.session, [data])
    return [kernel.ask("say with", files=(data,)).run_id, kernel.ask("say after").run_id]


def test_a_file_that_is_put_and_then_attached_is_no_new_question(kernel: Kernel, tmp_path: Path) -> None:
    data = tmp_path / "data.csv"
    data.write_text("a,b\n1,2\n")
    first = _put_then_ask(kernel, data)
    for _ in range(2):
        kernel = kernel.restart()
        assert first == _put_then_ask(kernel, data)
    assert kernel.started == 2
    assert list(commands.files(kernel.session)["path"]) == ["uploads/data.csv"], "not there twice"
    kernel.close()


@pytest.mark.parametrize("by_cell", [False, True])
def test_another_file_is_news_to_the_cells_above_unless_a_cell_below_puts_it(
    kernel: Kernel, tmp_path: Path, by_cell: bool
) -> None:
    data, other = tmp_path / "data.csv", tmp_path / "other.csv"
    data.write_text("a\n1\n")
    other.write_text("b\n2\n")

    first = _put_then_ask(kernel, data)
    commands.files_put(kernel.session, [other], by_cell=by_cell)
    kernel = kernel.restart()
    second = _put_then_ask(kernel, data)
    assert second == first if by_cell else not set(first) & set(second)
    kernel = kernel.restart()
    assert _put_then_ask(kernel, data) == second
    kernel.close()


def test_an_upload_by_somebody_else_counts_too(kernel: Kernel, client: AgentService) -> None:
    first = kernel.ask("say x")
    assert first.chat
    client.files.upload(("news.txt", b"news"), chat=first.chat)
    kernel = kernel.restart()
    assert first.run_id != kernel.ask("say x").run_id
    kernel.close()


def test_a_run_that_this_account_does_not_have_is_asked_for_anew(kernel: Kernel) -> None:
    question = AskRequest("say x")
    request = prepare(kernel.session, question)
    stranger = JournalEntry(
        "k", request.fingerprint, "n", kernel.session.base_url, "a", run_id=str(uuid.uuid4()), status="completed"
    )
    kernel.session.journal.start(stranger)
    assert prepare(kernel.session, question).shown is None


def test_a_start_that_was_never_answered_is_sent_with_its_own_key(kernel: Kernel, client: AgentService) -> None:
    question = AskRequest("say x")
    lost = prepare(kernel.session, question)
    entry = JournalEntry(
        lost.key, lost.fingerprint, kernel.session.notebook or "", kernel.session.base_url, str(lost.address)
    )
    kernel.session.journal.start(entry)
    begun = client.runs.start("say x", session=kernel.session.label, idempotency_key=lost.key)
    assert begun.run_id == kernel.ask("say x", "").run_id
