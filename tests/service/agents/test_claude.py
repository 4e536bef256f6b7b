"""The agent with Claude, through the whole service, against a server that speaks Anthropic's Messages API."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any

import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.client.errors import JobFailedError
from agentsvc_nb.testing import running_service
from agentsvc_nb.tools.find_angles import Angle
from agentsvc_nb.tools.support.copy_facts import Judgement
from agentsvc_nb.wire.runs import Run
from tests.unit.agents.messages import INPUT_TOKENS, OUTPUT_TOKENS, Reply
from tests.unit.agents.messages_server import MessagesServer, messages_server

SCHEMA = {
    "type": "object",
    "properties": {
        "score": {"type": "integer", "maximum": 5},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    },
    "required": ["score"],
    "additionalProperties": False,
}
COUNTS = {"type": "object", "additionalProperties": {"type": "integer"}}
"""No grammar has it: any names."""
ANGLES = {"angles": [dict.fromkeys(Angle.model_fields, "x")]}
JUDGEMENT = {"verdict": "good", "strengths": ["short"], "weaknesses": [], "rewrite": "Buy tea."}
HALF = ("Once upon", " a time")


class Claude:
    """A service whose model is Claude, with the stand-in where Anthropic would be."""

    def __init__(self, client: AgentService, server: MessagesServer) -> None:
        self.client, self.server = client, server

    def ask(self, message: str, *replies: Reply, **options: Any) -> Run:
        self.server.answers(*replies)
        run = self.client.runs.wait(self.client.runs.start(message, **options).run_id, poll=0.05, timeout=60)
        assert self.server.refused == []
        return run

    def tool(self, name: str, given: dict[str, Any], *replies: Reply) -> dict[str, Any]:
        self.server.answers(*replies)
        job = self.client.jobs.submit_and_wait(name, given)
        assert self.server.refused == []
        assert job.data is not None
        return job.data

    def events(self, run: Run, kind: str) -> list[dict[str, Any]]:
        return [event.payload for event in self.client.runs.iterate_events(run.run_id) if event.type == kind]


@contextlib.contextmanager
def claude(model: str, **settings: object) -> Iterator[Claude]:
    with messages_server() as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANTHROPIC_BASE_URL", server.url)
        patch.setenv("ANTHROPIC_API_KEY", "any")
        with (
            running_service(f"anthropic:{model}", **{"model_patience_seconds": 0, **settings}) as service,
            AgentService(service.api_key, service.base_url) as client,
        ):
            yield Claude(client, server)


@pytest.fixture(scope="module")
def sonnet() -> Iterator[Claude]:
    with claude("claude-sonnet-4-6") as it:
        yield it


def test_text_streams_and_tokens_are_counted(sonnet: Claude) -> None:
    run = sonnet.ask("hi", Reply(("Tea is ", "$4.50", " a cup.")))
    assert (run.status, run.output) == ("completed", "Tea is $4.50 a cup.")
    assert [payload["text"] for payload in sonnet.events(run, "text.delta")]
    assert (run.steps, run.usage.input_tokens, run.usage.output_tokens) == (1, INPUT_TOKENS, OUTPUT_TOKENS)
    assert run.usage.cost_microcents > 0


def test_a_tool_is_called_and_its_result_goes_back(sonnet: Claude) -> None:
    read = Reply(("Let me see.",), calls=(("read_file", {"path": "uploads/notes.txt"}),))
    run = sonnet.ask("What is in it?", read, Reply(("A secret.",)), files=[("notes.txt", b"the code is 4711")])
    assert (run.status, run.output, run.steps) == ("completed", "A secret.", 2)
    assert [payload["tool"] for payload in sonnet.events(run, "tool.call")] == ["read_file"]
    assert "the code is 4711" in json.dumps(sonnet.server.asked[1]["messages"][-1])


@pytest.mark.parametrize(
    "model",
    [
        "claude-sonnet-4-6",
        "claude-opus-4-1",
        "claude-haiku-4-5",
        pytest.param("claude-3-5-haiku-latest", id="one that takes no schemas"),
        pytest.param("claude-sonnet-5-5", id="one that can't be made to call a tool"),
    ],
)
def test_objects_come_from_each_family(model: str) -> None:
    with claude(model) as it:
        run = it.ask("Score it.", Reply(answer={"score": 4, "note": None}), output_config=SCHEMA)
        assert (run.status, run.structured_output) == ("completed", {"score": 4, "note": None})
        counted = it.ask("Count.", Reply(answer={"tea": 2, "milk": 1}), output_config=COUNTS)
        assert counted.structured_output == {"tea": 2, "milk": 1}
        assert len(it.tool("find_angles", {"product": "tea"}, Reply(answer=ANGLES))["angles"]) == 1
        review = it.tool("review_copy", {"text": "Buy tea now!"}, Reply(answer=JUDGEMENT))
        assert Judgement(**review["judgement"]) == Judgement(**JUDGEMENT)


def test_a_schema_is_given_as_one_where_it_stays_the_same_else_as_a_tool(sonnet: Claude) -> None:
    sonnet.ask("Score it.", Reply(answer={"score": 4}), output_config=SCHEMA)
    sent = sonnet.server.asked[0]["output_config"]["format"]["schema"]
    assert sent["properties"]["score"]["type"] == "integer"
    assert "final_result" not in {tool["name"] for tool in sonnet.server.asked[0]["tools"]}
    sonnet.ask("Count.", Reply(answer={"tea": 2}), output_config=COUNTS)
    assert "output_config" not in sonnet.server.asked[0]
    forms = [tool["input_schema"] for tool in sonnet.server.asked[0]["tools"] if tool["name"] == "final_result"]
    assert [form["additionalProperties"] for form in forms] == [{"type": "integer"}]


def test_an_object_that_misses_a_bound_goes_back_with_the_reason(sonnet: Claude) -> None:
    replies = Reply(answer={"score": 9}), Reply(answer={"score": 4})
    run = sonnet.ask("Score it.", *replies, output_config=SCHEMA)
    assert run.structured_output == {"score": 4}
    assert "9 is greater than the maximum of 5" in json.dumps(sonnet.server.asked[1]["messages"])


def test_a_tool_is_called_before_the_object_is_given(sonnet: Claude) -> None:
    run = sonnet.ask("Score it.", Reply(calls=(("list_files", {}),)), Reply(answer={"score": 4}), output_config=SCHEMA)
    assert (run.structured_output, run.steps) == ({"score": 4}, 2)
    assert [payload["tool"] for payload in sonnet.events(run, "tool.call")] == ["list_files"]


def test_a_refusal_fails_the_run_with_its_explanation(sonnet: Claude) -> None:
    run = sonnet.ask("a story", Reply(HALF, reason="refusal", refusal="This is about a weapon."))
    assert (run.status, run.last_error, run.output) == ("failed", "answer_refused", "Once upon a time")
    assert "This is about a weapon." in (run.last_error_message or "")
    refused = sonnet.ask("Score it.", Reply(reason="refusal"), output_config=SCHEMA)
    assert refused.last_error == "answer_refused"
    assert len(sonnet.server.asked) == 1


def test_an_answer_that_breaks_off_fails_and_what_was_said_is_kept(sonnet: Claude) -> None:
    run = sonnet.ask("a story", Reply(HALF, reason=None))
    assert (run.status, run.last_error, run.output) == ("failed", "model_unavailable", "Once upon a time")
    assert "broke off" in (run.last_error_message or "")
    assert run.usage.input_tokens == INPUT_TOKENS, "it has cost all the same"
    write = Reply(calls=(("write_file", {"path": "a.txt", "text": "x"}),), reason=None)
    assert sonnet.events(sonnet.ask("Write a file.", write), "tool.call") == []


def test_an_error_in_the_middle_fails_the_run_and_what_was_said_is_kept(sonnet: Claude) -> None:
    run = sonnet.ask("a story", Reply(HALF, error="overloaded_error"))
    assert (run.status, run.last_error, run.output) == ("failed", "model_unavailable", "Once upon a time")


def test_an_answer_that_is_cut_has_a_warning(sonnet: Claude) -> None:
    run = sonnet.ask("a story", Reply(HALF, reason="max_tokens"), max_cents=1_000)
    assert (run.status, run.output) == ("completed", "Once upon a time")
    assert "answer_cut" in [payload["code"] for payload in sonnet.events(run, "warning")]


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (Reply(answer=ANGLES, reason=None), "model_unavailable"),
        (Reply(answer=ANGLES, reason="refusal"), "answer_refused"),
        (Reply(('{"angles": [',), reason="max_tokens"), "output_schema_mismatch"),
    ],
)
def test_a_tool_that_asks_takes_no_half_of_an_answer(sonnet: Claude, reply: Reply, code: str) -> None:
    with pytest.raises(JobFailedError) as failed:
        sonnet.tool("find_angles", {"product": f"tea {code}"}, reply)
    assert failed.value.job.error is not None
    assert failed.value.job.error.code == code
    assert len(sonnet.server.asked) == 1


@pytest.mark.parametrize(("wallet_cents", "code"), [(150, "limit_reached"), (300, None)])
def test_a_call_is_made_only_when_the_wallet_can_pay_the_largest_answer(wallet_cents: int, code: str | None) -> None:
    """128,000 tokens at 15 dollars a million: 192 cents."""
    with claude("claude-sonnet-4-6", wallet_cents=wallet_cents) as it:
        run = it.ask("hi", Reply(("Tea.",)), max_cents=1_000)
        assert (run.last_error, len(it.server.asked)) == (code, 0 if code else 1)


def test_a_run_on_a_hosted_model_stops_at_fifty_cents(sonnet: Claude) -> None:
    """100,000 tokens at 3 dollars a million: 30 cents a call."""
    calls = (Reply(("Looking.",), calls=(("list_files", {}),), input_tokens=100_000),)
    run = sonnet.ask("hi", *calls)
    assert (run.status, run.last_error, len(sonnet.server.asked)) == ("failed", "limit_reached", 2)
    assert run.output == "Looking.\n\nLooking."
    assert "50 cents" in (run.last_error_message or "")
