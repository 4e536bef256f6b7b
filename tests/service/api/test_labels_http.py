"""Landing pages and their labels (docs/api/media.md "Labels")."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from agentsvc_nb.client.api import AgentService
from agentsvc_nb.testing import RunningService
from tests.service.api.conftest import Wire, code
from tests.service.cli.test_cli import agentsvc


@pytest.fixture
def page(service: RunningService, fresh_key: str) -> str:
    return agentsvc("pages", "add", "--data", service.data, f"https://example.com/{fresh_key}").stdout.strip()


@pytest.mark.rule("A wrong label is `invalid_label` and says what is allowed.")
@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"labels": {"mood": "good"}, "expected_version": 1}, "labels.mood"),
        ({"labels": {"urgency": "often"}, "expected_version": 1}, "labels.urgency"),
        ({"labels": {}}, "expected_version"),
        ({"labels": {}, "expected_version": True}, "expected_version"),
    ],
)
def test_wrong_labels_are_named(wire: Wire, client: AgentService, page: str, body: dict[str, Any], field: str) -> None:
    answer = wire("PUT", f"/landing-pages/{page}/labels", json=body)
    assert (answer.status_code, code(answer)) == (400, "invalid_label")
    assert answer.json()["error"]["field"] == field
    assert client.labels.get(page).version == 1


@pytest.mark.rule("A stale version of a page's labels is `409 version_conflict`.")
def test_of_writers_at_one_moment_one_wins(wire: Wire, client: AgentService, page: str) -> None:
    def write(value: str) -> httpx.Response:
        return wire("PUT", f"/landing-pages/{page}/labels", json={"labels": {"urgency": value}, "expected_version": 1})

    with ThreadPoolExecutor(12) as threads:
        answers = list(threads.map(write, ["deadline", "low_stock", "seasonal", "none"] * 3))
    assert sorted(answer.status_code for answer in answers) == [200] + [409] * 11
    (winner,) = (answer.json() for answer in answers if answer.status_code == 200)
    assert {answer.json()["error"]["version"] for answer in answers if answer.status_code == 409} == {2}
    assert client.labels.get(page).labels == winner["labels"]
