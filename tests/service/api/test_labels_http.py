"""Landing pages and their labels (docs/api/media.md "Labels")."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from agentsvc_nb.client.api import AgentService
from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.testing import RunningService
from agentsvc_nb.wire.routes import V1
from tests.service.api.conftest import Wire, code
from tests.service.cli.test_cli import agentsvc


@pytest.fixture
def page(service: RunningService, fresh_key: str) -> str:
    return agentsvc("pages", "add", "--data", service.data, f"https://example.com/{fresh_key}").stdout.strip()


def test_a_page_is_added_read_and_labelled(client: AgentService, service: RunningService, page: str) -> None:
    fresh = client.labels.get(page)
    assert page.startswith("page_")
    assert (fresh.labels, fresh.version) == ({}, 1)
    assert agentsvc("pages", "add", "--data", service.data, fresh.url).stdout.strip() == page
    written = client.labels.write(page, {"page_type": "quiz", "urgency": "none"}, 1)
    assert (written.labels, written.version) == ({"page_type": "quiz", "urgency": "none"}, 2)
    assert client.labels.write(page, {"urgency": "deadline"}, 2).labels == {"urgency": "deadline"}, "replaced"
    assert client.labels.get(page).version == 3


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"labels": {"mood": "good"}, "expected_version": 1}, "labels.mood"),
        ({"labels": {"urgency": "often"}, "expected_version": 1}, "labels.urgency"),
        ({"labels": {"urgency": 5}, "expected_version": 1}, "labels.urgency"),
        ({"labels": [], "expected_version": 1}, "labels"),
        ({"labels": {}}, "expected_version"),
        ({"labels": {}, "expected_version": "1"}, "expected_version"),
        ({"labels": {}, "expected_version": True}, "expected_version"),
        ({"labels": {}, "expected_version": 2**63}, "expected_version"),
        ({"expected_version": 1}, "labels"),
    ],
)
def test_wrong_labels_are_named(wire: Wire, client: AgentService, page: str, body: dict[str, Any], field: str) -> None:
    answer = wire("PUT", f"/landing-pages/{page}/labels", json=body)
    assert (answer.status_code, code(answer)) == (400, "invalid_label")
    assert answer.json()["error"]["field"] == field
    assert client.labels.get(page).version == 1


def test_a_stale_version_is_a_conflict_that_names_the_present_one(client: AgentService, page: str) -> None:
    client.labels.write(page, {"urgency": "deadline"}, 1)
    with pytest.raises(StefanBrainError) as caught:
        client.labels.write(page, {"urgency": "none"}, 1)
    assert (caught.value.status, caught.value.code) == (409, "version_conflict")
    assert caught.value.body["error"]["version"] == 2
    assert client.labels.get(page).labels == {"urgency": "deadline"}


def test_of_writers_at_one_moment_one_wins(service: RunningService, client: AgentService, page: str) -> None:
    values = ["deadline", "low_stock", "seasonal", "none"] * 3

    async def race() -> list[httpx.Response]:
        headers = {"Authorization": f"Bearer {service.api_key}"}
        async with httpx.AsyncClient(base_url=service.base_url, headers=headers) as http:
            puts = (
                http.put(f"{V1}/landing-pages/{page}/labels", json={"labels": {"urgency": one}, "expected_version": 1})
                for one in values
            )
            return await asyncio.gather(*puts)

    answers = asyncio.run(race())
    assert sorted(answer.status_code for answer in answers) == [200] + [409] * (len(values) - 1)
    (winner,) = (answer.json() for answer in answers if answer.status_code == 200)
    assert client.labels.get(page).labels == winner["labels"]


def test_pages_that_are_not_there(wire: Wire, service: RunningService) -> None:
    assert code(wire("GET", "/landing-pages/page_none")) == "landing_page_not_found"
    put = wire("PUT", "/landing-pages/page_none/labels", json={"labels": {}, "expected_version": 1})
    assert (put.status_code, code(put)) == (404, "landing_page_not_found")
    for url in ("example.com", "file:///etc/passwd", "https://", "https://a b/", "https://x/" + "y" * 2_000):
        done = agentsvc("pages", "add", "--data", service.data, url)
        assert (done.returncode, done.stdout) == (1, "")
