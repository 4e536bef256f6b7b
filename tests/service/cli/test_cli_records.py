"""The command line for scripts: runs, files, jobs and tools as lines and as JSON, standard input, exit codes."""

from __future__ import annotations

import io
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from agentsvc_nb.client.api import AgentService
from agentsvc_nb.testing import RunningService
from tests.service.cli.test_cli import agentsvc


def parsed(service: RunningService, *arguments: object, code: int = 0) -> Any:
    """The JSON that a command of the service prints."""
    done = agentsvc(*arguments, "--json", "--data", service.data)
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout)


def typed_in(monkeypatch: pytest.MonkeyPatch, given: bytes) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(given), "utf-8"))


def test_a_question_comes_from_standard_input_and_its_run_as_json(
    service: RunningService, monkeypatch: pytest.MonkeyPatch
) -> None:
    typed_in(monkeypatch, "say Grüße".encode())
    run = parsed(service, "ask", "-")
    assert (run["status"], run["output"].strip()) == ("completed", "Grüße")
    shown = parsed(service, "runs", "show", run["run_id"])
    assert shown == run
    text = agentsvc("runs", "show", run["run_id"], "--data", service.data).stdout
    assert text.startswith("Run completed\n")
    assert "Grüße" in text


def test_runs_and_jobs_are_listed_and_the_last_run_has_a_name(service: RunningService) -> None:
    first = parsed(service, "ask", "say one")
    failed = parsed(service, "ask", "fail broken It broke.", "--chat", first["chat"], code=1)
    of_chat = ("--chat", first["chat"])
    listed = parsed(service, "runs", "list", *of_chat)
    assert [run["run_id"] for run in listed] == [failed["run_id"], first["run_id"]]
    assert parsed(service, "runs", "list", *of_chat, "--limit", 1) == listed[:1]
    assert parsed(service, "runs", "list", *of_chat, "--status", "completed") == listed[1:]
    assert parsed(service, "runs", "show", "last") == failed
    lines = agentsvc("runs", "list", *of_chat, "--data", service.data).stdout.splitlines()
    assert [line.split()[:2] for line in lines[1:]] == [[run["run_id"], run["status"]] for run in listed]
    job = parsed(service, "jobs", "run", "echo_job", '{"steps": 0}', *of_chat)
    assert [each["job_id"] for each in parsed(service, "jobs", "list", *of_chat)] == [job["job_id"]]
    none = agentsvc("jobs", "list", *of_chat, "--status", "failed", "--data", service.data)
    assert (none.returncode, none.stdout, none.stderr) == (0, "", "There are no jobs.\n")


def test_a_run_is_named_by_the_beginning_of_its_id(service: RunningService) -> None:
    run_id = parsed(service, "ask", "say short")["run_id"]
    assert parsed(service, "runs", "show", run_id[:8])["run_id"] == run_id
    attached = agentsvc("runs", "attach", run_id[:13], "--data", service.data)
    assert (attached.returncode, attached.stdout) == (0, "short\n")
    for given in (run_id[:7], "ffffffff-none"):
        refused = agentsvc("runs", "cancel", given, "--data", service.data)
        assert refused.returncode == 1
        assert refused.stderr.startswith(f"agentsvc: {given!r} does not name a run.")
        assert "`agentsvc runs list`" in refused.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["ask", "x", "--schema", "[1]"], "not a JSON object"),
        (["jobs", "run", "echo_job", "[" * 100_000], "nested too deeply"),
        (["jobs", "run", "echo_job", '{"steps": 1e400}'], "1e400 is too large"),
        (["files", "list", "--chat", "chat_000000000000000000000000"], "chat"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(arguments: list[str], said: str, service: RunningService) -> None:
    done = agentsvc(*arguments, "--data", service.data)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("agentsvc: ")
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_waiting_ends_after_the_timeout_and_the_run_goes_on(service: RunningService, client: AgentService) -> None:
    done = agentsvc("ask", "wait 600", "--timeout", 0.5, "--data", service.data)
    assert done.returncode == 124
    run_id = done.stderr.partition("agentsvc runs attach ")[2].split()[0]
    assert client.runs.get(run_id).status == "running"
    assert parsed(service, "runs", "cancel", run_id)["run_id"] == run_id
    assert client.runs.wait(run_id, poll=0.05).status == "cancelled"


def test_files_go_in_are_found_and_come_back(service: RunningService, client: AgentService, tmp_path: Path) -> None:
    chat = client.runs.start("say x", sync=True).chat
    names = [f"größe {number}.txt" for number in range(12)]  # more than one request takes
    for name in names:
        (tmp_path / name).write_text(f"words of {name}")
    at = ("--chat", chat)
    staged = parsed(service, "files", "put", *(tmp_path / name for name in names), *at)
    assert sorted(file["file_name"] for file in staged) == sorted(names)
    listed = parsed(service, "files", "list", *at)
    assert len(listed) == 12
    path = listed[0]["path"]
    found = parsed(service, "files", "search", f'"{Path(path).stem}"', *at)
    assert path in [file["path"] for file in found]
    got = agentsvc("files", "get", path, *at, "--to", tmp_path / "got.txt", "--data", service.data)
    assert got.stdout == f"{tmp_path / 'got.txt'}\n"
    piped = agentsvc("files", "get", path, *at, "--to", "-", "--data", service.data)
    assert piped.stdout == (tmp_path / "got.txt").read_text() == f"words of {Path(path).name}"
    nothing = agentsvc("files", "search", "xylophone", *at, "--data", service.data)
    assert (nothing.returncode, nothing.stdout, nothing.stderr) == (1, "", "No file matches.\n")


def test_a_job_is_run_shown_and_its_files_are_put_here(service: RunningService, tmp_path: Path) -> None:
    pictures = '{"request": {"brief": "Headline: Autumn sale", "outputs": {"count": 1}}}'
    done = agentsvc("jobs", "run", "create_images", pictures, "--to", tmp_path / "made", "--data", service.data)
    assert done.returncode == 0, done.stderr
    (place,) = done.stdout.splitlines()
    assert Path(place).read_bytes().startswith(b"\x89PNG")
    assert "1 of 1" in done.stderr
    job_id, chat = done.stderr.partition("[job ")[2].partition("]")[0].split(", chat ")
    job = parsed(service, "jobs", "show", job_id, "--chat", chat)
    assert (job["status"], len(job["files"])) == ("succeeded", 1)
    assert parsed(service, "jobs", "cancel", job_id, "--chat", chat)["status"] == "succeeded"
    tools = {tool["name"]: tool for tool in parsed(service, "tools", "list")}
    assert "create_images" in tools
    assert parsed(service, "tools", "show", "create_images")["input_schema"]["type"] == "object"


def test_what_is_shown_is_json_for_programs(service: RunningService) -> None:
    status = parsed(service, "status")
    assert (status["base_url"], status["held"]) == (service.base_url, True)
    assert "token" not in json.dumps(status), "the link that signs in is a secret"
    (key, *_) = parsed(service, "keys", "list")
    assert key["prefix"].startswith("svc_")
    assert service.api_key not in json.dumps(key)
    assert parsed(service, "account", "show")["state"] == "active"
    assert isinstance(parsed(service, "feedback", "list"), list)


def test_the_script_of_bash_completes_commands() -> None:
    function = "$(complete -p agentsvc | sed 's/.*-F \\([^ ]*\\) .*/\\1/')"
    asked = f"{agentsvc('completion', 'bash').stdout}\nCOMP_WORDS=(agentsvc runs ''); COMP_CWORD=2; {function}"
    done = subprocess.run(["bash", "-c", asked + '; echo "${COMPREPLY[@]}"'], capture_output=True, text=True)
    assert {"show", "attach", "cancel", "approve"} <= set(done.stdout.split()), done.stderr


def test_a_run_that_failed_is_resumed_and_watched(service: RunningService) -> None:
    with AgentService(service.api_key, service.base_url) as client:
        failed = client.runs.wait(client.runs.start("say one\nstep 1\nsay two", max_steps=1))
    done = agentsvc("runs", "resume", failed.run_id, "--data", service.data)
    assert (done.returncode, done.stdout) == (0, "one\ntwo\n")
    again = agentsvc("runs", "resume", failed.run_id, "--data", service.data)
    assert again.returncode == 1
    assert "already resumed" in again.stderr


def test_a_run_is_undone_and_what_was_left_is_named(service: RunningService) -> None:
    with AgentService(service.api_key, service.base_url) as client:
        run = client.runs.wait(client.runs.start("write a.md one\nwrite b.md two"))
        client.runs.wait(client.runs.start("write b.md three", chat=run.chat))
    done = agentsvc("runs", "undo", run.run_id, "--data", service.data)
    assert (done.returncode, done.stdout.splitlines()) == (
        1,
        [
            f"Run {run.run_id[:8]} is undone.",
            "- a.md: removed; its versions are kept",
            "- b.md: left as it is, because it was edited after the run",
            f"`agentsvc runs undo {run.run_id[:8]} --force` also changes the edited files.",
            f"`agentsvc runs redo {run.run_id[:8]}` restores the changes.",
        ],
    )
    assert "completed, undone" in agentsvc("runs", "list", "--chat", run.chat, "--data", service.data).stdout
    assert "undone" in agentsvc("runs", "show", run.run_id, "--data", service.data).stdout
    listed = agentsvc("files", "versions", "a.md", "--chat", run.chat, "--data", service.data)
    assert "The file was removed" in listed.stderr
    assert agentsvc("runs", "redo", run.run_id, "--force", "--data", service.data).returncode == 0
