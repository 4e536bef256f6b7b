"""Lists of runs and jobs (docs/api/runs.md "Lists")."""

from __future__ import annotations

from typing import Any

import pytest

from tests.service.api.conftest import Wire, code


def listed(wire: Wire, path: str, **params: Any) -> dict[str, Any]:
    answer = wire("GET", path, params=params)
    assert answer.status_code == 200, answer.text
    page: dict[str, Any] = answer.json()
    return page


def walked(wire: Wire, path: str, **params: Any) -> list[dict[str, Any]]:
    """The entries of all pages."""
    found: list[dict[str, Any]] = []
    after: dict[str, str] = {}
    while True:
        page = listed(wire, path, **params, **after)
        found += page["data"]
        if page["next_after"] is None:
            return found
        after = {"after": page["next_after"]}


def test_runs_are_listed_from_the_newest_on_page_by_page(wire: Wire) -> None:
    first = wire.finish("say " + "🙂" * 300)
    runs = [first, *(wire.finish(f"say {number}", chat=first["chat"]) for number in range(4))]
    found = walked(wire, "/runs", chat=first["chat"], limit=2)
    assert [run["run_id"] for run in found] == [run["run_id"] for run in reversed(runs)]
    shown = found[-1]
    assert {name: first[name] for name in shown if name not in ("object", "message")} == {
        name: value for name, value in shown.items() if name not in ("object", "message")
    }
    assert (shown["object"], shown["message"]) == ("agent_run_entry", "say " + "🙂" * 196)


@pytest.mark.parametrize(
    ("path", "params", "refused"),
    [
        ("/runs", {"limit": "1001"}, "invalid_query"),
        ("/runs", {"status": "done"}, "invalid_query"),
        ("/runs", {"chat": "chat_missing"}, "chat_not_found"),
        ("/runs", {"after": "11111111-1111-4111-8111-111111111111"}, "run_not_found"),
        ("/jobs", {"after": "job_missing"}, "job_not_found"),
    ],
)
def test_what_cannot_be_listed_is_refused(wire: Wire, path: str, params: dict[str, str], refused: str) -> None:
    assert code(wire("GET", path, params=params)) == refused
