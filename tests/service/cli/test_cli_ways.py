"""Each command in a terminal, in a pipe, without colours, and interrupted; and each exit code of the table, against a
real service."""

from __future__ import annotations

import os
import pty
import re
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

import pexpect
import pytest
from filelock import FileLock

from agentsvc_nb.cli import EXIT_CODES, main
from agentsvc_nb.client.api import AgentService
from agentsvc_nb.client.origin import KEY_VARIABLE, URL_VARIABLE
from agentsvc_nb.testing import RunningService
from tests.service.cli.test_cli import ENV, command
from tests.support.waiting import PATIENCE_SECONDS, until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")


RUN: Final = "00000000-0000-4000-8000-000000000000"


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


@pytest.mark.parametrize(
    "words", [["ask", "say hello"], ["runs", "list", "--limit", "1"], ["keys", "list"]], ids=lambda words: words[0]
)
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


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A service that takes a connection and says nothing; then Ctrl-C is pressed."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setenv(URL_VARIABLE, f"http://127.0.0.1:{server.getsockname()[1]}")
        monkeypatch.setenv(KEY_VARIABLE, "svc_sk_" + "x" * 40)

        def press() -> None:
            connection, _ = server.accept()
            with closing(connection):
                connection.recv(1)
                os.kill(os.getpid(), signal.SIGINT)
                connection.recv(65536)

        threading.Thread(target=press, daemon=True).start()
        yield


@pytest.mark.parametrize(
    "words",
    [
        ["ask", "hello"],
        ["runs", "attach", RUN],
        ["files", "list", "--chat", "chat_1"],
        ["jobs", "run", "echo_job", "{}"],
    ],
    ids=lambda words: words[0],
)
def test_interrupted_while_a_service_is_silent(
    words: list[str], silent: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 130
    assert capsys.readouterr() == ("", "")


def timed_out(service: RunningService, folder: Path) -> int:
    return main(["ask", "wait 600", "--timeout", "0.3", "--data", str(service.data)])


def held(service: RunningService, folder: Path) -> int:
    (folder / "data").mkdir()
    with FileLock(folder / "data" / "lock"):
        return main(["serve", "--port", "0", "--data", str(folder / "data")])


def interrupted(service: RunningService, folder: Path) -> int:
    def press() -> None:
        with AgentService(service.api_key, service.base_url) as client:
            until(lambda: client.runs.list(chat=chat, status="running").first() is not None)
        os.kill(os.getpid(), signal.SIGINT)

    with AgentService(service.api_key, service.base_url) as client:
        chat = str(client.runs.start("say hello", sync=True).chat)
    threading.Thread(target=press, daemon=True).start()
    return main(["ask", "wait 600", "--chat", chat, "--data", str(service.data)])


ENDINGS: Final[dict[int, Callable[[RunningService, Path], int]]] = {
    0: lambda service, folder: main(["ask", "say hello", "--data", str(service.data)]),
    1: lambda service, folder: main(["runs", "show", "nope", "--data", str(service.data)]),
    2: lambda service, folder: main(["restart", "--model", "gguf:/no/file.gguf", "--data", str(service.data)]),
    75: held,
    124: timed_out,
    130: interrupted,
}


@pytest.mark.parametrize("code", EXIT_CODES)
def test_each_exit_code_of_the_table_is_one_that_commands_give(
    code: int, service: RunningService, tmp_path: Path
) -> None:
    assert ENDINGS[code](service, tmp_path) == code


def typed(*words: object) -> pexpect.spawn[str]:
    """A command in a terminal, for Ctrl-C."""
    program, *rest = command(*words)
    return pexpect.spawn(program, rest, env=ENV, encoding="utf-8", timeout=PATIENCE_SECONDS)


def test_ctrl_c_lets_a_watched_run_go_on(service: RunningService) -> None:
    with AgentService(service.api_key, service.base_url) as client:
        run = client.runs.start("say begun\nwait 600")
        watching = typed("runs", "attach", run.run_id, "--data", service.data)
        watching.expect("begun")
        watching.sendintr()
        watching.expect(f"The run goes on: agentsvc runs attach {run.run_id}")
        watching.expect(pexpect.EOF)
        assert (watching.wait(), client.runs.get(run.run_id).status) == (130, "running")
        client.runs.cancel(run)


def test_ctrl_c_cancels_a_job(service: RunningService) -> None:
    running = typed("jobs", "run", "echo_job", '{"steps": 600, "seconds": 600}', "--data", service.data)
    running.expect(r"job (job_\w+), chat (chat_\w+)")
    assert isinstance(running.match, re.Match)
    job, chat = running.match.groups()
    running.sendintr()
    running.expect(pexpect.EOF)
    assert running.wait() == 130
    with AgentService(service.api_key, service.base_url) as client:
        assert until(lambda: client.jobs.status(job, chat=chat).status in ("cancelled", "cancelling"))
