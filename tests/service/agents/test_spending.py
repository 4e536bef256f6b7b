"""What a run on a model costs at most (docs/api/runs.md "Limits of a run"): each provider's stand-in writes as many
tokens as its request allows, and counts a dense request."""

from __future__ import annotations

import json
import random
import string
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final

import pytest

from agentsvc_nb.wire.limits import HOSTED_RUN_CENTS
from agentsvc_nb.wire.runs import CENT
from tests.service.agents.serving import Serving, loading, serving
from tests.unit.agents.wires.providers import PROVIDERS
from tests.unit.agents.wires.reply import Body, Reply

ENDLESS: Final = 10**9
PRICED: Final = {"completions": "openai-chat:NAME=300/1500"}
LONGEST: Final[dict[str, Callable[[Body], Any]]] = {
    "completions": lambda body: body["max_completion_tokens"],
    "anthropic": lambda body: body["max_tokens"],
}
"""Where each provider reads how long an answer may get."""
DENSE: Final = "".join(random.Random(1).choices(string.ascii_letters + string.digits, k=60_000))
"""A text that every tokenizer makes many tokens of."""


@pytest.fixture(scope="module", params=["completions", "anthropic"])
def provider(request: pytest.FixtureRequest) -> Iterator[tuple[str, Serving]]:
    own: dict[str, Any] = {"prices": PRICED[request.param], "model_context": 200_000} if request.param in PRICED else {}
    with serving(PROVIDERS[request.param], **own) as it:
        yield request.param, it


def reading(writes: int) -> list[Reply]:
    """A model that reads on and on."""
    calls = [json.dumps({"path": "uploads/long.txt", "start": 8_000 * place}) for place in range(12)]
    return [Reply(("Reading.",), calls=(("read_file", given),), writes=writes) for given in calls]


BEHAVIOURS: Final[dict[str, list[Reply]]] = {
    "answers at length": [Reply(("Tea.",), writes=ENDLESS)],
    "reads and writes at length": reading(ENDLESS),
    "lets a tool write at length": [
        replace(loading("ads"), writes=100),
        Reply(("Asking.",), calls=(("find_angles", '{"product": "tea"}'),), writes=100),
        Reply(("Tea.",), writes=ENDLESS),
    ],
}


@pytest.mark.parametrize("behaviour", BEHAVIOURS)
def test_no_run_costs_more_than_it_may(provider: tuple[str, Serving], behaviour: str) -> None:
    name, it = provider
    cents = HOSTED_RUN_CENTS
    message = "What is in it?" if "reads" in behaviour else f"What is this? {DENSE}"
    options = {"max_cents": cents} if name in PRICED else {}
    run = it.ask(message, *BEHAVIOURS[behaviour], files=[("long.txt", DENSE.encode())], **options)
    assert run.usage.cost_microcents <= cents * CENT
    assert run.last_error in (None, "limit_reached", "call_repeated")
    longest = [LONGEST[name](body) for body in it.server.asked]
    assert all(isinstance(most, int) and most > 0 for most in longest)


def test_a_run_that_reaches_its_limit_closes_with_an_answer(provider: tuple[str, Serving]) -> None:
    """The first call writes as much as it may: the next one can't be paid, but the closing answer can."""
    _, it = provider
    cents = 50
    closing = Reply(("In short: tea.",), writes=100)
    run = it.ask("What is it?", reading(ENDLESS)[0], closing, files=[("long.txt", DENSE.encode())], max_cents=cents)
    assert (run.last_error, run.output, run.steps) == ("limit_reached", "Reading.\n\nIn short: tea.", 2)
    assert "max_cents" in (run.last_error_message or "")
    assert run.usage.cost_microcents <= cents * CENT
    assert it.events(run, "limit.near") == [], "the closing answer cannot be raised"
    _, last = it.server.asked
    assert not last.get("tools")
    told = json.dumps(last)
    assert all(part in told for part in ("What is it?", "read_file", DENSE[:300]))


def test_a_run_that_can_pay_no_call_at_all_asks_nothing(provider: tuple[str, Serving]) -> None:
    _, it = provider
    run = it.ask("What is it?", Reply(("Tea.",)), max_cents=0.01)
    assert (run.last_error, run.output, it.server.asked) == ("limit_reached", None, [])
