"""Forms without a browser: the input of each field, what is sent, what is wrong with it, limits, hostile text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from agentsvc_nb.notebook.jobs import cell_input
from agentsvc_nb.notebook.state.session import Session
from agentsvc_nb.notebook.widgets.form import DEPTH_MAX, FIELDS_MAX, ToolForm, field_errors
from agentsvc_nb.wire.tools import ToolDescription
from tests.notebook.allowlist import FORBIDDEN
from tests.notebook.fronts import say
from tests.notebook.test_hostile import HOSTILE

Schema = dict[str, Any]
OPTIONAL_TEXT = {"anyOf": [{"type": "string"}, {"type": "null"}]}
POINT = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}


def form(schema: Schema, start: dict[str, Any] | None = None) -> ToolForm:
    return ToolForm(ToolDescription(name="tool", input_schema=schema), start, session=Session())


def of_parts(**properties: Any) -> Schema:
    return {"type": "object", "properties": properties}


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A plan and all plans in it."""
    yield plan
    for part in [*plan.get("fields", ()), *(item for _, item in plan.get("items", ())), plan.get("item")]:
        if part:
            yield from nodes(part)


@pytest.mark.parametrize(
    ("part", "start", "kind", "sent"),
    [
        ({"type": "string"}, None, "lines", {}),
        ({"type": "string", "maxLength": 60}, "x", "line", {"a": "x"}),
        ({"type": "string", "format": "workspace-path"}, None, "file", {}),
        ({"type": "integer"}, 23851234567890123, "number", {"a": 23851234567890123}),
        ({"type": "integer"}, "many", "json", {"a": "many"}),
        ({"type": "boolean", "default": True}, None, "switch", {"a": True}),
        ({"enum": ["a", 1, None], "default": None}, None, "choice", {}),
        ({"enum": ["a", 1]}, True, "json", {"a": True}),
        ({"const": "x", "default": "x"}, None, "fixed", {"a": "x"}),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, ["b"], "checks", {"a": ["b"]}),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, ["b", "a"], "json", {"a": ["b", "a"]}),
        ({"type": "object", "additionalProperties": {"type": "string"}}, {"k": "v"}, "rows", {"a": {"k": "v"}}),
        (POINT, {"x": 1, "y": 2}, "json", {"a": {"x": 1, "y": 2}}),
        (of_parts(count={"type": "integer", "default": 1}), None, "object", {"a": {"count": 1}}),
        ({**OPTIONAL_TEXT, "default": "x"}, None, "lines", {"a": "x"}),
        ({"anyOf": [{"type": "string"}, {"type": "boolean"}]}, None, "json", {}),
        ({"type": "strange"}, None, "json", {}),
    ],
)
def test_each_field_has_its_input_and_the_form_the_value_that_it_begins_with(
    part: Schema, start: Any, kind: str, sent: dict[str, Any]
) -> None:
    made = form(of_parts(a=part), None if start is None else {"a": start})
    (node,) = made.front.part("plan")["fields"]
    assert (node["kind"], made.value) == (kind, sent)
    assert cell_input.read_input(made.cell.partition("\n")[2], {}) == made.value


def test_a_form_says_what_is_wrong_and_sends_nothing() -> None:
    schema = {
        **of_parts(count={"type": "integer", "minimum": 1}, day={"type": "string", "format": "date"}),
        "required": ["day"],
    }
    made = form(schema, {"count": 0})
    assert made.problems == {"count": "At least 1.", "day": "This is required."}
    say(made.front, "change", text='{"count": 2, "day": "1 May"}', unreadable=[])
    assert made.value == {"count": 2, "day": "1 May"}
    assert made.front.part("errors") == [(("day",), '"1 May" is not a "date"')]
    say(
        made.front,
        "send",
        text='{"day": "2026-05-01", "count": null}',
        unreadable=[[["count"], "This is not a number."]],
    )
    assert made.front.part("status") == {"text": "Nothing was sent. count: This is not a number.", "wrong": True}
    say(made.front, "change", text='{"count": 1e999}', unreadable=[])
    assert "too large a number" in made.problems[""]
    assert (made.value, made.answer) == ({"day": "2026-05-01", "count": None}, None)


def test_large_and_endless_schemas_become_json() -> None:
    many = of_parts(**{f"f{number}": {"type": "string"} for number in range(2_000)})
    (one,) = form({**of_parts(a=many), "required": ["a"]}).front.part("plan")["fields"]
    assert one["kind"] == "json"
    node = of_parts(left={"$ref": "#/$defs/A"}, right={"$ref": "#/$defs/A"})
    endless = {**of_parts(a={"$ref": "#/$defs/A"}), "$defs": {"A": {**node, "required": ["left"]}}}
    plans = [*nodes(form(endless).front.part("plan"))]
    assert len(plans) <= FIELDS_MAX
    assert form({**of_parts(a={"$ref": "#/$defs/B"}), "$defs": {"B": {"anyOf": [{"$ref": "#/$defs/B"}]}}}).value == {}
    deep: Schema = {"type": "string"}
    for _ in range(DEPTH_MAX + 2):
        deep = {**of_parts(a=deep), "required": ["a"]}
    assert [*nodes(form(deep).front.part("plan"))][-1]["kind"] == "json"


@pytest.mark.parametrize(
    "schema",
    [
        of_parts(a={"type": "strange"}),
        of_parts(a={"$ref": "https://evil.example/schema.json"}),
        of_parts(a={"type": "string", "pattern": "("}),
    ],
)
def test_a_schema_that_cannot_be_used_is_left_to_the_service(schema: Schema) -> None:
    made = form(schema)
    say(made.front, "change", text='{"a": "x"}', unreadable=[])
    assert made.problems == {}
    assert "only the service can" in made.front.part("status")["text"]


@pytest.mark.parametrize(
    "part",
    [
        {"pattern": "(a+)+$"},
        {"patternProperties": {"(a+)+$": False}, "unevaluatedProperties": False},
        {"propertyNames": {"pattern": "(a+)+$"}},
        {"$ref": "#/$defs/0"},
    ],
    ids=lambda part: " ".join(part),
)
@pytest.mark.timeout(30)
def test_what_would_take_for_ever_to_check_is_given_up(part: Schema) -> None:
    branching = {str(n): {"anyOf": [{"$ref": f"#/$defs/{n + 1}"}] * 2} for n in range(40)} | {"40": False}
    long = "a" * 60 + "!"
    for value in (long, {long: long}):
        made = form({**of_parts(a=part), "$defs": branching}, {"a": value})
        assert made.problems == {} or made.value


def test_patterns_are_checked_also_those_that_look_around() -> None:
    schema = {
        **of_parts(a={"pattern": r"^\w+$"}, b={"pattern": "(?=x)"}),
        "patternProperties": {"^n_": {"type": "integer"}},
        "additionalProperties": {"type": "boolean"},
    }
    assert field_errors(schema, {"a": "ab", "b": "x", "n_1": 1, "d": True}) == {}
    assert field_errors(schema, {"a": "a b", "b": "y", "n_1": "1", "d": 1}) == {
        ("a",): '"a b" does not match the expected format.',
        ("b",): '"y" does not match the expected format.',
        ("n_1",): '"1" is not of type "integer"',
        ("d",): '1 is not of type "boolean"',
    }


def test_hostile_texts_of_a_schema_are_labels() -> None:
    parts: dict[str, Any] = {
        text: {"type": "string", "title": text, "description": text, "default": text, "examples": [text]}
        for text in HOSTILE
    }
    parts |= {"choice": {"enum": HOSTILE, "title": HOSTILE[0]}, "const": {"const": HOSTILE[0]}}
    front = form(of_parts(**parts)).front
    for node in nodes(front.part("plan")):
        said = [
            node["title"],
            node["about"],
            node["rule"],
            node["example"],
            *(name for name, _ in node.get("options", ())),
        ]
        assert FORBIDDEN.findall("".join(said)) == []
