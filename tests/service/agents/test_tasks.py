"""Analyst tasks from the question to the file. The service, its tools and its sandbox are real; the model's replies are
scripted, in a form that refuses what its provider refuses."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator

import pandas as pd
import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.testing import RunningService, running_service
from tests.support.waiting import until
from tests.unit.agents.wires.providers import PROVIDERS
from tests.unit.agents.wires.reply import Reply
from tests.unit.agents.wires.server import ProviderServer, provider_server


@pytest.fixture(scope="module")
def model() -> Iterator[ProviderServer]:
    with provider_server(PROVIDERS["anthropic"].form) as server:
        yield server


@pytest.fixture(scope="module")
def served(model: ProviderServer) -> Iterator[tuple[RunningService, AgentService]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANTHROPIC_API_KEY", "any")
        patch.setenv("ANTHROPIC_BASE_URL", model.url)
        with (
            running_service(PROVIDERS["anthropic"].recommended()[0]) as service,
            AgentService(service.api_key, service.base_url) as client,
        ):
            yield service, client


def calls(tool: str, **given: object) -> Reply:
    return Reply(thinking=(f"Next: {tool}.",), calls=((tool, json.dumps(given)),))


def test_a_killed_task_goes_on_with_what_its_model_thought(
    model: ProviderServer, served: tuple[RunningService, AgentService]
) -> None:
    service, client = served
    table = pd.DataFrame({"shop": [f"Läden {at % 5}" for at in range(60)], "eur": [at * 1.37 for at in range(60)]})
    sent = table.to_csv(index=False, sep=";", decimal=",").encode("cp1252")
    sql = "SELECT shop, round(sum(eur), 2) AS total FROM umsatz GROUP BY 1 ORDER BY 2 DESC"
    saves = calls("query_tables", sql=sql, save_as="totals.csv")
    model.answers(saves, Reply(hangs=True), Reply(("Läden 4 leads.",)))
    run_id = client.runs.start("Which shop leads?", files=[("umsatz.csv", sent)], effort="medium").run_id
    until(lambda: len(model.asked) == 2)
    service.kill()
    service.start()
    run = client.runs.wait(run_id, poll=0.05, timeout=120)
    assert (run.status, run.output, model.refused) == ("completed", "Läden 4 leads.", [])
    types = [event.type for event in client.runs.events(run_id, limit=1000).data]
    assert (types.count("run.resumed"), types.count("file.written"), len(model.asked)) == (1, 2, 3), "made once"
    assert "Next: query_tables." in json.dumps(model.asked[-1]), "a provider refuses the call without it"
    found = pd.read_csv(io.BytesIO(client.files.download("totals.csv", chat=run.chat)))
    assert [*found["total"]] == [*table.groupby("shop")["eur"].sum().round(2).sort_values(ascending=False)]
