"""Models that a caller may choose (docs/api/models.md "Models by choice")."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from tests.service.api.conftest import Wire, code
from tests.service.api.service_fixture import STRICT, ServiceFixture

pytestmark = pytest.mark.rule("A start may choose one of the offered models, else it is `invalid_model`.")


@pytest.fixture
def several(stage: ServiceFixture) -> Wire:
    return stage.account(stage.other(**STRICT))


def listed(wire: Wire) -> dict[str, dict[str, Any]]:
    answer = wire("GET", "/models")
    assert (answer.status_code, answer.json()["object"]) == (200, "list")
    return {model["id"]: model for model in answer.json()["data"]}


def test_the_models_are_listed_in_their_order_with_what_hinders_them(several: Wire) -> None:
    found = listed(several)
    assert list(found) == ["scripted", "offline", "openai-chat:none"]
    assert [model["default"] for model in found.values()] == [True, False, False]
    gone = found["openai-chat:none"]
    assert (gone["available"], gone["reason"], gone["context_tokens"]) == (False, "unreachable", 8192)
    assert gone["input_cents_per_million"] is None
    assert found["scripted"]["input_cents_per_million"] == 100.0


def test_a_start_names_its_model_and_its_record_says_it(several: Wire) -> None:
    run = several.finish("say x", model="offline")
    assert run["model"] == "offline"
    assert run["output"] != "x"
    assert several.finish("say x")["model"] == "scripted"
    assert several.finish("say x", model="scripted", effort="high")["output"] == "x"


@pytest.mark.parametrize("fields", [{"model": "nobody:none"}, {"model": ""}, {"effort": "much"}], ids=str)
def test_what_is_not_offered_is_refused(fields: dict[str, Any], several: Wire) -> None:
    answer = several("POST", "/runs", json={"message": "say x", **fields})
    assert (answer.status_code, code(answer)) == (400, "invalid_model")
    ask = several("POST", "/tools/ask_stefanbrain/invoke", json={"input": {"message": "say x", **fields}})
    assert (ask.status_code, code(ask)) == (400, "invalid_model")


def test_a_model_that_cannot_answer_is_refused_before_a_busy_chat_and_after_the_key(several: Wire) -> None:
    gone = {"message": "say x", "model": "openai-chat:none"}
    busy = several.start("wait 60")
    answer = several("POST", "/runs", json={**gone, "chat": busy["chat"]})
    assert (answer.status_code, code(answer)) == (503, "model_unavailable")
    ask = several("POST", "/tools/ask_stefanbrain/invoke", json={"input": gone, "chat": busy["chat"]})
    assert code(ask) == "model_unavailable"
    several("POST", f"/runs/{busy['run_id']}/cancel")
    key = {"Idempotency-Key": uuid.uuid4().hex}
    assert code(several("POST", "/runs", json=gone, headers=key)) == "model_unavailable"
    first = several.finish("say x", headers=key)
    assert several("POST", "/runs", json={**gone, "sync": True}, headers=key).json() == first, "the key stayed free"
    assert first["model"] == "scripted"
