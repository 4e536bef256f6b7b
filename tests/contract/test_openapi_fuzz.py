"""The service does what its OpenAPI document says, and refuses what the document rules out: schemathesis, all checks.

It sends what the document allows and what it does not, to every operation: the examples, the edges of each schema,
random requests, and sequences in which an answer's ids are used by the next request.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.service.http.routing import HANDLERS
from agentsvc_nb.testing import RunningService, running_service
from agentsvc_nb.wire.routes import ROUTES
from tests.contract.test_media_http import SRT, added, sound
from tests.test_cli import agentsvc

CONFIG = """
seed = 20260101
continue-on-failure = true
request-timeout = 20
max-stream-events = 100
hooks = "tests.contract.openapi_hooks"
warnings = false

[generation]
max-examples = 12
no-shrink = true
database = "none"
allow-extra-parameters = false  # unknown fields and parameters are ignored (contract §1)

[phases.stateful]
max-steps = 6
"""
KNOWN = 0.6
"""How often a parameter is one that exists."""


@dataclass(frozen=True)
class Seeded:
    """A service that holds something to be found."""

    service: RunningService
    known: dict[str, list[str]]


@pytest.fixture(scope="module")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seeded]:
    with running_service("scripted", sync_hold_seconds=0.1, ask_handle_seconds=0.1, max_file_bytes=100_000) as service:
        with AgentService(service.api_key, base_url=service.base_url) as client:
            known = _work(client)
        folder = tmp_path_factory.mktemp("media")
        told, silent = sound(folder / "told.wav", 1), sound(folder / "silent.wav", 2)
        told.with_suffix(".srt").write_text(SRT)
        known["path.media_id"] = [added(service, told), added(service, silent)]
        page = agentsvc("pages", "add", "--data", service.data, "https://example.com/summer")
        known["path.page_id"] = [page.stdout.strip()]
        yield Seeded(service, known)


def _work(client: AgentService) -> dict[str, list[str]]:
    """A run, a job and a report that have ended, and what they left, by the parameter that it fits."""
    run = client.runs.start("write notes.txt a summer sale\nwrite a/b.csv x,y\nsay done", sync=True)
    job = client.jobs.submit("echo_job", {"steps": 1, "seconds": 0, "files": {"out.txt": "made"}})
    client.jobs.wait(job.job_id, chat=job.chat)
    report = client.feedback.send("It works.")
    assert run.chat is not None
    return {
        "query.chat_id": [run.chat],
        "query.path": ["notes.txt", "a/b.csv"],
        "query.q": ["sum", '"a summer" -winter', "x or y"],
        "query.chat": [job.chat],
        "path.job_id": [job.job_id],
        "path.run_id": [run.run_id],
        "path.name": ["create_images", "echo_job", "ask_stefanbrain"],
        "path.id": [report.id],
        "body.tool": ["create_images", "echo_job"],
    }


@pytest.mark.timeout(400)
def test_the_service_and_its_document_agree(seeded: Seeded, tmp_path: Path) -> None:
    (tmp_path / "schemathesis.toml").write_text(CONFIG + _dictionaries(seeded.known))
    document = httpx.get(seeded.service.base_url + ROUTES["service.openapi"].path)
    (tmp_path / "openapi.json").write_bytes(document.content)
    arguments = [
        str(tmp_path / "openapi.json"),
        f"--url={seeded.service.base_url}",
        f"--header=Authorization: Bearer {seeded.service.api_key}",
        *(f"--exclude-operation-id={route.operation_id}" for name, route in ROUTES.items() if _is_left_out(name)),
    ]
    found = subprocess.run(
        [
            sys.executable,
            "-m",
            "schemathesis.cli",
            f"--config-file={tmp_path / 'schemathesis.toml'}",
            "run",
            *arguments,
        ],
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": str(Path(__file__).parents[2]),
            "FUZZED_CHAT": seeded.known["query.chat"][0],
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stdout[-20_000:] + found.stderr[-2_000:]
    assert f"Tested: {sum(not _is_left_out(name) for name in ROUTES)}" in found.stdout
    counted = re.search(r"(\d+) generated", found.stdout)
    assert counted is not None
    assert int(counted[1]) > 1_000


def _is_left_out(name: str) -> bool:
    """What is not built, and what only a signed-in browser may do."""
    return name not in HANDLERS or ROUTES[name].access == "session"


def _dictionaries(known: dict[str, list[str]]) -> str:
    """The known values as the fuzzer takes them: named lists, and the parameters that they are for."""
    lists = [
        f"[dictionaries.{parameter.replace('.', '_')}]\nvalues = {json.dumps(values)}"
        for parameter, values in known.items()
    ]
    uses = [
        f'"{parameter}" = {{ dictionary = "{parameter.replace(".", "_")}", probability = {KNOWN} }}'
        for parameter in known
    ]
    return "\n".join([*lists, "[parameters]", *uses])


@pytest.mark.parametrize("name", [name for name in HANDLERS if ROUTES[name].access == "key"])
def test_without_a_key_every_operation_is_a_401(seeded: Seeded, name: str) -> None:
    route = ROUTES[name]
    path = route.url(**dict.fromkeys(re.findall(r"{(\w+)}", route.path), "x"))
    answer = httpx.request(route.method, seeded.service.base_url + path)
    assert answer.status_code == 401
    assert answer.json()["error"]["code"] == "unauthorized"
