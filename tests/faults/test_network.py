"""Both faces before a real service on a network that breaks: nothing is lost, nothing done twice, nothing left open."""

from __future__ import annotations

import hashlib
import random
import uuid
from pathlib import Path
from typing import Any

import pytest

from agentsvc_nb import AgentService, APIConnectionError
from agentsvc_nb.client import streams, tools
from agentsvc_nb.testing import RunningService
from agentsvc_nb.wire.limits import MIB
from tests.faults.faces import Face
from tests.faults.network import (
    CONTENT,
    KINDS,
    PATIENCE_SECONDS,
    WAYS,
    count,
    how_ended,
    new_chat,
    outcome_of,
    read,
)
from tests.faults.proxy import Direction, Fault, How, Proxy
from tests.support.sampling import sampled

IMAGES = {"request": {"brief": "Autumn sale"}}
pytestmark = pytest.mark.usefixtures("all_closed", "impatient")


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a client give a silent stream or handle up soon, and wait for nothing between its attempts."""
    monkeypatch.setattr(streams, "READ_SECONDS", PATIENCE_SECONDS)
    monkeypatch.setattr(tools, "SYNC_SECONDS", PATIENCE_SECONDS)
    monkeypatch.setattr(random, "random", lambda: 0.0)


def faults(how: How, direction: Direction = "down", size: int = 3_000, seed: int = 1) -> list[Fault]:
    """Ten broken connections: some before anything came, most in the middle."""
    dice = random.Random(f"{how} {seed}")
    return [Fault(how, dice.choice([0, 150, *[dice.randrange(800, size)] * 3]), direction) for _ in range(10)]


# -- event streams -------------------------------------------------------------------------------------------------


@KINDS
def test_a_stream_over_ten_broken_connections_is_whole(
    how: How, facing: Any, service: RunningService, ended: tuple[str, list[Any]]
) -> None:
    run_id, events = ended
    with Proxy(service.base_url, [None, *faults(how)]) as proxy:
        face: Face = facing(proxy)

        def follow(client: Any) -> Any:
            return read(client.with_options(max_retries=9).runs.attach(run_id, timeout=PATIENCE_SECONDS))

        assert face(follow) == events


# -- starts --------------------------------------------------------------------------------------------------------


@WAYS
@KINDS
@pytest.mark.parametrize("after", sampled([0, 300], 300))
def test_a_keyed_start_gives_one_run(
    how: How, direction: Direction, after: int, facing: Any, service: RunningService
) -> None:
    before, key = count(service, "run"), uuid.uuid4().hex
    with Proxy(service.base_url, [Fault(how, after, direction)] * 2) as proxy:
        face: Face = facing(proxy)
        run = face(lambda client: client.runs.start("say one", idempotency_key=key, timeout=PATIENCE_SECONDS))
    assert how_ended(service, run.run_id) == "completed"
    assert count(service, "run") - before == 1


@WAYS
@KINDS
@pytest.mark.parametrize("after", sampled([0, 300], 300))
def test_a_start_without_a_key_is_sent_once(
    how: How, direction: Direction, after: int, facing: Any, service: RunningService
) -> None:
    """Two outcomes are right: a run, or an error that leaves open whether there is one. Never two runs."""
    before = count(service, "run")
    with Proxy(service.base_url, [Fault(how, after, direction)] * 3) as proxy:
        face: Face = facing(proxy)
        outcome = outcome_of(lambda: face(lambda client: client.runs.start("say one", timeout=PATIENCE_SECONDS)))
    if isinstance(outcome, APIConnectionError):
        assert "may have started" in (outcome.hint or "")
        # Not `struck`: before the answer of a busy machine comes, the client has given up.
        assert (outcome.attempts, proxy.taken) == (1, 1)
        assert count(service, "run") - before <= 1
    else:
        assert how == "delay" or not proxy.struck
        assert how_ended(service, outcome.run_id) == "completed"
        assert count(service, "run") - before == 1


# -- polling -------------------------------------------------------------------------------------------------------


@KINDS
def test_a_keyed_job_is_done_once_over_faults(how: How, facing: Any, service: RunningService, chat: str) -> None:
    before, key = count(service, "job"), uuid.uuid4().hex
    with Proxy(service.base_url, [Fault(how, after) for after in (0, 100, 500)]) as proxy:
        face: Face = facing(proxy)

        def work(client: Any) -> Any:
            client = client.with_options(timeout=PATIENCE_SECONDS, max_retries=4)
            return client.jobs.submit_and_wait("create_images", IMAGES, chat=chat, idempotency_key=key)

        assert face(work).status == "succeeded"
    assert count(service, "job") - before == 1


# -- files ---------------------------------------------------------------------------------------------------------


@KINDS
def test_a_download_over_faults_is_whole(
    how: How, facing: Any, service: RunningService, chat: str, tmp_path: Path
) -> None:
    plan = [Fault(how, after) for after in (0, 200, MIB + 300_000, MIB + 300_000)]
    with Proxy(service.base_url, plan) as proxy:
        face: Face = facing(proxy)

        def fetch(client: Any) -> Any:
            # As many as faults: what a busy machine has not read yet, a reset takes away, and nothing was gained.
            client = client.with_options(timeout=PATIENCE_SECONDS, max_retries=len(plan))
            return client.files.download("uploads/big.bin", chat=chat, to=tmp_path)

        assert face(fetch).read_bytes() == CONTENT
    assert [path.name for path in tmp_path.iterdir()] == ["big.bin"]


@WAYS
@KINDS
def test_an_upload_over_faults_arrives_whole_and_once(
    how: How, direction: Direction, facing: Any, service: RunningService, tmp_path: Path
) -> None:
    (tmp_path / "up.bin").write_bytes(CONTENT)
    with AgentService(service.api_key, service.base_url) as client:
        chat = new_chat(client)
    plan = [Fault(how, after if direction == "up" else 10, direction) for after in (0, 500, MIB)]
    with Proxy(service.base_url, plan) as proxy:
        face: Face = facing(proxy)

        def send(client: Any) -> Any:
            client = client.with_options(timeout=2 * PATIENCE_SECONDS, max_retries=5)
            return client.files.upload(tmp_path / "up.bin", chat=chat)

        assert [file.size_bytes for file in face(send)] == [len(CONTENT)]
    with AgentService(service.api_key, service.base_url) as client:
        assert [file.id for file in client.files.list(chat)] == [hashlib.sha256(CONTENT).hexdigest()]


# -- ask, and waiting for a chat ------------------------------------------------------------------------------------

LATE = "say so far\nwait 0.9\nsay done"
"""A turn that outlasts the service's patience: it is answered by a handle."""


@WAYS
@KINDS
def test_a_keyed_ask_is_one_turn(how: How, direction: Direction, facing: Any, service: RunningService) -> None:
    """Faults strike the start, the looks at its handle, and the reading of its result."""
    before, key = (count(service, "run"), count(service, "job")), uuid.uuid4().hex
    plan = [Fault(how, after, direction) for after in (0, 1_200, 900, 1_000, 40)]
    with Proxy(service.base_url, plan) as proxy:
        face: Face = facing(proxy)
        answer = face(
            lambda client: client.with_options(timeout=PATIENCE_SECONDS, max_retries=7).ask(
                LATE, chat="new", idempotency_key=key, poll=0.02
            )
        )
        assert proxy.struck or how == "delay"
    assert answer.answer == "so far\ndone"
    assert answer.raw["family"] == "mcp_ask", "it became a job"
    assert (count(service, "run") - before[0], count(service, "job") - before[1]) == (1, 1)


@WAYS
@KINDS
def test_a_keyed_start_waits_for_the_chat_and_is_one_run(
    how: How, direction: Direction, facing: Any, service: RunningService
) -> None:
    """Faults strike the refusals, the wait for the run that holds the chat, and the start itself."""
    with AgentService(service.api_key, service.base_url) as client:
        chat = new_chat(client)
        before, key = count(service, "run"), uuid.uuid4().hex
        first = client.runs.start("wait 0.3\nsay first", chat=chat)
    plan = [Fault(how, after, direction) for after in (0, 500, 90, 900)]
    with Proxy(service.base_url, plan) as proxy:
        face: Face = facing(proxy)
        given = {"chat": chat, "on_busy": "wait", "idempotency_key": key}
        outcome = face(
            lambda client: client.with_options(timeout=PATIENCE_SECONDS, max_retries=7).runs.start(
                "say second", **given
            )
        )
        assert proxy.struck or how == "delay"
    run_id = outcome.run_id
    with AgentService(service.api_key, service.base_url) as client:
        first, second = client.runs.get(first.run_id), client.runs.wait(run_id, poll=0.02)
    assert (first.output, second.output) == ("first", "second")
    assert (first.ended_at or "") <= (second.started_at or "")
    assert count(service, "run") - before == 2
