"""The agent with Claude, through the whole service."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from agentsvc_nb.tools.support.copy_facts import Judgement
from tests.service.agents.serving import Serving, serving
from tests.unit.agents.wires.providers import PROVIDERS
from tests.unit.agents.wires.reply import Reply

CLAUDE = PROVIDERS["anthropic"]
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
JUDGEMENT = {"verdict": "good", "strengths": ["short"], "weaknesses": [], "rewrite": "Buy tea."}


def tool(it: Serving, name: str, given: dict[str, Any], *replies: Reply) -> dict[str, Any]:
    it.server.answers(*replies)
    job = it.client.jobs.submit_and_wait(name, given)
    assert it.server.refused == []
    assert job.data is not None
    return job.data


@pytest.fixture(scope="module")
def sonnet() -> Iterator[Serving]:
    with serving(CLAUDE, "anthropic:claude-sonnet-4-6") as it:
        yield it


@pytest.mark.parametrize(
    "model",
    [
        pytest.param("claude-3-5-haiku-latest", id="one that takes no schemas"),
        pytest.param("claude-sonnet-5-5", id="one that can't be made to call a tool"),
    ],
)
def test_objects_come_from_each_family(model: str) -> None:
    with serving(CLAUDE, f"anthropic:{model}") as it:
        run = it.ask("Score it.", Reply(answer={"score": 4, "note": None}), output_config=SCHEMA)
        assert (run.status, run.structured_output) == ("completed", {"score": 4, "note": None})
        counted = it.ask("Count.", Reply(answer={"tea": 2, "milk": 1}), output_config=COUNTS)
        assert counted.structured_output == {"tea": 2, "milk": 1}
        review = tool(it, "review_copy", {"text": "Buy tea now!"}, Reply(answer=JUDGEMENT))
        assert Judgement(**review["judgement"]) == Judgement(**JUDGEMENT)


def test_a_schema_is_the_input_of_a_tool_and_stays_the_same(sonnet: Serving) -> None:
    for schema, answer in ((SCHEMA, {"score": 4}), (COUNTS, {"tea": 2})):
        assert sonnet.ask("Answer.", Reply(answer=answer), output_config=schema, effort="low").status == "completed"
        [sent] = [tool["input_schema"] for tool in sonnet.server.asked[0]["tools"] if tool["name"] == "final_result"]
        assert (sent.get("properties"), sent["additionalProperties"]) == (
            schema.get("properties"),
            schema["additionalProperties"],
        )
        assert "output_config" not in sonnet.server.asked[0] or "format" not in sonnet.server.asked[0]["output_config"]


@pytest.mark.parametrize(("wallet_cents", "code"), [(150, "limit_reached"), (300, None)])
def test_a_call_is_made_only_when_the_wallet_can_pay_the_largest_answer(wallet_cents: int, code: str | None) -> None:
    """128,000 tokens at 15 dollars a million: 192 cents."""
    with serving(CLAUDE, "anthropic:claude-sonnet-4-6", wallet_cents=wallet_cents) as it:
        run = it.ask("hi", Reply(("Tea.",)), max_cents=1_000)
        assert (run.last_error, len(it.server.asked)) == (code, 0 if code else 1)
