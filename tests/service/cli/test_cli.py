"""The command line: what it prints, and its exit codes (docs/api/embedded.md "Command line")."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from agentsvc_nb import cli, embedded
from agentsvc_nb.cli import main
from agentsvc_nb.cli.ask import StreamedText, ask
from agentsvc_nb.cli.connection import UnusableInput
from agentsvc_nb.client.api import AgentService
from agentsvc_nb.testing import RunningService
from agentsvc_nb.wire.runs import Event, Run
from tests.support.numbers import ANSWER, basis, script

ENV = {name: value for name, value in os.environ.items() if not name.startswith(("AGENTSVC_", "SERVICE_API_KEY"))}


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "agentsvc_nb", *map(str, arguments)]


def agentsvc(*arguments: object, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a command in this process, which takes no time to start; `command` is for what must be one of its own."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="") for _ in range(2))
    words = [str(each) for each in arguments]
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        for name, value in env.items():
            patch.setenv(name, value)
        patch.setattr(sys, "argv", [str(Path(cli.__file__).parents[1] / "__main__.py"), *words])
        try:
            code = main(words)
        except SystemExit as exit:  # of argparse
            code = int(exit.code or 0)
    for stream in (out, err):
        stream.seek(0)
    return subprocess.CompletedProcess(words, code, out.read(), err.read())


@pytest.mark.rule("A new key works at once, next to a running server.")
def test_key_counts_at_once(service: RunningService) -> None:
    """A key made beside the running server opens it with the next request; `--json` is for programs."""
    done = agentsvc("keys", "create", "--data", service.data, "--name", "ci", "--scope", "runs", "--json")
    assert done.returncode == 0, done.stderr
    secret = json.loads(done.stdout)["key"]
    with AgentService(secret, base_url=service.base_url) as client:
        assert client.runs.start("say hi", sync=True).output == "hi"


@pytest.mark.rule("The complete secret is shown once, at creation.")
def test_key_without_json_is_printed_once(service: RunningService) -> None:
    """The secret alone on stdout, so that a shell can take it; the sentence beside it on stderr."""
    done = agentsvc("keys", "create", "--data", service.data, "--name", "ci", "--member")
    assert done.stdout.startswith("svc_oat_")
    assert len(done.stdout.split()) == 1
    assert "only once" in done.stderr


@pytest.mark.rule("An unknown scope is refused, never ignored.")
def test_impossible_keys_are_refused(service: RunningService) -> None:
    """An unknown scope is named, and a member token takes no scopes (docs/api/accounts.md "Authentication")."""
    unknown = agentsvc("keys", "create", "--data", service.data, "--name", "x", "--scope", "walk")
    assert (unknown.returncode, unknown.stdout) == (1, "")
    assert "'walk'" in unknown.stderr
    member = agentsvc("keys", "create", "--data", service.data, "--name", "x", "--member", "--scope", "runs")
    assert (member.returncode, member.stdout) == (2, "")
    rich = agentsvc("keys", "create", "--data", service.data, "--name", "x", "--budget-cents", "1" + "0" * 30)
    assert (rich.returncode, "between 0 and 1,000,000,000" in rich.stderr) == (2, True)
    for name in ("", "  ", "x" * 101):
        nameless = agentsvc("keys", "create", "--data", service.data, "--name", name)
        assert (nameless.returncode, nameless.stdout) == (2, "")
        assert "1 to 100 characters" in nameless.stderr


@pytest.mark.parametrize(
    "arguments",
    [["keys", "list"], ["restart"], ["stop"]],
)
def test_a_mistyped_folder_does_not_become_a_service(arguments: list[str], tmp_path: Path) -> None:
    """Only `serve`, `lab`, `ask`, `keys create` and `restore` make one."""
    done = agentsvc(*arguments, "--data", tmp_path / "typo")
    assert done.returncode == (0 if arguments == ["stop"] else 1), "nothing to stop is stopped"
    said = done.stdout + done.stderr
    assert "o service" in said
    assert str(tmp_path / "typo") in said
    assert list(tmp_path.iterdir()) == []


def test_ask_streams_the_answer(service: RunningService, tmp_path: Path, client: AgentService) -> None:
    """The text on stdout, and on stderr the chat to go on with; an attached file arrives in the chat."""
    note = tmp_path / "note.txt"
    note.write_text("hello")
    done = agentsvc("ask", "say one\nsay two", "--file", note, "--data", service.data)
    assert (done.returncode, done.stdout) == (0, "one\ntwo\n")
    chat = done.stderr.partition("--chat ")[2].partition("]")[0]
    assert [entry.file_name for entry in client.files.list(chat)] == ["note.txt"]
    again = agentsvc("ask", "say three", "--chat", chat, "--data", service.data)
    assert chat in again.stderr


def test_ask_says_which_numbers_have_no_source(service: RunningService) -> None:
    """On stderr; the record has all of them."""
    done = agentsvc("ask", script(), "--data", service.data)
    assert done.stdout == f"{ANSWER}\n"
    assert "11 of 12 numbers traced, 1 not found: €5." in done.stderr
    record = json.loads(agentsvc("ask", script(), "--json", "--data", service.data).stdout)
    assert [number["text"] for number in record["basis"]["numbers"]] == [number.text for number in basis().numbers]


def test_ask_that_fails_says_why(service: RunningService) -> None:
    """A failed run is exit 1 with its reason, and so is a refused start; neither is a traceback."""
    read = agentsvc("ask", 'say 7\nbasis {"basis": "not_computed"}', "--data", service.data)
    assert "This model has no tools." in read.stderr
    failed = agentsvc("ask", "fail tool_broke The tool broke.", "--data", service.data)
    assert (failed.returncode, failed.stdout) == (1, "")
    assert "The tool broke." in failed.stderr
    refused = agentsvc("ask", "hello", "--chat", "no chat", "--data", service.data)
    assert refused.returncode == 1
    assert "Traceback" not in failed.stderr + refused.stderr


def test_file_that_cannot_be_sent_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing file, a folder, one that may not be read: said before any service is started or asked."""
    data, secret = tmp_path / "data", tmp_path / "secret.txt"
    secret.write_text("x")
    monkeypatch.setattr("os.access", lambda path, mode: path != secret)  # root may read whatever its mode says
    for file, message in (
        (tmp_path / "nope.csv", "The file {} does not exist. Nothing was sent"),
        (tmp_path, "{} is a folder. Nothing was sent"),
        (secret, "The file {} can't be read. Nothing was sent"),
    ):
        with pytest.raises(UnusableInput, match=re.escape(message.format(file))):
            ask("hello", data=data, files=[file])
    assert not data.exists()
    done = agentsvc("ask", "hello", "--file", "nope.csv", "--data", data)
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)


def test_key_without_address_is_not_sent_anywhere() -> None:
    """A key alone does not say whose it is: the error names both choices (docs/api/embedded.md "Address and key")."""
    done = agentsvc("ask", "hello", SERVICE_API_KEY="svc_sk_secret")
    assert done.returncode == 1
    assert "AGENTSVC_BASE_URL" in done.stderr
    assert "unset SERVICE_API_KEY" in done.stderr
    assert "svc_sk_secret" not in done.stderr


def delta(id: int, text: str) -> Event:
    return Event(id, "text.delta", "", {"text": text})


def test_what_was_taken_back_is_marked() -> None:
    """After a crash a step speaks again: the terminal says so, and the end is not printed twice."""
    printer = StreamedText()
    printed = printer.add(delta(1, "Kept. ")) + printer.add(delta(3, "Lost"))
    printed += printer.add(Event(4, "run.resumed", "", {"attempt": 2, "discard_after": 2}))
    printed += printer.add(delta(5, "Again."))
    printed += printer.finish(Run(run_id="r", status="completed", output="Kept. Again."))
    first, notice, last = printed.splitlines()
    assert (first, last) == ("Kept. Lost", "Again.")
    assert "replaces" in notice


@pytest.mark.parametrize(
    ("arguments", "env", "blamed"),
    [
        (["--model", "gpt-4"], {}, "--model: 'gpt-4'"),
        ([], {"AGENTSVC_MODEL": "typo"}, "AGENTSVC_MODEL is 'typo'"),
        ([], {"AGENTSVC_RUN_CAPACITY": "many"}, "AGENTSVC_RUN_CAPACITY is 'many'"),
    ],
)
def test_restart_that_cannot_start_stops_nothing(
    service: RunningService, arguments: list[str], env: dict[str, str], blamed: str
) -> None:
    """Settings are read before the running service is ended, and what was typed is what is named."""
    before = embedded.status(service.data)
    done = agentsvc("restart", "--data", service.data, *arguments, **env)
    assert done.returncode == 2
    assert blamed in done.stderr
    assert before is not None
    assert embedded.status(service.data) == before
