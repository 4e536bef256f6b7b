"""Every row of `wire/codes.py`, answered by a real service in the natural way (docs/api/errors.md,
docs/api/conventions.md)."""

from __future__ import annotations

from typing import Final

import httpx
import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.client.errors import StefanBrainError, from_response
from agentsvc_nb.wire.codes import CODES, Code
from agentsvc_nb.wire.routes import ROUTES
from tests.service.api.refused_for_now import REFUSED_FOR_NOW
from tests.service.api.refused_requests import WRONG_REQUESTS
from tests.service.api.service_fixture import ServiceFixture

PROVOKED: Final = {**WRONG_REQUESTS, **REFUSED_FOR_NOW}
UNREACHED: Final = {row.code for row in CODES.values() if row.unreached}

RESETS: Final = {"request_per_minute", "request_per_minute_user", "request_per_day", "feedback_rate_limited"}
"""429s that end by themselves, and say when."""


def test_each_row_is_provoked_or_says_why_it_is_not_reached() -> None:
    assert set(PROVOKED) | UNREACHED == set(CODES)
    assert not UNREACHED & set(PROVOKED)


@pytest.mark.parametrize("name", PROVOKED)
def test_a_row_is_answered_as_it_stands(name: str, stage: ServiceFixture) -> None:
    check(PROVOKED[name](stage), CODES[name])


@pytest.mark.parametrize("name", sorted(UNREACHED))
def test_a_row_that_nothing_provokes_is_answered_to_a_script_that_asks_for_it(name: str, stage: ServiceFixture) -> None:
    """By a client of its own: the description of the API does not promise these codes."""
    url, headers = stage.service.base_url + ROUTES["runs.start"].path, {"x-api-key": stage.service.api_key}
    check(httpx.post(url, headers=headers, json={"message": f"fail-http {name}"}), CODES[name])


def check(answer: httpx.Response, row: Code) -> None:
    """Status, envelope and headers are the row's, and the client raises its class."""
    body = answer.json()
    assert (answer.status_code, body["error"]["code"]) == (row.status, row.code), answer.text
    assert body["error"]["type"] == row.type
    assert body["error"]["message"]
    assert answer.headers["x-request-id"].startswith("req_")
    assert answer.headers["content-type"] == "application/json"
    _check_waiting(answer, row)
    error = from_response(answer.status_code, answer.headers, answer.content)
    assert (type(error).__name__, error.code, error.status) == (row.raises, row.code, row.status)
    assert error.request_id == answer.headers["x-request-id"]


def _check_waiting(answer: httpx.Response, row: Code) -> None:
    """`Retry-After` where the API fixes it or the limit has a reset, and nowhere else."""
    given = answer.headers.get("retry-after")
    if row.code in RESETS:
        assert given is not None
        assert int(given) > 0
        facts = answer.json()["error"]
        assert facts["reset_at"].endswith("Z")
        assert facts["observed"] >= facts["limit"]
    else:
        assert given == (None if row.retry_after is None else str(row.retry_after))


@pytest.mark.parametrize("name", ["api_key_scope_forbidden", "chat_not_found", "unauthorized"])
def test_the_client_raises_what_the_row_says(name: str, stage: ServiceFixture) -> None:
    row, secret = CODES[name], {"api_key_scope_forbidden": stage.service.create_key(scopes=("mcp",))}
    key = {"unauthorized": "svc_sk_unknown"}.get(name) or secret.get(name) or stage.service.api_key
    with AgentService(key, stage.service.base_url) as client, pytest.raises(StefanBrainError) as caught:
        client.runs.start("say x", chat="chat_unknown")
    assert (type(caught.value).__name__, caught.value.code, caught.value.hint) == (row.raises, name, row.hint)
