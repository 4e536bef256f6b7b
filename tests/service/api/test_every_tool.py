"""Every tool of the catalog, with nothing set: whatever it is given, it answers clearly, and the run goes on."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from agentsvc_nb.settings import Settings
from agentsvc_nb.tools.catalog import offered, tools, within
from tests.service.api.conftest import Wire, code

RIGHT: Final[dict[str, dict[str, Any]]] = {
    "ask_stefanbrain": {"message": "say Hello"},
    "create_images": {"request": {"brief": "Summer sale", "outputs": {"count": 1}}},
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
    "list_files": {},
    "look_at": {"path": "none.png"},
    "profile_table": {"path": "none.csv"},
    "query_tables": {"sql": "SELECT 1 AS a"},
    "read_file": {"path": "none.txt"},
    "read_page": {"url": "http://127.0.0.1:1/"},
    "read_skill": {"name": "tone"},
    "run_python": {"code": "print('Hello, this is a program.')"},
    "search_files": {"query": "tents"},
    "write_file": {"path": "a.txt", "text": "Hello."},
}
"""The tools that only agents are offered."""
FAILS: Final = {
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
    "research_shortform": "not_configured",
    "review_funnel": "address_refused",
    "web_search": "not_configured",
}
"""Why the right input is not enough: what is missing here."""
SETTINGS: Final = Settings(Path("data"), model="scripted")
MADE: Final = tools(SETTINGS)
CATALOG: Final = offered(MADE)
WITHIN: Final = within(MADE, SETTINGS)


def right(tool: str) -> dict[str, Any]:
    inputs = {**RIGHT, **WORKSPACE}
    assert tool in inputs, f"RIGHT has no right input of {tool}"
    return inputs[tool]


def bad_inputs(tool: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Inputs that are right but for one field, and the field."""
    schema = {**CATALOG, **WITHIN}[tool].Input.model_json_schema()
    for path, field in _fields(schema, schema, ()):
        for wrong in _wrong(field):
            given = copy.deepcopy(right(tool))
            _put(given, path, wrong)
            yield ".".join(path), given
    for name in schema.get("required", []):
        yield name, {key: value for key, value in right(tool).items() if key != name}


def _fields(
    schema: dict[str, Any], whole: dict[str, Any], path: tuple[str, ...]
) -> Iterator[tuple[Any, dict[str, Any]]]:
    for name, field in schema.get("properties", {}).items():
        yield (*path, name), field
        if "$ref" in field:
            yield from _fields(whole["$defs"][field["$ref"].rpartition("/")[2]], whole, (*path, name))


def _wrong(field: dict[str, Any]) -> list[Any]:
    kinds = {one.get("type", "object" if "$ref" in one else None) for one in [field, *field.get("anyOf", [])]}
    wrong: list[Any] = [value for kind, value in (("string", 7.5), ("array", "x")) if kind in kinds]
    if "boolean" in kinds and "string" not in kinds:
        wrong.append("perhaps")
    if not kinds & {"string", "boolean"} and "const" not in field and "enum" not in field:
        wrong.append("x")
    wrong += [field[edge] + step for edge, step in (("minimum", -1), ("maximum", 1)) if edge in field]
    wrong += ["none of these"] if "enum" in field or "const" in field else []
    wrong += [[]] if field.get("minItems") else []
    return wrong


def _put(given: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    for name in path[:-1]:
        given = given.setdefault(name, {})
    given[path[-1]] = value


def results(wire: Wire, calls: list[tuple[str, dict[str, Any]]], **where: str) -> list[dict[str, Any]]:
    """What an agent was answered, call by call; its run went on to the end."""
    script = "\n".join(f"call {tool} {json.dumps(given)}" for tool, given in calls)
    run = wire.finish(f"{script}\nsay still here", **where)
    assert (run["status"], run["output"].splitlines()[-1]) == ("completed", "still here")
    found = wire.events(run["run_id"], limit=1000)
    return [event["payload"] for event in found if event["type"] == "tool.result"]


def text(result: dict[str, Any]) -> str:
    return " ".join(str(block.get("text") or block.get("path") or "") for block in result["content"])


@pytest.mark.parametrize("tool", sorted(CATALOG))
def test_each_bad_field_is_named(tool: str, wire: Wire) -> None:
    bad = list(bad_inputs(tool))
    assert len(bad) >= 2
    for field, given in bad:
        answer = wire("POST", f"/tools/{tool}/invoke", json={"input": given, "chat": "new"})
        expected = "invalid_model" if field in ("model", "effort") else "invalid_tool_input"
        assert (answer.status_code, code(answer)) == (400, expected), given
        assert answer.json()["error"]["field"].startswith(field), given


def test_an_agent_is_told_of_each_bad_field_and_goes_on(wire: Wire) -> None:
    bad = [(tool, field, given) for tool in sorted(WITHIN) for field, given in bad_inputs(tool)]
    found = results(wire, [(tool, given) for tool, _, given in bad])
    for (_, field, given), result in zip(bad, found, strict=True):
        assert result["is_error"], given
        assert text(result).startswith(field), given


def test_with_nothing_set_and_an_empty_workspace_the_answer_is_clear(wire: Wire) -> None:
    calls = [(tool, right(tool)) for tool in sorted(WITHIN) if tool != "write_file"]
    for (tool, _), found in zip(calls, results(wire, calls), strict=True):
        assert found["is_error"] is (tool in FAILS), tool
        assert len(text(found)) >= 10, tool
        if FAILS.get(tool) == "not_configured" and tool != "research_shortform":  # which counts without a model, too
            assert wire("GET", f"/tools/{tool}").json()["available"] is False
