"""`GET /metrics` (docs/monitoring.md), read by Prometheus' own parser."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

import httpx
import pytest
from prometheus_client import Metric, parser

from agentsvc_nb import AgentService
from agentsvc_nb.testing import RunningService
from agentsvc_nb.wire.routes import V1
from docs.tables import METRICS
from tests.service.api.service_fixture import CAREFUL, ServiceFixture

TOKEN = str(CAREFUL["metrics_token"])
CALLS = 'call list_files {}\ncall read_file {"path": "missing.txt"}\ncall made_up_tool {}'


@pytest.fixture(scope="module")
def measured(stage: ServiceFixture) -> RunningService:
    return stage.other(**CAREFUL)


def get(service: RunningService, authorization: str | None = f"Bearer {TOKEN}", method: str = "GET") -> httpx.Response:
    headers = {} if authorization is None else {b"Authorization": authorization.encode("latin-1")}
    return httpx.request(method, f"{service.base_url}/metrics", headers=headers)


def families(service: RunningService) -> dict[str, Metric]:
    answer = get(service)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    return {family.name: family for family in parser.text_string_to_metric_families(answer.text)}


def value(service: RunningService, name: str, **labels: str) -> float:
    """The sum of the samples `name` that have these labels."""
    found = [sample for family in families(service).values() for sample in family.samples if sample.name == name]
    return sum(sample.value for sample in found if labels.items() <= sample.labels.items())


@contextlib.contextmanager
def grows(service: RunningService, name: str, by: float, **labels: str) -> Iterator[None]:
    """The value grows by so much within the block."""
    before = value(service, name, **labels)
    yield
    assert value(service, name, **labels) - before == pytest.approx(by)


def run(service: RunningService, script: str) -> str:
    with AgentService(service.api_key, service.base_url) as client:
        return client.runs.start(script, sync=True).status


@pytest.mark.parametrize("authorization", [None, f"Basic {TOKEN}", f"Bearer {TOKEN}x", f"Bearer {TOKEN}é"])
def test_without_the_token_there_is_nothing(measured: RunningService, authorization: str | None) -> None:
    refused = get(measured, authorization)
    unknown = httpx.get(f"{measured.base_url}/metricz")
    assert refused.status_code == unknown.status_code == 404
    assert refused.json() == {"error": {**unknown.json()["error"], "message": "No such path: /metrics"}}
    assert refused.headers.keys() == unknown.headers.keys()
    for opener in (get(measured, f"Bearer {measured.api_key}"), get(measured, method="POST")):
        assert opener.status_code == 404


def test_all_metrics_of_the_page_are_there(measured: RunningService) -> None:
    run(measured, f"usage 1 1\n{CALLS}")
    found = {name: family.type for name, family in families(measured).items()}
    assert found == {metric.name.removesuffix("_total"): metric.kind for metric in METRICS}


def test_runs_are_counted_by_how_they_ended(measured: RunningService) -> None:
    ended = "agentsvc_runs_ended_total"
    with grows(measured, ended, 3), grows(measured, "agentsvc_first_event_seconds_count", 3):
        with grows(measured, ended, 1, status="completed", last_error=""):
            assert run(measured, "say hello") == "completed"
        with grows(measured, ended, 1, status="failed", last_error="model_unavailable"):
            assert run(measured, "fail model_unavailable away") == "failed"
        with grows(measured, ended, 1, status="failed", last_error="other"):
            assert run(measured, "fail made_up_code for you") == "failed"


def test_no_label_names_anybody(measured: RunningService) -> None:
    """Labels have few values, whatever callers send: no ids, chats, accounts, paths or words of theirs."""
    run(measured, f"usage 1 1\n{CALLS}\nfail made_up x")
    httpx.get(
        f"{measured.base_url}{V1}/files?chat_id=chat_mine", headers={"Authorization": f"Bearer {measured.api_key}"}
    )
    text = get(measured).text
    assert not re.search(r"mine|made_up|svc_sk_|acc_|[0-9a-f]{8}-[0-9a-f]{4}", text)
    labels = {name for family in families(measured).values() for sample in family.samples for name in sample.labels}
    labels.discard("outcome")  # of requests over MCP, which other tests may have made of this service
    assert labels == {"status", "last_error", "model", "direction", "tool", "code", "method", "route", "work", "le"}
