"""Every tool of the catalog, with nothing set: whatever it is given, it answers clearly, and the run goes on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from agentsvc_nb.settings import Settings
from agentsvc_nb.tools.catalog import add_ask_tool, add_workspace_tools, tools
from tests.service.api.conftest import Wire, code

RIGHT: Final[dict[str, dict[str, Any]]] = {
    "ask_stefanbrain": {"message": "say Hello"},
    "create_images": {"request": {"brief": "Headline: Summer sale", "outputs": {"count": 1}}},
    "echo_job": {"steps": 1, "files": {}},
    "edit_image": {"request": {"path": "images/none.png", "headline": "Hello"}},
    "find_angles": {"product": "A tent"},
    "get_meta_ad": {"search_terms": "tents", "countries": ["DE"]},
    "media_transcript": {"media_id": "media_none"},
    "research_shortform": {"topic": "tents"},
    "review_copy": {"text": "Pack light."},
    "review_funnel": {"url": "http://127.0.0.1:1/"},
    "send_email": {"to": ["ana@example.com"], "subject": "Hello", "text": "Hello."},
    "web_search": {"query": "tents"},
}
WORKSPACE: Final[dict[str, dict[str, Any]]] = {
    "edit_file": {"path": "none.txt", "old": "a", "new": "b"},
    "list_files": {},
    "look_at": {"path": "none.png"},
    "plan": {"steps": [{"text": "Count the tents", "state": "doing"}]},
    "profile_table": {"path": "none.csv"},
    "query_tables": {"sql": "SELECT 1 AS a"},
    "read_file": {"path": "none.txt"},
    "read_page": {"url": "http://127.0.0.1:1/"},
    "read_skill": {"name": "tone"},
    "remember": {"rule": "Revenue means net revenue."},
    "run_python": {"code": "print('Hello, this is a program.')"},
    "search_files": {"query": "tents"},
    "write_file": {"path": "a.txt", "text": "Hello."},
}
"""The tools that only agents are offered."""
FAILS: Final = {
    "edit_file": "file_not_found",
    "edit_image": "invalid_tool_input",
    "find_angles": "not_configured",
    "get_meta_ad": "not_configured",
    "look_at": "file_not_found",
    "media_transcript": "invalid_tool_input",
    "profile_table": "file_not_found",
    "query_tables": "file_not_found",
    "read_file": "file_not_found",
    "read_page": "address_refused",
    "read_skill": "skill_not_found",
    "remember": "project_required",
    "research_shortform": "not_configured",
    "review_funnel": "address_refused",
    "web_search": "not_configured",
}
"""Why the right input is not enough: what is missing here."""
SETTINGS: Final = Settings(Path("data"), model="scripted")
TOOLS: Final = tools(SETTINGS)
WITHIN: Final = add_workspace_tools(TOOLS, SETTINGS)


def results(wire: Wire, calls: list[tuple[str, dict[str, Any]]], **where: str) -> list[dict[str, Any]]:
    """What an agent was answered, call by call; its run went on to the end."""
    script = "\n".join(f"call {tool} {json.dumps(given)}" for tool, given in calls)
    run = wire.finish(f"{script}\nsay still here", **where)
    assert (run["status"], run["output"].splitlines()[-1]) == ("completed", "still here")
    found = wire.events(run["run_id"], limit=1000)
    return [event["payload"] for event in found if event["type"] == "tool.result"]


def text(result: dict[str, Any]) -> str:
    return " ".join(str(block.get("text") or block.get("path") or "") for block in result["content"])


def test_every_tool_has_a_right_input() -> None:
    assert set(add_ask_tool(TOOLS)) | set(WITHIN) == set(RIGHT) | set(WORKSPACE)


@pytest.mark.rule("Every tool names each wrong field.")
@pytest.mark.parametrize(
    ("tool", "wrong", "field"),
    [
        ("create_images", {"request": {"brief": "Headline: x", "outputs": {"count": 0}}}, "request.outputs.count"),
        ("echo_job", {"steps": -1}, "steps"),
        ("get_meta_ad", {"search_terms": "tents", "countries": "DE"}, "countries"),
        ("send_email", {"to": [], "subject": "x", "text": "x"}, "to"),
        ("web_search", {"query": 7.5}, "query"),
    ],
)
def test_each_bad_field_is_named(tool: str, wrong: dict[str, Any], field: str, wire: Wire) -> None:
    answer = wire("POST", f"/tools/{tool}/invoke", json={"input": wrong, "chat": "new"})
    assert (answer.status_code, code(answer)) == (400, "invalid_tool_input")
    assert answer.json()["error"]["field"] == field
    if tool in WITHIN:
        [result] = results(wire, [(tool, wrong)])
        assert (result["is_error"], text(result).startswith(field)) == (True, True)


def test_with_nothing_set_and_an_empty_workspace_the_answer_is_clear(wire: Wire) -> None:
    calls = [(tool, {**RIGHT, **WORKSPACE}[tool]) for tool in sorted(WITHIN) if tool not in ("plan", "write_file")]
    for (tool, _), found in zip(calls, results(wire, calls), strict=True):
        assert found["is_error"] is (tool in FAILS), tool
        assert len(text(found)) >= 10, tool
        if FAILS.get(tool) == "not_configured" and tool != "research_shortform":  # which counts without a model, too
            assert wire("GET", f"/tools/{tool}").json()["available"] is False
