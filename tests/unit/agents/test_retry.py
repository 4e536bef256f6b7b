"""A model that is away does not end a run (docs/models.md "When a model does not answer"), on the wire."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import Any, Final

import pytest

from agentsvc_nb import agents
from agentsvc_nb.agents.language import retry
from agentsvc_nb.agents.language.errors import fault_of
from agentsvc_nb.agents.language.retry import ModelUnavailable, RetryDelays
from agentsvc_nb.settings import Settings
from agentsvc_nb.tools.port import WorkFailure
from tests.support.certificates import certificate
from tests.unit.agents.chat_server import ChatServer, Reply, chat_server
from tests.unit.agents.wires.reply import Refused
from tests.unit.service.agents_harness import MemoryRunContext, MemoryWorkspace

pytestmark = pytest.mark.rule("A run repeats failed model requests from the last checkpoint, for ten minutes.")

HALF: Final = Reply(("Once upon", " a time"), end="lost")
DONE: Final = Reply(("Done.",))


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "FIRST_SECONDS", 0.001)


def played(server: ChatServer, folder: Path, **settings: Any) -> tuple[str | None, MemoryRunContext]:
    """An answer of the agent in this process."""
    turn = MemoryRunContext("hi", MemoryWorkspace(folder / "chat"))
    given = Settings(folder, model="openai-chat:stand-in", model_url=server.url, **settings)
    return asyncio.run(agents.choose(given.model, given).run(turn)), turn


def error(status: int, message: str, headers: tuple[tuple[str, str], ...] = (), **more: Any) -> Refused:
    return Refused(status, {"error": {"message": message, **more}}, headers)


DAILY: Final = "Rate limit reached for model `llama` on tokens per day (TPD): Limit 100000. Please try again in 9m38s."
SPENT: Final = {
    "OpenAI": error(429, "You exceeded your current quota.", type="insufficient_quota", code="insufficient_quota"),
    "OpenRouter's free models": error(429, "Rate limit exceeded: free-models-per-day. Add 10 credits to unlock 1000."),
    "Groq": error(429, DAILY, type="tokens", code="rate_limit_exceeded"),
    "Anthropic": error(400, "You have reached your specified API usage limits. You will regain access on 2026-12-01."),
    "Ollama's cloud": error(403, "you've reached your weekly usage limit, upgrade to continue"),
}
PASSES: Final = {
    "Groq": error(429, DAILY.replace("day (TPD)", "minute (TPM)") + " Upgrade at https://console.groq.com/billing"),
    "Mistral": Refused(429, {"message": "Requests rate limit exceeded", "code": "1300"}),
    "OpenAI": error(429, "Rate limit reached for gpt-5.2 on requests per min (RPM): Limit 3, Used 3."),
}


@pytest.mark.parametrize("fault", SPENT.values(), ids=SPENT)
def test_a_quota_that_is_used_up_is_not_waited_for(fault: Refused, tmp_path: Path) -> None:
    with chat_server(Reply(fault=fault), DONE) as server, pytest.raises(WorkFailure) as failed:
        played(server, tmp_path, model_patience_seconds=5)
    assert len(server.asked) == 1
    assert (failed.value.code, fault_of(failed.value)) == ("model_unavailable", "credit"), "the run can be resumed"


@pytest.mark.parametrize("fault", PASSES.values(), ids=PASSES)
def test_a_limit_of_a_minute_is_waited_for(fault: Refused, tmp_path: Path) -> None:
    with chat_server(Reply(fault=fault), Reply(fault=fault), DONE) as server:
        answer, turn = played(server, tmp_path, model_patience_seconds=60)
    assert (answer, [code for code, _ in turn.of("warn")]) == ("Done.", ["model_retried"] * 2), "none is unseen"


def test_a_certificate_that_is_not_trusted_is_not_waited_for(tmp_path: Path) -> None:
    with chat_server(DONE, certificate=certificate(tmp_path)) as server, pytest.raises(WorkFailure) as failed:
        played(server, tmp_path)
    assert not isinstance(failed.value, ModelUnavailable), "it would be asked again"
    assert failed.value.code == "model_unavailable"
    assert "SSL_CERT_FILE" in failed.value.message
    assert fault_of(failed.value) == "other", "the network is not what to check"


def test_a_run_that_has_waited_long_enough_fails(tmp_path: Path) -> None:
    with chat_server(HALF) as server, pytest.raises(WorkFailure, match="is incomplete") as failed:
        played(server, tmp_path, model_patience_seconds=0.01)
    assert failed.value.code == "model_unavailable"
    assert len(server.asked) > 1


def test_waits_grow_and_are_bounded_and_a_provider_is_heeded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "FIRST_SECONDS", 1.0)
    waiting = RetryDelays(600)
    found = []
    with contextlib.suppress(ModelUnavailable):
        while True:
            found.append(waiting.next(ModelUnavailable("Away.")))
    steps = [1, 2, 4, 8, 16, 32, 64, *[120] * 20]
    assert all(step / 2 <= wait <= step for wait, step in zip(found, steps, strict=False))
    assert 480 <= sum(found) <= 600
    waiting.reset()
    assert waiting.next(ModelUnavailable("Away.", retry_after=90)) == 90
    with pytest.raises(ModelUnavailable):
        waiting.next(ModelUnavailable("Away.", retry_after=900))
