"""Inputs rebuilt from public reports are answered right or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Any

import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.testing import RunningService
from tests.reports.cases import CASES, Case


@pytest.fixture(scope="module")
def asking(offline_service: RunningService) -> Iterator[AgentService]:
    with AgentService(offline_service.api_key, offline_service.base_url) as client:
        yield client


def plain(value: str) -> str | Decimal:
    """Return a value as it is compared: numbers by what they are."""
    try:
        return round(Decimal(value.replace(",", "").rstrip("%")), 4)
    except InvalidOperation:
        return value.casefold()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_report_is_answered_right_or_not_at_all(asking: AgentService, case: Case) -> None:
    run = asking.runs.start(case.question, files=[(case.file, case.content)], sync=True)
    events = asking.runs.events(run.run_id, limit=1000).data
    bases: list[dict[str, Any]] = [event.payload for event in events if event.type == "answer.basis"]
    claims = bool(bases) and bases[-1]["basis"] in ("computed", "looked_up")
    assert claims == (case.right is not None and not case.refused), run.output
    if claims:
        assert {plain(right) for right in case.right or ()} & set(map(plain, bases[-1]["values"][:2])), run.output
