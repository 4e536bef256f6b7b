"""The journal of runs: what it keeps, what it finds again, and that it never stands in the way."""

from __future__ import annotations

import stat
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from agentsvc_nb.notebook.state.journal import Journal, JournalEntry
from agentsvc_nb.wire.runs import Run, Usage


def _entry(key: str, **fields: Any) -> JournalEntry:
    given: dict[str, Any] = {
        "fingerprint": "f",
        "notebook": "/n.ipynb",
        "base_url": "http://a",
        "address": "session s",
    } | fields
    return JournalEntry(idempotency_key=key, **given)


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "state" / "journal.sqlite")


@pytest.mark.skipif(sys.platform == "win32", reason="modes are POSIX")
def test_the_file_and_its_companions_are_the_users_own(journal: Journal, tmp_path: Path) -> None:
    journal.start(_entry("k1"))
    folder = tmp_path / "state"
    assert {"journal.sqlite", "journal.sqlite-wal", "journal.sqlite-shm"} == {path.name for path in folder.iterdir()}
    assert {0o600} == {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_known_runs_come_newest_first_without_failed_and_cancelled_ones(journal: Journal) -> None:
    for key, status in [("a", "completed"), ("b", "failed"), ("c", "cancelled"), ("d", "running"), ("e", "starting")]:
        journal.start(_entry(key))
        if status != "starting":
            journal.record_run(key, Run(run_id=f"run-{key}", status=status, chat="chat_1"))
    journal.start(_entry("other", fingerprint="g"))
    assert [entry.idempotency_key for entry in journal.find_starts("f")] == ["e", "d", "a"]


def test_a_refused_start_is_forgotten_and_an_answered_one_is_not(journal: Journal) -> None:
    journal.start(_entry("a"))
    journal.start(_entry("b"))
    journal.record_run("b", Run(run_id="run-b", status="queued"))
    journal.remove_refused("a")
    journal.remove_refused("b")
    assert [entry.idempotency_key for entry in journal.find_starts("f")] == ["b"]


def test_a_start_that_never_arrived_is_not_listed_but_keeps_its_key(journal: Journal) -> None:
    for key in ("lost", "unsent"):
        journal.start(_entry(key))
    journal.mark_unsent("unsent")
    assert [row["idempotency_key"] for row in journal.runs("/n.ipynb")] == ["lost"]
    assert [entry.idempotency_key for entry in journal.find_starts("f")] == ["unsent", "lost"]
    journal.start(_entry("unsent"))
    assert len(journal.runs("/n.ipynb")) == 2, "it is sent once more"


def test_kernels_that_begin_at_the_same_time_make_one_journal(tmp_path: Path) -> None:
    together = threading.Barrier(4)

    def begin(_: int) -> str:
        journal = Journal(tmp_path / "journal.sqlite")
        together.wait()
        journal.start(_entry(f"{threading.get_ident()}"))
        return journal.warning

    with ThreadPoolExecutor(4) as kernels:
        assert set(kernels.map(begin, range(4))) == {""}


@pytest.mark.parametrize("broken", ["folder", "garbage"])
def test_a_journal_that_cant_be_opened_is_one_warning(tmp_path: Path, broken: str) -> None:
    path = tmp_path / "journal.sqlite"
    if broken == "folder":
        path.mkdir()
    else:
        path.write_bytes(b"no database at all" * 1000)
    journal = Journal(path)
    journal.start(_entry("a"))
    journal.record_run("a", Run(run_id="a", status="queued"))
    assert journal.find_starts("f") == []
    assert len(journal.warning.splitlines()) == 1
    assert "is not available" in journal.warning


def test_a_call_of_the_agent_is_begun_once_in_whatever_kernel(journal: Journal, tmp_path: Path) -> None:
    again = Journal(tmp_path / "state" / "journal.sqlite")
    assert [one.begin_call("c1") for one in (journal, journal, again)] == [True, False, False]


def test_a_clock_that_is_set_back_does_not_turn_the_order_of_runs(journal: Journal) -> None:
    """The next cell went on with an older chat."""
    for key, day, chat in (("a", 22, "chat_1"), ("b", 21, "chat_2"), ("c", 20, "chat_2")):
        journal.start(_entry(key, created_at=f"2026-11-{day}T12:00:00.000Z"))
        journal.record_run(key, Run(run_id=key, status="completed", chat=chat))
    assert journal.find_chat("/n.ipynb", "http://a", "session s") == "chat_2"
    assert [turn["run_id"] for turn in journal.turns("http://a", "chat_2")] == ["b", "c"]
    assert [run["run_id"] for run in journal.runs(None)] == ["a", "b", "c"]
    assert [entry.run_id for entry in journal.find_starts("f")] == ["c", "b", "a"]


def test_a_months_total_is_that_of_language_models_in_all_notebooks(journal: Journal) -> None:
    begun = {
        "november": "2001-11-30T23:59:59.999Z",
        "elsewhere": "2001-11-01T00:00:00.000Z",
        "december": "2001-12-01T00:00:00.000Z",
    }
    for name, time in begun.items():
        journal.start(_entry(name, notebook=f"/{name}.ipynb"))
        usage = Usage(cost_microcents=1_500_000)
        run = Run(run_id=name, status="completed", chat="c", started_at=time, usage=usage, model="openai:gpt-5")
        journal.record_run(name, run)
        journal.start(_entry(f"{name} offline"))
        journal.record_run(f"{name} offline", run.model_copy(update={"run_id": f"{name} o", "model": "offline"}))
    assert (journal.cost_in_month("2001-11"), journal.cost_in_month("2001-12"), journal.cost_in_month("2002-01")) == (
        3_000_000,
        1_500_000,
        0,
    )
