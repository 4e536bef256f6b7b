"""The command line: real processes, their output and exit codes (docs/api/embedded.md "Command line")."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Sequence
from pathlib import Path

import pytest
from filelock import FileLock

from agentsvc_nb import __version__, embedded
from agentsvc_nb.cli import lab as lab_command
from agentsvc_nb.cli import main
from agentsvc_nb.cli.ask import StreamedText, ask
from agentsvc_nb.cli.connection import UnusableInput
from agentsvc_nb.client.api import AgentService
from agentsvc_nb.service.folder import DataFolder
from agentsvc_nb.testing import RunningService
from agentsvc_nb.wire.runs import Event, Run
from tests.support.losing import lose_for_good
from tests.support.waiting import PATIENCE_SECONDS

ENV = {name: value for name, value in os.environ.items() if not name.startswith(("AGENTSVC_", "SERVICE_API_KEY"))}


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "agentsvc_nb", *map(str, arguments)]


def agentsvc(*arguments: object, **env: str) -> subprocess.CompletedProcess[str]:
    stores = {name: value for name, value in os.environ.items() if name.startswith("AWS_")}  # set by `--blobs s3`
    env = ENV | stores | env
    return subprocess.run(command(*arguments), env=env, capture_output=True, text=True, timeout=PATIENCE_SECONDS)


def test_version() -> None:
    """`agentsvc --version` says it."""
    assert agentsvc("--version").stdout == f"agentsvc {__version__}\n"


def test_version_imports_no_work_of_a_command() -> None:
    """Of the package `cli/` alone, and nothing slow of the standard library: a mistyped line is answered at once."""
    code = "import atexit, sys; atexit.register(lambda: print(*sys.modules)); from agentsvc_nb.cli import main; "
    shown = subprocess.run([sys.executable, "-c", code + "main(['--version'])"], capture_output=True, text=True)
    loaded = set(shown.stdout.split())
    ours = {name for name in loaded if name.startswith("agentsvc_nb.")}
    assert "agentsvc_nb.cli.runs" in ours
    assert {name for name in ours if not name.startswith("agentsvc_nb.cli")} == {"agentsvc_nb.extras"}
    assert "agentsvc_nb.cli.checks" not in ours
    assert loaded.isdisjoint({"asyncio", "dataclasses", "hashlib", "httpx", "sqlite3", "subprocess", "tempfile"})


@pytest.mark.parametrize(
    "arguments",
    [
        ["serve", "--port", "70000"],
        ["serve", "--idle-stop", "0"],
        ["serve", "--ready-file", "/no/such/folder/ready"],
        ["lab", "--port", "99999"],
        ["lab", "--port", "-1"],
        ["lab", "--port", "last"],
    ],
)
def test_bad_flag_is_refused(arguments: Sequence[str]) -> None:
    """A flag that can't be used is exit 2 before anything starts."""
    assert agentsvc(*arguments).returncode == 2


def test_key_counts_at_once(service: RunningService) -> None:
    """A key made beside the running server opens it with the next request; `--json` is for programs."""
    done = agentsvc("keys", "create", "--data", service.data, "--name", "ci", "--scope", "runs", "--json")
    assert done.returncode == 0, done.stderr
    secret = json.loads(done.stdout)["key"]
    with AgentService(secret, base_url=service.base_url) as client:
        assert client.runs.start("say hi", sync=True).output == "hi"


def test_key_without_json_is_printed_once(service: RunningService) -> None:
    """The secret alone on stdout, so that a shell can take it; the sentence beside it on stderr."""
    done = agentsvc("keys", "create", "--data", service.data, "--name", "ci", "--member")
    assert done.stdout.startswith("svc_oat_")
    assert len(done.stdout.split()) == 1
    assert "only now" in done.stderr


def test_impossible_keys_are_refused(service: RunningService) -> None:
    """An unknown scope is named, and a member token takes no scopes (docs/api/accounts.md "Authentication")."""
    unknown = agentsvc("keys", "create", "--data", service.data, "--name", "x", "--scope", "walk")
    assert (unknown.returncode, unknown.stdout) == (1, "")
    assert "'walk'" in unknown.stderr
    member = agentsvc("keys", "create", "--data", service.data, "--name", "x", "--member", "--scope", "runs")
    assert (member.returncode, member.stdout) == (2, "")
    for name in ("", "  ", "x" * 101):
        nameless = agentsvc("keys", "create", "--data", service.data, "--name", name)
        assert (nameless.returncode, nameless.stdout) == (2, "")
        assert "1 to 100 characters" in nameless.stderr


def test_an_address_that_others_reach_is_told(tmp_path: Path) -> None:
    open_to_all = ["serve", "--host", "0.0.0.0", "--port", "0", "--idle-stop", "0.1", "--data", tmp_path]
    assert "unencrypted" in agentsvc(*open_to_all).stderr
    assert "unencrypted" not in agentsvc("serve", *open_to_all[3:]).stderr


def test_a_file_that_is_missing_is_named(service: RunningService, tmp_path: Path) -> None:
    missing = agentsvc("media", "add", tmp_path / "no.mp4", "--data", service.data)
    assert (missing.returncode, missing.stdout) == (1, "")
    assert missing.stderr == f"agentsvc: {tmp_path / 'no.mp4'}: No such file or directory.\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["account", "show"],
        ["keys", "list"],
        ["keys", "revoke", "x"],
        ["restart"],
        ["runs", "attach", "0"],
        ["status"],
        ["stop"],
    ],
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
    """The text on stdout, and on stderr the run and chat to go on with; an attached file arrives in the chat."""
    note = tmp_path / "note.txt"
    note.write_text("hello")
    done = agentsvc("ask", "say one\nsay two", "--file", note, "--data", service.data)
    assert (done.returncode, done.stdout) == (0, "one\ntwo\n")
    chat = done.stderr.partition("chat ")[2].partition(":")[0]
    assert [entry.file_name for entry in client.files.list(chat)] == ["note.txt"]
    again = agentsvc("ask", "say three", "--chat", chat, "--data", service.data)
    assert chat in again.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
def test_what_an_agent_says_does_not_steer_the_terminal(service: RunningService) -> None:
    """To a terminal controls are taken out; a pipe gets the text as it is."""
    script = "say \x1b]0;title\x07\x1b[31mred\u202e"
    command = [sys.executable, "-m", "agentsvc_nb", "ask", script, "--data", str(service.data)]
    terminal, end = pty.openpty()
    subprocess.run(command, stdout=end, stderr=end, check=True, env={**os.environ, "NO_COLOR": "1"})
    os.close(end)
    shown = os.read(terminal, 10_000).decode()
    os.close(terminal)
    assert shown.startswith("red\r\n")
    assert "\x1b" not in shown
    assert agentsvc("ask", script, "--data", service.data).stdout == "\x1b]0;title\x07\x1b[31mred\u202e\n"


def test_ask_that_fails_says_why(service: RunningService) -> None:
    """A failed run is exit 1 with its reason, and so is a refused start; neither is a traceback."""
    failed = agentsvc("ask", "fail tool_broke The tool broke.", "--data", service.data)
    assert (failed.returncode, failed.stdout) == (1, "")
    assert "The tool broke." in failed.stderr
    refused = agentsvc("ask", "hello", "--chat", "no chat", "--data", service.data)
    assert refused.returncode == 1
    assert "Traceback" not in failed.stderr + refused.stderr


def test_interrupt_cancels_the_run(service: RunningService, client: AgentService) -> None:
    """Ctrl-C during `ask` cancels the run, and says so."""
    asking = subprocess.Popen(
        command("ask", "say started\nwait 600", "--data", service.data),
        env=ENV,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with asking:
        assert asking.stdout is not None
        assert asking.stdout.readline() == "started\n"
        asking.send_signal(signal.SIGINT)
        _, errors = asking.communicate(timeout=PATIENCE_SECONDS)
    assert asking.returncode == 130
    assert "Traceback" not in errors
    run_id = errors.partition("[run ")[2].partition(",")[0]
    assert client.runs.wait(run_id, poll=0.05).status == "cancelled"


def test_a_service_that_is_lost_for_good_leaves_the_text_and_the_way_on(tmp_path: Path) -> None:
    """What was printed stays, and the last lines say what happened and how the run is followed later."""
    data = tmp_path / "data"
    asking = subprocess.Popen(
        command("ask", "say started\nwait 600", "--data", data),
        env=ENV | {"AGENTSVC_MODEL": "scripted"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with asking:
        assert asking.stdout is not None
        assert asking.stdout.readline() == "started\n"
        lose_for_good(data)
        _, errors = asking.communicate(timeout=PATIENCE_SECONDS)
    assert asking.returncode == 1
    assert "The service went away before the run ended" in errors
    assert re.search(r"agentsvc runs attach [0-9a-f-]{36}\n", errors)
    assert "not a database" in errors
    assert "Traceback" not in errors


def test_attach_shows_a_run_from_its_start(service: RunningService, client: AgentService) -> None:
    """`runs attach` prints what was said before and after, to the end."""
    run = client.runs.start("say one\nwait 0.2\nsay two")
    done = agentsvc("runs", "attach", run.run_id, "--data", service.data)
    assert (done.returncode, done.stdout) == (0, "one\ntwo\n")


def test_file_that_cannot_be_sent_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing file, a folder, one that may not be read: said before any service is started or asked."""
    data, secret = tmp_path / "data", tmp_path / "secret.txt"
    secret.write_text("x")
    monkeypatch.setattr("os.access", lambda path, mode: path != secret)  # root may read whatever its mode says
    for file, message in (
        (tmp_path / "nope.csv", "There is no file {}; nothing was sent"),
        (secret / "below", "There is no file {}; nothing was sent"),
        (tmp_path, "{} is a folder; nothing was sent"),
        (secret, "{} can't be read; nothing was sent"),
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


def test_ask_uses_the_named_service(service: RunningService) -> None:
    """With `AGENTSVC_BASE_URL` and a key the embedded service has no part in it."""
    done = agentsvc("ask", "say hi", AGENTSVC_BASE_URL=service.base_url, SERVICE_API_KEY=service.api_key)
    assert (done.returncode, done.stdout) == (0, "hi\n")


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


def test_another_answer_than_was_said_is_printed() -> None:
    """The output counts: when it is not what was streamed, it is printed too."""
    printer = StreamedText()
    assert printer.add(delta(1, "Thinking aloud")) == "Thinking aloud"
    assert printer.finish(Run(run_id="r", status="completed", output="42")) == "\n42\n"


def test_status_stop_and_restart(tmp_path: Path) -> None:
    """The three commands tell what runs, end it, and start it with other settings."""
    data = tmp_path / "data"
    nothing = agentsvc("status", "--data", data)
    assert (nothing.returncode, nothing.stdout) == (1, f"No service is running in {data}.\n")
    try:
        first = embedded.find_or_start(data)
        ready = embedded.status(data)
        assert ready is not None
        shown = agentsvc("status", "--data", data).stdout
        for what in (first.base_url, data, data / "serve.log", "offline", __version__, f"process {ready.pid}", "since"):
            assert str(what) in shown
        other = embedded.find_or_start(data, model="scripted")
        assert other.instance == first.instance
        assert other.notice is not None
        restart = other.notice.rpartition("with yours: ")[2]
        subprocess.run(restart, shell=True, env=ENV, check=True, timeout=PATIENCE_SECONDS)
        assert embedded.find_or_start(data, model="scripted").notice is None
    finally:
        assert agentsvc("stop", "--data", data).stdout == "Stopped.\n"
    assert agentsvc("stop", "--data", data).stdout == f"No service was running in {data}.\n"


def test_restart_with_a_model_that_is_not_there_stops_nothing(service: RunningService) -> None:
    before = embedded.status(service.data)
    done = agentsvc("restart", "--data", service.data, "--model", "gguf:/nowhere/small.gguf")
    assert done.returncode == 2
    assert "There is no file /nowhere/small.gguf: `agentsvc model pull smollm2`" in done.stderr
    assert embedded.status(service.data) == before


@pytest.mark.parametrize(
    ("arguments", "env", "blamed"),
    [
        (["--model", "gpt-4"], {}, "--model: 'gpt-4'"),
        (["--model", "gpt:"], {}, "--model: 'gpt:'"),
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
    assert "offline" in done.stderr or "RUN_CAPACITY" in done.stderr
    assert before is not None
    assert embedded.status(service.data) == before


def test_service_that_is_held_and_silent_is_told_by_status_and_awaited_by_stop(tmp_path: Path) -> None:
    """While a service ends it does not answer: `status` says so, a second `stop` says that it waits, and waits."""
    folder = DataFolder(tmp_path)
    with FileLock(folder.lock):
        silent = agentsvc("status", "--data", tmp_path)
        stopping = subprocess.Popen(
            command("stop", "--data", tmp_path), env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert stopping.stderr is not None
        assert "Waiting" in stopping.stderr.readline()
        assert stopping.poll() is None
    assert stopping.communicate(timeout=PATIENCE_SECONDS) == ("Stopped.\n", "")
    assert silent.returncode == 1
    assert "does not answer" in silent.stdout
    assert str(folder.path) in silent.stdout


def test_notebooks_are_never_overwritten(tmp_path: Path) -> None:
    """What the user changed stays, what is new comes, and drafts of the checkout stay behind."""
    source, target = tmp_path / "source", tmp_path / "target"
    (source / "data").mkdir(parents=True)
    (source / ".ipynb_checkpoints").mkdir()
    for name in ("quickstart.ipynb", "data/prices.csv", ".ipynb_checkpoints/quickstart.ipynb"):
        (source / name).write_text("ours")
    target.mkdir()
    (target / "quickstart.ipynb").write_text("theirs")
    assert lab_command.copy_notebooks(source, target) == [target / "data/prices.csv"]
    assert (target / "quickstart.ipynb").read_text() == "theirs"
    assert (target / "data/prices.csv").read_text() == "ours"
    assert not (target / ".ipynb_checkpoints").exists()
    assert lab_command.copy_notebooks(source, target) == []


def test_without_jupyterlab_lab_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """One sentence with the command, and nothing copied."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.chdir(tmp_path)
    assert main(["lab"]) == 1
    assert "pip install 'agentsvc-nb[lab]'" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_lab_refuses_a_taken_port_before_anything_else(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """No address that would not work, no notebooks, no service."""
    monkeypatch.chdir(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        assert main(["lab", "--port", str(port), "--data", str(tmp_path / "data")]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert f"port {port}" in said.err
    assert "--port" in said.err
    assert list(tmp_path.iterdir()) == []


def test_lab_says_when_jupyterlab_fails(tmp_path: Path) -> None:
    """JupyterLab that ends with an error is an error of ours, with a sentence; the service goes on."""
    data = tmp_path / "data"
    done = subprocess.run(
        command("lab", "--no-browser", "--data", data, "--", "--ServerApp.port=no"),
        cwd=tmp_path,
        env=ENV | {"JUPYTER_CONFIG_DIR": str(tmp_path / "config"), "IPYTHONDIR": str(tmp_path / "ipython")},
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )
    assert embedded.stop(data), "the service was still there"
    assert done.returncode == 1
    assert "JupyterLab ended with an error" in done.stderr
    assert f"agentsvc stop --data {data}" in done.stdout


def test_lab_runs_until_interrupted_and_leaves_the_service(tmp_path: Path) -> None:
    """The address is said once it can be opened, and is right; Ctrl-C ends JupyterLab and not the service."""
    data = tmp_path / "data"
    lab = subprocess.Popen(
        command("lab", "--no-browser", "--data", data, "--", "--ServerApp.quit_button=False"),
        cwd=tmp_path,
        env=ENV | {"JUPYTER_CONFIG_DIR": str(tmp_path / "config"), "IPYTHONDIR": str(tmp_path / "ipython")},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with lab:
        try:
            assert lab.stdout is not None
            address = next(line for line in lab.stdout if line.startswith("JupyterLab: http://127.0.0.1:"))
            origin, _, token = address.split()[1].partition("/lab")
            token = token.partition("token=")[2]
            assert answers(f"{origin}/api/contents", token)
            notes = settings(f"{origin}/lab/api/settings/@jupyterlab/apputils-extension:notification", token)
            assert notes["fetchNews"]["default"] == "false", "it would ask for news over the first notebook"
        finally:
            lab.send_signal(signal.SIGINT)
            assert lab.wait(PATIENCE_SECONDS) == 0
        last = lab.stdout.readlines()[-1]
    assert "The service goes on" in last
    assert f"agentsvc stop --data {data}" in last
    assert not answers(f"{origin}/api/contents", token)
    assert (tmp_path / lab_command.NOTEBOOK_FOLDER).is_dir()
    assert embedded.stop(data), "the service was still there"


def settings(url: str, token: str) -> dict[str, dict[str, object]]:
    """The settings of a plugin of JupyterLab, with their defaults."""
    request = urllib.request.Request(url, headers={"Authorization": f"token {token}"})
    with urllib.request.urlopen(request, timeout=5) as answer:
        found: dict[str, dict[str, object]] = json.load(answer)["schema"]["properties"]
    return found


def answers(url: str, token: str) -> bool:
    request = urllib.request.Request(url, headers={"Authorization": f"token {token}"})
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


@pytest.mark.parametrize(
    ("given", "token", "kept"),
    [
        ([], None, []),
        (["--IdentityProvider.token=mine", "--ServerApp.quit_button=False"], "mine", ["--ServerApp.quit_button=False"]),
        (["--ServerApp.token='mine'"], "mine", []),
        (["--IdentityProvider.token="], "", ["--IdentityProvider.token="]),
    ],
)
def test_a_token_of_ones_own_is_that_of_jupyterlab_and_of_the_address(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    given: list[str],
    token: str | None,
    kept: list[str],
) -> None:
    """It goes through the environment, as ours does: every user of the machine can list arguments."""
    monkeypatch.chdir(tmp_path)
    started: list[tuple[list[str], str, str]] = []

    def begin(data: Path, command: list[str], token: str, served: lab_command.Served) -> int:
        started.append((command, token, served.address))
        return 0

    monkeypatch.setattr(lab_command, "_run_with_service", begin)
    assert main(["lab", "--no-browser", "--data", str(tmp_path / "data"), "--", *given]) == 0
    ((command, used, address),) = started
    assert command[len(command) - len(kept) :] == kept
    assert sum(".token=" in each for each in command) == (token == "")
    assert used == token or token is None
    assert address.partition("?")[2] == ("" if token == "" else f"token={used}")
