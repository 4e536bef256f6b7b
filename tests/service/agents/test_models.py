"""Several language models in one service (docs/api/models.md "Models by choice"), on the wire."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from agentsvc_nb.service.folder import DataFolder
from agentsvc_nb.service.keyring import create_key
from agentsvc_nb.wire.routes import V1
from tests.service.agents.serving import loading, service_here
from tests.service.agents.test_language import ANGLES
from tests.unit.agents.chat_server import ChatServer, Reply, chat_server
from tests.unit.agents.wires.anthropic_messages import AnthropicMessages
from tests.unit.agents.wires.server import ProviderServer, provider_server

OURS, CLAUDE = "openai-chat:stand-in", "anthropic:claude-sonnet-4-6"


@dataclass
class Two:
    """A service that offers a model of a server of its own, and a hosted one."""

    http: httpx.Client
    ours: ChatServer
    claude: ProviderServer

    def finish(self, message: str, **fields: object) -> dict[str, object]:
        answer = self.http.post("/runs", json={"message": message, "sync": True, **fields})
        assert answer.status_code == 200, answer.text
        found: dict[str, object] = answer.json()
        return found


@pytest.fixture
def it(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Two]:
    with (
        chat_server(Reply(("Ours.",))) as ours,
        provider_server(AnthropicMessages()) as claude,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("ANTHROPIC_BASE_URL", claude.url)
        patch.setenv("ANTHROPIC_API_KEY", "any")
        claude.answers(Reply(("Claude's.",)))
        settings = {"models": f"{OURS},{CLAUDE}", "model_url": ours.url, **request.param}
        with service_here(OURS, tmp_path, **settings) as client:
            headers = {"Authorization": f"Bearer {create_key(DataFolder(tmp_path), name='http')}"}
            with httpx.Client(base_url=client.base_url + V1, headers=headers, timeout=60) as http:
                yield Two(http, ours, claude)


@pytest.mark.parametrize("it", [{"prices": f"{OURS}=20/60"}], indirect=True)
def test_each_run_is_answered_by_its_model(it: Two) -> None:
    models = it.http.get("/models").json()["data"]
    assert [(model["id"], model["available"]) for model in models] == [(OURS, True), (CLAUDE, True)]
    assert [model["input_cents_per_million"] for model in models] == [20.0, 300.0]
    assert [model["output_cents_per_million"] for model in models] == [60.0, 1500.0]
    assert (models[1]["sees_images"], models[1]["context_tokens"] > 100_000) == (True, True)
    ours, claudes = it.finish("hi"), it.finish("hi", model=CLAUDE, effort="high")
    assert [(run["model"], run["output"]) for run in (ours, claudes)] == [(OURS, "Ours."), (CLAUDE, "Claude's.")]
    assert ours["usage"] == {"input_tokens": 100, "output_tokens": 10, "cost_microcents": 2_600}
    assert it.claude.refused == []
    assert "high" in json.dumps(it.claude.asked[-1].get("output_config"))
    it.claude.answers(Reply(("Claude's.",)))
    it.finish("hi", model=CLAUDE)
    assert "thinking" not in it.claude.asked[-1]
    seen = len(it.ours.asked)
    call = Reply(calls=(("find_angles", '{"product": "tea"}'),))
    it.claude.answers(loading("ads"), call, Reply(answer=json.loads("".join(ANGLES.text))), Reply(("Done.",)))
    assert it.finish("Find angles.", model=CLAUDE)["output"] == "Done."
    assert len(it.ours.asked) == seen, "the tools of a run ask its model"


@pytest.mark.parametrize("it", [{"wallet_cents": 1000}], indirect=True)
def test_a_model_without_a_price_is_not_for_choice_where_money_counts(it: Two) -> None:
    reasons = [model["reason"] for model in it.http.get("/models").json()["data"]]
    assert reasons == ["no_price", None]
    refused = it.http.post("/runs", json={"message": "hi", "model": OURS})
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "model_unavailable")
    assert it.finish("hi")["output"] == "Ours."
