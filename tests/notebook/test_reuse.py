"""When a cell asks and when it shows a known run again (docs/decisions/06), on the same day and the next."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.notebook import commands
from agentsvc_nb.notebook.ask.answer import AnswerShape, CellAnswer
from agentsvc_nb.notebook.ask.request import AskRequest, prepare
from agentsvc_nb.notebook.display.screens import StaticScreen
from agentsvc_nb.notebook.errors import RunFailed
from agentsvc_nb.notebook.files.attachments import attachments
from agentsvc_nb.notebook.state.journal import CellExecution, Journal, JournalEntry
from agentsvc_nb.notebook.state.session import Session
from agentsvc_nb.testing import RunningService
from tests.notebook.conftest import used_shell
from tests.notebook.screens import Cell
from tests.notebook.shells import KernelShell, loaded


@pytest.fixture
def kernel(service: RunningService, tmp_path: Path) -> Iterator[Kernel]:
    # A notebook of its own for each test: the service is shared.
    made = Kernel(service, tmp_path, f"/home/ada/{uuid.uuid4()}.ipynb")
    yield made
    made.close()


def _texts(kernel: Kernel, *messages: str) -> list[str]:
    return [kernel.ask(message).run_id for message in messages]


def test_restart_and_run_all_shows_the_runs_again_and_starts_none(kernel: Kernel) -> None:
    cells = ["say one", "say two\nwrite out/a.txt x", "say three"]
    first = _texts(kernel, *cells)
    kernel.restart()
    assert first == _texts(kernel, *cells)
    assert kernel.started == 3
    assert "stored answer" in kernel.shown.outputs[0]["text/plain"]
    assert "three" in kernel.shown.outputs[0]["text/plain"]


def test_running_a_cell_again_asks_anew(kernel: Kernel) -> None:
    first, second = _texts(kernel, "say one", "say one")
    kernel.restart()
    shown, asked = _texts(kernel, "say one", "say one")
    assert shown == second
    assert len({first, second, asked}) == 3


def test_what_follows_a_changed_cell_is_asked_anew(kernel: Kernel) -> None:
    first, after = _texts(kernel, "say one", "say after")
    kernel.restart()
    assert first != kernel.ask("say one, changed").run_id
    assert after != kernel.ask("say after").run_id


def test_new_chats_are_shown_again_and_kept_apart(kernel: Kernel) -> None:
    first = [kernel.ask("say x", f"cell {n}", new_chat=True) for n in range(2)]
    first.append(kernel.ask("say after", "cell 2"))
    assert first[0].chat != first[1].chat == first[2].chat
    kernel.restart()
    again = [kernel.ask("say x", f"cell {n}", new_chat=True) for n in range(2)] + [kernel.ask("say after", "cell 2")]
    assert [answer.run_id for answer in first] == [answer.run_id for answer in again]
    assert kernel.started == 3


def test_it_is_asked_anew_when_that_is_wanted_or_it_is_another_question(kernel: Kernel) -> None:
    shape = AnswerShape("x", {"type": "object"})
    seen = {kernel.ask('answer {"a": 1}').run_id}
    for option in ({"fresh": True}, {"reuse": False}, {"shape": shape}):
        kernel.restart()
        seen.add(kernel.ask('answer {"a": 1}', **option).run_id)
    assert len(seen) == 4


def test_a_failed_run_is_never_shown_again(kernel: Kernel) -> None:
    script = "say x\nfail agent_error no"
    first = kernel.ask(script, raise_error=False).run_id
    kernel.restart()
    with pytest.raises(RunFailed) as caught:
        kernel.ask(script)
    assert first not in str(caught.value)


def test_a_run_that_was_undone_is_asked_anew(kernel: Kernel) -> None:
    first = kernel.ask("write a.txt x\nsay x").run_id
    kernel.restart()
    kernel.session.client().runs.undo(first)
    second = kernel.ask("write a.txt x\nsay x").run_id
    assert second != first
    kernel.restart()
    assert kernel.ask("write a.txt x\nsay x").run_id == second


def test_a_changed_attachment_is_asked_about_anew_and_an_unchanged_one_is_not(kernel: Kernel, tmp_path: Path) -> None:
    data = tmp_path / "data.csv"
    data.write_text("a,b\n1,2\n")
    first = kernel.ask("say x", files=(data,)).run_id
    kernel.restart()
    assert first == kernel.ask("say x", files=(data,)).run_id
    data.write_text("a,b\n1,3\n")
    kernel.restart()
    assert first != kernel.ask("say x", files=(data,)).run_id


def test_a_changed_upload_is_never_answered_from_the_past(kernel: Kernel, tmp_path: Path) -> None:
    data = tmp_path / "data.csv"

    def run_all() -> list[str]:
        kernel.ask("say warm")
        commands.files_put(kernel.session, [data])
        return _texts(kernel, "say x", "say y")

    data.write_text("a,b\n1,2\n")
    first = run_all()
    data.write_text("a,b\n1,3\n")
    kernel.restart()
    assert not {*first} & {*run_all()}


def test_an_upload_by_somebody_else_counts_too(kernel: Kernel, client: AgentService) -> None:
    first = kernel.ask("say x")
    assert first.chat
    client.files.upload(("news.txt", b"news"), chat=first.chat)
    kernel.restart()
    assert first.run_id != kernel.ask("say x").run_id


def test_a_start_that_was_never_answered_is_sent_with_its_own_key(kernel: Kernel, client: AgentService) -> None:
    question = AskRequest("say x")
    lost = prepare(kernel.session, question)
    entry = JournalEntry(
        lost.key, lost.fingerprint, kernel.session.notebook or "", kernel.session.base_url, str(lost.address)
    )
    kernel.session.journal.start(entry)
    begun = client.runs.start("say x", session=kernel.session.label, idempotency_key=lost.key)
    assert begun.run_id == kernel.ask("say x", "").run_id


class Kernel:
    """A notebook's kernel; `restart` begins the next one, with the same journal file."""

    def __init__(self, service: RunningService, folder: Path, notebook: str | None = "/home/ada/plan.ipynb") -> None:
        self.environ = {"SERVICE_API_KEY": service.api_key, "AGENTSVC_BASE_URL": service.base_url}
        self.folder, self.notebook = folder, notebook
        self._begin()

    def _begin(self) -> None:
        journal = Journal(self.folder / "journal.sqlite")
        self.session = Session(self.notebook, environ=self.environ, journal=journal)
        self.shown = Cell()
        self._count = 0

    def ask(self, message: str, cell: str = "", *, files: tuple[str | Path, ...] = (), **options: Any) -> CellAnswer:
        """Run a cell; its id is its message unless another is given."""
        self._count += 1
        self.shown = Cell()
        question = AskRequest(
            message,
            typed=message,
            execution=CellExecution(cell or message, self._count),
            files=attachments(files),
            **options,
        )
        return commands.ask(self.session, question, StaticScreen(self.shown))

    def restart(self) -> None:
        self.close()
        self._begin()

    def close(self) -> None:
        self.session.close()
        self.session.journal.close()

    @property
    def started(self) -> int:
        """How many runs this journal has seen started."""
        return len(self.session.journal.runs(self.notebook or self.session.label))


CELLS = {
    "intro": "%%ask\nWhich files are there?",
    "export": "%%ask --file export.csv\nWhat is the total clicks in export.csv?",
    "follow-up": "%%ask\nWhat is the average clicks in export.csv?",
    "frame": "%%ask --df frame\nWhat is the total cost?",
    "put": "%files put prices.csv",
    "prices": "%%ask\nWhat is the total price in prices.csv?",
    "independent": "%%ask --new-chat --file other.csv\nWhat is the total visits?",
}


@dataclass
class Day:
    """What each asking cell showed: the id of its run and its answer."""

    runs: dict[str, str]
    texts: dict[str, str]

    def asked_anew(self, before: Day) -> set[str]:
        return {name for name, run in self.runs.items() if before.runs.get(name) != run}


@pytest.fixture
def run_all(offline_service: RunningService, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Day]:
    """Restart the kernel of one notebook and run its cells."""
    monkeypatch.setenv("SERVICE_API_KEY", offline_service.api_key)
    monkeypatch.setenv("AGENTSVC_BASE_URL", offline_service.base_url)
    notebook = f"/home/ada/{uuid.uuid4()}.ipynb"
    _write("export.csv", "clicks", 1, 2)
    _write("prices.csv", "price", 10, 20)
    _write("other.csv", "visits", 100, 200)

    def run(cells: dict[str, str] = CELLS) -> Day:
        day = Day({}, {})
        shells: Iterator[Any] = used_shell(loaded(KernelShell, notebook))
        shell = next(shells)
        shell.user_ns["frame"] = pd.DataFrame({"day": [0, 1], "cost": [5, 6]})
        for name, source in cells.items():
            answer = shell.cell(source, f"cell {name}")
            if source.startswith("%%ask --each"):
                day.runs[name] = " ".join(answer.frame.run_id)
            elif source.startswith("%%ask"):
                day.runs[name], day.texts[name] = answer.run_id, answer.text
        next(shells, None)
        return day

    return run


def _write(name: str, column: str, *values: int) -> None:
    Path(name).write_text(
        "".join(f"{line}\n" for line in (f"day,{column}", *(f"{n},{v}" for n, v in enumerate(values))))
    )


def _says(day: Day, **answers: str) -> None:
    for name, value in answers.items():
        assert day.texts[name.replace("_", "-")].splitlines()[0].endswith(f": {value}**"), day.texts


def test_a_change_asks_the_cells_that_depend_on_it_once(run_all: Callable[..., Day]) -> None:
    """The next day asks nothing of that again, and the old content shows the old answers and answers new questions."""
    first = run_all()
    _write("export.csv", "clicks", 3, 4)
    second = run_all()
    assert second.asked_anew(first) == {"export", "follow-up", "frame", "prices"}
    _says(second, export="7", follow_up="3.5", frame="11", prices="30")
    _write("prices.csv", "price", 30, 40)
    third = run_all()
    assert third.asked_anew(second) == {"prices"}
    _says(third, export="7", follow_up="3.5", frame="11", prices="70")
    _write("export.csv", "clicks", 1, 2)
    _write("prices.csv", "price", 10, 20)
    above = {name: cell for name, cell in CELLS.items() if name != "independent"}
    fourth = run_all({**above, "new": "%%ask\nWhat is the highest clicks in export.csv?"})
    assert fourth.asked_anew(first) == {"new"}
    _says(fourth, new="2")


def test_rows_depend_on_files_of_cells_above_them_only(run_all: Callable[..., Day]) -> None:
    cells = {
        "put": CELLS["put"],
        "export": CELLS["export"],
        "rows": "%%ask --each frame\nWhat is the total price in prices.csv on day {{day}}?",
        "put below": "%files put other.csv",
        "last": "%%ask\nWhich files are there?",
    }
    first = run_all(cells)
    _write("other.csv", "visits", 300, 400)
    assert run_all(cells).asked_anew(first) == {"last"}
    _write("export.csv", "clicks", 30, 50)
    assert not {*run_all(cells).runs["rows"].split()} & {*first.runs["rows"].split()}
