"""Each command in a terminal, in a pipe, without colours, and interrupted; and each exit code of the table, against a
real service."""

from __future__ import annotations

import os
import pty
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest
from filelock import FileLock

from agentsvc_nb.cli import EXIT_CODES, main
from agentsvc_nb.client.api import AgentService
from agentsvc_nb.testing import RunningService
from tests.service.process.test_serve import ended
from tests.support.waiting import until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")


def in_terminal(words: list[str], patch: pytest.MonkeyPatch) -> tuple[int, str]:
    """The exit code of a command in a terminal of its own, and what that shows."""
    controller, end = pty.openpty()
    shown: list[bytes] = []
    reader = threading.Thread(target=lambda: shown.extend(_read(controller)))
    reader.start()
    with open(end, "w", encoding="utf-8") as tty, patch.context() as own:
        own.setattr(sys, "stdout", tty)
        own.setattr(sys, "stderr", tty)
        own.setenv("TERM", "xterm-256color")
        code = main(words)
    reader.join()
    os.close(controller)
    return code, b"".join(shown).decode().replace("\r\n", "\n")


def _read(controller: int) -> Iterator[bytes]:
    while True:
        try:
            piece = os.read(controller, 65536)
        except OSError:  # the last end is closed
            return
        yield piece


@pytest.mark.parametrize("words", [["ask", "say hello"], ["keys", "list"]], ids=lambda words: words[0])
def test_colours_are_in_a_terminal_alone_and_not_with_no_color(
    words: list[str], service: RunningService, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [*words, "--data", str(service.data)]
    assert main(["ask", "say first", "--data", str(service.data)]) == 0
    monkeypatch.delenv("NO_COLOR", raising=False)
    code, shown = in_terminal(words, monkeypatch)
    assert (code, "\x1b[" in shown) == (0, True)
    assert main(words) == 0
    assert "\x1b" not in "".join(capsys.readouterr())
    monkeypatch.setenv("NO_COLOR", "1")
    code, plain = in_terminal(words, monkeypatch)
    assert (code, "\x1b" in plain) == (0, False)


def test_what_an_agent_says_does_not_steer_the_terminal(
    service: RunningService, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """To a terminal controls are taken out; a pipe gets the text as it is."""
    words = ["ask", "say \x1b]0;title\x07\x1b[31mred\u202e", "--data", str(service.data)]
    monkeypatch.setenv("NO_COLOR", "1")
    _, shown = in_terminal(words, monkeypatch)
    assert shown.startswith("red\n")
    assert "\x1b" not in shown
    assert main(words) == 0
    assert capsys.readouterr().out == "\x1b]0;title\x07\x1b[31mred\u202e\n"


def timed_out(service: RunningService, folder: Path) -> int:
    return main(["ask", "wait 600", "--timeout", "0.3", "--data", str(service.data)])


def held(service: RunningService, folder: Path) -> int:
    (folder / "data").mkdir()
    with FileLock(folder / "data" / "lock"):
        return ended(folder / "data")


def press_once(begun: Callable[[], object]) -> None:
    """Press Ctrl-C in this process as soon as `begun` is true."""

    def press() -> None:
        until(begun)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press, daemon=True).start()


ENDINGS: Final[dict[int, Callable[[RunningService, Path], int]]] = {
    0: lambda service, folder: main(["ask", "say hello", "--data", str(service.data)]),
    1: lambda service, folder: main(["runs", "show", "nope", "--data", str(service.data)]),
    2: lambda service, folder: main(["restart", "--model", "gguf:/no/file.gguf", "--data", str(service.data)]),
    75: held,
    124: timed_out,
}


@pytest.mark.parametrize("code", sorted(set(EXIT_CODES) - {130}))  # the tests of Ctrl-C below
def test_each_exit_code_of_the_table_is_one_that_commands_give(
    code: int, service: RunningService, tmp_path: Path
) -> None:
    assert ENDINGS[code](service, tmp_path) == code


def test_ctrl_c_cancels_the_run_that_was_asked_for(
    service: RunningService, client: AgentService, capsys: pytest.CaptureFixture[str]
) -> None:
    press_once(lambda: "started" in capsys.readouterr().out)
    assert main(["ask", "say started\nwait 600", "--data", str(service.data)]) == 130
    run_id = capsys.readouterr().err.rpartition("run ")[2].partition("]")[0]
    assert client.runs.wait(run_id, poll=0.05).status == "cancelled"


def test_ctrl_c_lets_a_watched_run_go_on(
    service: RunningService, client: AgentService, capsys: pytest.CaptureFixture[str]
) -> None:
    run = client.runs.start("say begun\nwait 600")
    press_once(lambda: "begun" in capsys.readouterr().out)
    assert main(["runs", "attach", run.run_id, "--data", str(service.data)]) == 130
    assert f"agentsvc runs attach {run.run_id}" in capsys.readouterr().err
    assert client.runs.get(run).status == "running"
    client.runs.cancel(run)


def test_ctrl_c_cancels_a_job(
    service: RunningService, client: AgentService, capsys: pytest.CaptureFixture[str]
) -> None:
    told: list[str] = []

    def accepted() -> re.Match[str] | None:
        told.append(capsys.readouterr().err)
        return re.search(r"job (job_\w+), chat (chat_\w+)", "".join(told))

    press_once(accepted)
    words = ["jobs", "run", "echo_job", '{"steps": 600, "seconds": 600}', "--data", str(service.data)]
    assert main(words) == 130
    found = accepted()
    assert found is not None
    assert until(lambda: client.jobs.status(found[1], chat=found[2]).status in ("cancelled", "cancelling"))
