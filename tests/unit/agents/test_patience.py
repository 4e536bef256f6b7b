"""A model that is away does not end a run (docs/models.md "When a model does not answer"), on the wire."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import Any, Final

import pytest

from agentsvc_nb import agents
from agentsvc_nb.agents.language import patience, served
from agentsvc_nb.agents.language.patience import Away, Patience
from agentsvc_nb.agents.language.trying import fault_of
from agentsvc_nb.settings import Settings
from agentsvc_nb.tools.port import WorkFailure
from tests.service.agents.test_claude import claude
from tests.service.agents.test_language import ANGLES, language_service
from tests.support.certificates import certificate
from tests.unit.agents.chat_server import ChatServer, Reply, chat_server
from tests.unit.agents.messages import Reply as ClaudeReply
from tests.unit.agents.wires.chat_completions import ChatCompletions
from tests.unit.agents.wires.reply import Refused
from tests.unit.agents.wires.reply import Reply as WireReply
from tests.unit.agents.wires.server import ProviderServer, provider_server
from tests.unit.service.agents_harness import MemoryRunContext, MemoryWorkspace

HALF: Final = Reply(("Once upon", " a time"), reason=None, done=False, usage=None)
CALL: Final = Reply(("Let me write.",), calls=(("write_file", '{"path": "a.txt", "text": "x"}'),))
DONE: Final = Reply(("Done.",))


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "FIRST_SECONDS", 0.001)


def played(server: ChatServer, folder: Path, **settings: Any) -> tuple[str | None, MemoryRunContext]:
    """An answer of the agent in this process."""
    turn = MemoryRunContext("hi", MemoryWorkspace(folder / "chat"))
    given = Settings(folder, model="openai-chat:stand-in", model_url=server.url, **settings)
    return asyncio.run(agents.choose(given.model, given).run(turn)), turn


def warnings(turn: MemoryRunContext) -> list[str]:
    return [code for code, _ in turn.of("warn")]


def test_a_run_goes_on_from_its_last_checkpoint_and_pays_for_what_broke_off() -> None:
    with language_service(CALL, HALF, DONE, model_patience_seconds=60) as it:
        run = it.ask("write a file")
        assert (run.status, run.output, run.steps) == ("completed", "Done.", 2)
        assert len(it.server.asked) == 3
        warned = it.events(run, "warning")
        assert [payload["code"] for payload in warned] == ["model_retried"]
        assert "broke off" in warned[0]["message"]
        assert [payload["discard_after"] > 0 for payload in it.events(run, "run.resumed")] == [True]
        assert len({payload["call_id"] for payload in it.events(run, "tool.call")}) == 1
        assert len(it.events(run, "file.written")) == 1, "the file was written once"
        assert run.usage.input_tokens > 200, "what broke off has cost, too"


def test_a_tools_question_is_asked_again_too() -> None:
    with language_service(HALF, ANGLES, model_patience_seconds=60) as it:
        job = it.client.jobs.submit_and_wait("find_angles", {"product": "tea", "count": 1})
        assert job.data is not None
        assert len(it.server.asked) == 2
        assert job.usage is not None
        assert job.usage.input_tokens > 100


def test_claude_overloaded_in_mid_stream_is_asked_again() -> None:
    with claude("claude-sonnet-4-6", model_patience_seconds=60) as it:
        run = it.ask("hi", ClaudeReply(("Once",), error="overloaded_error"), ClaudeReply(("Tea.",)))
        assert (run.status, run.output) == ("completed", "Tea.")
        assert [payload["code"] for payload in it.events(run, "warning")] == ["leaves_machine", "model_retried"]


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("reply", [Reply(status=500), Reply(status=429), Reply(status=503), HALF])
def test_what_passes_is_waited_for(reply: Reply, tmp_path: Path) -> None:
    with chat_server(reply, reply, DONE) as server:
        answer, turn = played(server, tmp_path, model_patience_seconds=60)
    assert answer == "Done."
    assert warnings(turn) == ["model_retried"] * 2, "the provider's library does not try again unseen"


def refused(server: ProviderServer, folder: Path, fault: Refused) -> WorkFailure:
    """What a run ends with, whose provider answers once with this document and then well."""
    server.answers(WireReply(fault=fault), WireReply(("Done.",)))
    given = Settings(folder, model="openai-chat:x", model_url=f"{server.url}/v1", model_patience_seconds=5)
    turn = MemoryRunContext("hi", MemoryWorkspace(folder / "chat"))
    try:
        asyncio.run(agents.choose(given.model, given).run(turn))
    except WorkFailure as failure:
        return failure
    raise AssertionError(f"It was asked again: {turn.of('warn')}")


def error(status: int, message: str, headers: tuple[tuple[str, str], ...] = (), **more: Any) -> Refused:
    return Refused(status, {"error": {"message": message, **more}}, headers)


DAILY: Final = "Rate limit reached for model `llama` on tokens per day (TPD): Limit 100000. Please try again in 9m38s."
SPENT: Final = {
    "OpenAI": error(429, "You exceeded your current quota.", type="insufficient_quota", code="insufficient_quota"),
    "a gateway to OpenAI": error(429, "You exceeded your current quota, please check your plan and billing details."),
    "OpenRouter": error(402, "Insufficient credits. Add more using https://openrouter.ai/credits", code=402),
    "OpenRouter's free models": error(429, "Rate limit exceeded: free-models-per-day. Add 10 credits to unlock 1000."),
    "xAI": error(429, "Your team has either used all available credits or reached its monthly spending limit."),
    "Groq": error(429, DAILY, type="tokens", code="rate_limit_exceeded"),
    "Moonshot": error(429, "Your account is suspended.", type="exceeded_current_quota_error"),
    "Mistral": Refused(429, {"message": "You have reached your monthly usage limit.", "code": "1300"}),
    "Cohere": Refused(429, {"message": "You are using a Trial key, which is limited to 1000 API calls / month."}),
    "LiteLLM": error(429, "Budget has been exceeded! Current cost: 10.1, Max budget: 10.0", type="budget_exceeded"),
    "Anthropic": error(400, "You have reached your specified API usage limits. You will regain access on 2026-12-01."),
    "Ollama's cloud": error(403, "you've reached your weekly usage limit, upgrade to continue"),
}
PASSES: Final = {
    "Groq": error(429, DAILY.replace("day (TPD)", "minute (TPM)") + " Upgrade at https://console.groq.com/billing"),
    "Groq, with the time of a day": error(429, DAILY, (("Retry-After", "1"),)),
    "Google": error(429, "RESOURCE_EXHAUSTED: You exceeded your current quota, please check your plan. Retry in 32s."),
    "Mistral": Refused(429, {"message": "Requests rate limit exceeded", "code": "1300"}),
    "OpenAI": error(429, "Rate limit reached for gpt-5.2 on requests per min (RPM): Limit 3, Used 3."),
}


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("fault", SPENT.values(), ids=SPENT)
def test_a_quota_that_is_used_up_is_not_waited_for(fault: Refused, tmp_path: Path) -> None:
    with provider_server(ChatCompletions()) as server:
        failure = refused(server, tmp_path, fault)
        assert len(server.asked) == 1
    assert (failure.code, fault_of(failure)) == ("model_unavailable", "credit"), "the run can be resumed"
    assert "quota or credit is used up" in failure.message


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("fault", PASSES.values(), ids=PASSES)
def test_a_limit_of_a_minute_is_waited_for(fault: Refused, tmp_path: Path) -> None:
    with provider_server(ChatCompletions()) as server, pytest.raises(AssertionError, match="asked again"):
        refused(server, tmp_path, fault)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_what_does_not_pass_is_not_waited_for(status: int, tmp_path: Path) -> None:
    with chat_server(Reply(status=status)) as server, pytest.raises(WorkFailure) as failed:
        played(server, tmp_path)
    assert (failed.value.code, len(server.asked)) == ("model_refused", 1)


@pytest.mark.usefixtures("quick")
def test_a_certificate_that_is_not_trusted_is_not_waited_for(tmp_path: Path) -> None:
    with chat_server(DONE, certificate=certificate(tmp_path)) as server, pytest.raises(WorkFailure) as failed:
        played(server, tmp_path)
    assert not isinstance(failed.value, Away), "it would be asked again"
    assert failed.value.code == "model_unavailable"
    assert failed.value.message.replace("self signed", "self-signed") == (
        "The model's server has a certificate that is not trusted here: self-signed certificate. If it is your own,"
        " name its file in SSL_CERT_FILE, and there `agentsvc restart`."
    )
    assert fault_of(failed.value) == "other", "the network is not what to check"


@pytest.mark.usefixtures("quick")
def test_a_run_that_has_waited_long_enough_fails(tmp_path: Path) -> None:
    with chat_server(HALF) as server, pytest.raises(WorkFailure, match="broke off") as failed:
        played(server, tmp_path, model_patience_seconds=0.01)
    assert failed.value.code == "model_unavailable"
    assert len(server.asked) > 1


@pytest.mark.usefixtures("quick")
def test_an_answer_that_does_not_begin_is_asked_for_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served, "FIRST_EVENT_SECONDS", 0.3)
    with chat_server(Reply(hangs=True), DONE) as server:
        answer, turn = played(server, tmp_path, model_patience_seconds=60)
    assert (answer, warnings(turn)) == ("Done.", ["model_retried"])


@pytest.mark.usefixtures("quick")
def test_an_answer_that_stands_still_is_asked_for_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served, "SILENCE_SECONDS", 0.3)
    with chat_server(Reply(("Once",), hangs=True), DONE) as server:
        answer, turn = played(server, tmp_path, model_patience_seconds=60)
    assert (answer, warnings(turn)) == ("Done.", ["model_retried"])
    assert turn.tokens[1] > 10, "what stood still has cost, too"


def test_waits_grow_and_are_bounded_and_a_provider_is_heeded() -> None:
    waiting = Patience(600)
    found = []
    with contextlib.suppress(Away):
        while True:
            found.append(waiting.wait(Away("Away.")))
    steps = [1, 2, 4, 8, 16, 32, 64, *[120] * 20]
    assert all(step / 2 <= wait <= step for wait, step in zip(found, steps, strict=False))
    assert 480 <= sum(found) <= 600
    waiting.answered()
    assert waiting.wait(Away("Away.", retry_after=90)) == 90
    with pytest.raises(Away):
        waiting.wait(Away("Away.", retry_after=900))
