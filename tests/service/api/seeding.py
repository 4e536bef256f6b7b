"""A service that holds something of each kind to be found, for what goes through all of its operations."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agentsvc_nb import AgentService
from agentsvc_nb.testing import RunningService, running_service
from tests.service.api.test_media_http import added, sound, transcript
from tests.service.cli.test_cli import agentsvc

Known = dict[str, list[str]]


@dataclass(frozen=True)
class Seeded:
    """`known`: values that exist, by the parameter that takes them (`query.chat_id`, `path.run_id`)."""

    service: RunningService
    known: Known
    failed_runs: list[str]
    """Two that may be resumed, each the last of its chat."""


@contextlib.contextmanager
def seeded_service(folder: Path) -> Iterator[Seeded]:
    """`folder` is for files that are added to the service."""
    with running_service("scripted", sync_hold_seconds=0.1, ask_handle_seconds=0.1, max_file_bytes=100_000) as service:
        with AgentService(service.api_key, base_url=service.base_url) as client:
            known = _work(client)
            failed = [client.runs.start("fail model_unavailable Away.", sync=True).run_id for _ in range(2)]
        told, silent = sound(folder / "told.wav", 1), sound(folder / "silent.wav", 2)
        known["path.media_id"] = [added(service, told, *transcript(folder)), added(service, silent)]
        known["path.page_id"] = [_page(service, url) for url in ("https://example.com/a", "https://example.com/b")]
        yield Seeded(service, known, failed)


def _work(client: AgentService) -> Known:
    """A run, a job and a report that have ended, and what they left."""
    run = client.runs.start("write notes.txt a summer sale\nwrite a/b.csv x,y\ncall echo_job {}\nsay done")
    run = client.runs.wait(run, poll=0.05)
    calls = [event.payload["call_id"] for event in client.runs.iterate_events(run.run_id) if event.type == "tool.call"]
    other = client.runs.start("say done", sync=True)
    job = client.jobs.submit("echo_job", {"steps": 1, "seconds": 0, "files": {"out.txt": "made"}})
    client.jobs.wait(job.job_id, chat=job.chat)
    report = client.feedback.send("It works.")
    assert run.chat is not None
    assert other.chat is not None
    return {
        "query.chat_id": [run.chat],
        "query.path": ["notes.txt", "a/b.csv"],
        "query.q": ["sum", '"a summer" -winter', "x or y"],
        "query.chat": [job.chat],
        "path.chat": [other.chat],
        "path.job_id": [job.job_id],
        "path.run_id": [run.run_id],
        "path.project": [client.projects.create("Autumn").id],
        "path.call_id": calls,
        "path.name": ["ask_stefanbrain", "create_images", "echo_job"],
        "path.id": [report.id],
        "body.tool": ["create_images", "echo_job"],
    }


def waiting_call(service: RunningService) -> Known:
    """A run and its call of a client's tool, which waits for the answer for two minutes."""
    tool = {"name": "look_up", "description": "Looks up.", "input_schema": {"type": "object"}, "effect": False}
    with AgentService(service.api_key, base_url=service.base_url) as client:
        started = client.runs.start("call look_up {}", extra_body={"client_tools": [tool]})
        for event in client.runs.attach(started):
            if event.type == "client_call.waiting":
                return {"path.run_id": [started.run_id], "path.call_id": [event.call_id]}
    raise AssertionError("nothing was asked")


def _page(service: RunningService, url: str) -> str:
    return agentsvc("pages", "add", "--data", service.data, url).stdout.strip()
