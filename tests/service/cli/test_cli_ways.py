"""Each command in a terminal, in a pipe, without colours, and interrupted; and each exit code of the table, against a
real service."""

from __future__ import annotations

import contextlib
import io
import os
import pty
import re
import signal
import socket
import sys
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

import pexpect
import pytest
from filelock import FileLock

from agentsvc_nb.cli import EXIT_CODES, main, parser
from agentsvc_nb.client.api import AgentService
from agentsvc_nb.client.approvals import waiting_calls
from agentsvc_nb.client.origin import KEY_VARIABLE, URL_VARIABLE
from agentsvc_nb.testing import RunningService, running_service
from docs.command_pages import commands
from tests.service.api.test_media_http import sound
from tests.service.cli.test_cli import ENV, command
from tests.support.waiting import PATIENCE_SECONDS, until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
ANSI: Final = re.compile(r"\x1b\[[\d;]*m")
CASES: Final = {
    "status": "status",
    "sign-in": "sign-in",
    "migrate": "migrate",
    "keys create": "keys create --name ci --scope runs",
    "keys list": "keys list",
    "keys suspend": "keys suspend {key}",
    "keys resume": "keys resume {key}",
    "keys revoke": "keys revoke {key}",
    "account show": "account show",
    "account suspend": "account suspend",
    "account throttle": "account throttle --minutes 5",
    "account resume": "account resume",
    "account plan": "account plan on",
    "account reconcile": "account reconcile",
    "feedback list": "feedback list",
    "feedback reply": "feedback reply {report} Thanks.",
    "feedback close": "feedback close {report}",
    "media add": "media add {sound}",
    "model": "model",
    "pages add": "pages add https://example.com/spring",
    "mcp": "mcp",
    "ask": "ask say\\ hello --file {file}",
    "runs list": "runs list",
    "runs show": "runs show {run}",
    "runs attach": "runs attach {run}",
    "runs cancel": "runs cancel {run}",
    "runs resume": "runs resume {stopped}",
    "runs approve": "runs approve {asking}",
    "files list": "files list --chat {chat}",
    "files put": "files put {file} --chat {chat}",
    "files get": "files get a.txt --chat {chat} --to -",
    "files search": "files search one --chat {chat}",
    "files versions": "files versions a.txt --chat {chat}",
    "files restore": "files restore a.txt 1 --chat {chat}",
    "tools list": "tools list",
    "tools show": "tools show echo_job",
    "jobs list": "jobs list --chat {worked}",
    "jobs run": 'jobs run echo_job {{"steps":1}}',
    "jobs show": "jobs show {job} --chat {chat}",
    "jobs cancel": "jobs cancel {job} --chat {chat}",
    "backup": "backup {new}",
    "completion": "completion bash",
}
"""A line a command; what stands in braces is made anew for each way (`Made`)."""


@pytest.fixture(scope="module")
def own_service() -> Iterator[RunningService]:
    with running_service(model="scripted", approve_effects="yes") as running:
        yield running


class Made:
    """What the lines of `CASES` name."""

    def __init__(self, service: RunningService, folder: Path) -> None:
        self.service, self.folder, self.count = service, folder, 0
        self.client = AgentService(service.api_key, service.base_url)
        folder.mkdir(exist_ok=True)

    def line(self, name: str) -> list[str]:
        """The words of a command, with what they name."""
        names = re.findall(r"(?<!\{)\{(\w+)\}", CASES[name])
        self.count += 1
        with contextlib.redirect_stdout(io.StringIO()):
            main(["account", "resume", *self.data("account")])  # a way before may have suspended it
        chat = str(self.client.runs.start("write a.txt one", sync=True).chat)
        made = {"chat": chat} | {each: getattr(self, each)(chat) for each in names if each != "chat"}
        words = [word.replace("\\ ", " ") for word in re.split(r"(?<!\\) ", CASES[name])]
        return [*(word.format(**made) for word in words), *self.data(name)]

    def data(self, name: str) -> list[str]:
        return [] if name == "completion" else ["--data", str(self.service.data)]

    def key(self, chat: str) -> str:
        name = uuid.uuid4().hex
        self.service.create_key(name)
        return name

    def report(self, chat: str) -> str:
        return str(self.client.feedback.send("It is slow").id)

    def sound(self, chat: str) -> str:
        return str(sound(self.folder / f"{self.count}.wav", 1))

    def file(self, chat: str) -> str:
        path = self.folder / f"note-{self.count}.txt"
        path.write_text("a note")
        return str(path)

    def new(self, chat: str) -> str:
        return str(self.folder / f"{self.count}.tar")

    def run(self, chat: str) -> str:
        return str(self.client.runs.start("say one", chat=chat, sync=True).run_id)

    def stopped(self, chat: str) -> str:
        run = self.client.runs.start("say one\nstep 1\nsay two", chat=chat, max_steps=1)
        return str(self.client.runs.wait(run).run_id)

    def asking(self, chat: str) -> str:
        run = self.client.runs.start('call echo_job {"steps": 0}\nsay done', chat=chat)
        until(lambda: waiting_calls(self.client, run.run_id))
        return str(run.run_id)

    def worked(self, chat: str) -> str:
        self.job(chat)
        return chat

    def job(self, chat: str) -> str:
        return str(self.client.jobs.submit_and_wait("echo_job", {"steps": 0}, chat=chat).job_id)


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


def lines(text: str) -> list[str]:
    """Sorted, as two streams have no common order, and without what differs from call to call."""
    found = re.sub(r"[0-9a-f]{8,}[0-9a-f-]*|svc_\S+|[\d,]+|token=\S+", "N", text).split("\n")
    return sorted(line for line in found if not re.match(r"N( of N .*)?$", line))  # progress is told as it is seen


def test_each_command_has_a_line() -> None:
    """Those of the set start and end services, or need other ones; tests of their own run them."""
    elsewhere = {"docs", "doctor", "lab", "restart", "restore", "serve", "stop", "worker"}
    assert CASES.keys() | elsewhere == {name.partition(" ")[2] for name, _, _ in commands(parser(), "agentsvc")}


@pytest.mark.parametrize("name", CASES)
def test_in_a_pipe(
    name: str, own_service: RunningService, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert main(Made(own_service, tmp_path).line(name)) == 0
    piped = capsysbinary.readouterr()
    assert b"\x1b" not in piped.out + piped.err


@pytest.mark.parametrize("name", ["ask", "keys list", "runs list"])
def test_in_a_terminal(name: str, own_service: RunningService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Colours are in a terminal alone, and not with `NO_COLOR`, which says the same."""
    made = Made(own_service, tmp_path)
    monkeypatch.delenv("NO_COLOR", raising=False)
    code, shown = in_terminal(made.line(name), monkeypatch)
    assert (code, "\x1b[" in shown) == (0, True)
    monkeypatch.setenv("NO_COLOR", "1")
    code, plain = in_terminal(made.line(name), monkeypatch)
    assert (code, "\x1b" in plain) == (0, False)
    if name == "ask":
        assert lines(plain) == lines(ANSI.sub("", shown))


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


@pytest.mark.parametrize("name", ["ask", "runs attach", "files put", "jobs run"])
def test_interrupted_while_a_service_is_silent(
    name: str, silent: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = tmp_path / "note.txt"
    given.write_text("a note")
    named = dict.fromkeys(("chat", "run"), "00000000-0000-4000-8000-000000000000")
    words = [word.replace("\\ ", " ") for word in re.split(r"(?<!\\) ", CASES[name])]
    assert main([word.format(**named, file=given) for word in words]) == 130
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
    0: lambda service, folder: main(["runs", "list", "--data", str(service.data)]),
    1: lambda service, folder: main(["runs", "show", "nope", "--data", str(service.data)]),
    2: lambda service, folder: main(["restart", "--model", "gguf:/no/file.gguf", "--data", str(service.data)]),
    75: held,
    124: timed_out,
    130: interrupted,
}


@pytest.mark.parametrize("code", EXIT_CODES)
def test_each_exit_code_of_the_table_is_one_that_commands_give(
    code: int, own_service: RunningService, tmp_path: Path
) -> None:
    Made(own_service, tmp_path).line("runs list")  # it may start runs
    assert ENDINGS[code](own_service, tmp_path) == code


def typed(*words: object) -> pexpect.spawn[str]:
    """A command in a terminal, for Ctrl-C."""
    program, *rest = command(*words)
    return pexpect.spawn(program, rest, env=ENV, encoding="utf-8", timeout=PATIENCE_SECONDS)


def test_ctrl_c_lets_a_watched_run_go_on(own_service: RunningService) -> None:
    with AgentService(own_service.api_key, own_service.base_url) as client:
        run = client.runs.start("say begun\nwait 600")
        watching = typed("runs", "attach", run.run_id, "--data", own_service.data)
        watching.expect("begun")
        watching.sendintr()
        watching.expect(f"The run goes on: agentsvc runs attach {run.run_id}")
        watching.expect(pexpect.EOF)
        assert (watching.wait(), client.runs.get(run.run_id).status) == (130, "running")
        client.runs.cancel(run)


def test_ctrl_c_cancels_a_job(own_service: RunningService) -> None:
    running = typed("jobs", "run", "echo_job", '{"steps": 600, "seconds": 600}', "--data", own_service.data)
    running.expect(r"job (job_\w+), chat (chat_\w+)")
    assert isinstance(running.match, re.Match)
    job, chat = running.match.groups()
    running.sendintr()
    running.expect(pexpect.EOF)
    assert running.wait() == 130
    with AgentService(own_service.api_key, own_service.base_url) as client:
        assert until(lambda: client.jobs.status(job, chat=chat).status in ("cancelled", "cancelling"))
