"""Forms without a browser: the input of each field, what is sent, what is wrong with it, limits, hostile text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from referencing import Registry

from agentsvc_nb.notebook.jobs import cell_input
from agentsvc_nb.notebook.state.session import Session
from agentsvc_nb.notebook.widgets.form import DEPTH_MAX, FIELDS_MAX, ToolForm, field_errors
from agentsvc_nb.wire.tools import ToolDescription
from tests.notebook.allowlist import FORBIDDEN
from tests.notebook.form_schemas import Schema, any_schemas, roots
from tests.notebook.fronts import say
from tests.notebook.test_hostile import HOSTILE
from tests.service.api.test_every_tool import CATALOG, RIGHT, bad_inputs

SLOW = settings(
    max_examples=120,
    deadline=None,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
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


def valid(schema: Schema, value: Any) -> bool:
    """By another validator than the form's; a schema that cannot be used refuses nothing."""
    registry: Any = Registry()
    try:
        jsonschema.Draft202012Validator.check_schema(schema)
        return jsonschema.Draft202012Validator(schema, registry=registry).is_valid(value)
    except Exception:
        return True


def covers(whole: Any, part: Any) -> bool:
    """Return True if `whole` has all that `part` has, and perhaps defaults; a null may be left out where it is one."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(
            covers(whole[name], one) if name in whole else one is None for name, one in part.items()
        )
    if isinstance(part, list):
        return isinstance(whole, list) and len(whole) == len(part) and all(map(covers, whole, part))
    return json.dumps(whole) == json.dumps(part)


@pytest.mark.parametrize(
    ("part", "start", "kind", "sent"),
    [
        ({"type": "string"}, None, "lines", {}),
        ({"type": "string", "maxLength": 60}, "x", "line", {"a": "x"}),
        ({"type": "string", "maxLength": 60}, "two\nlines", "lines", {"a": "two\nlines"}),
        ({"type": "string", "default": "x"}, None, "lines", {"a": "x"}),
        ({"type": "string", "format": "workspace-path"}, None, "file", {}),
        ({"type": "integer", "default": 3}, None, "number", {"a": 3}),
        ({"type": "integer"}, 23851234567890123, "number", {"a": 23851234567890123}),
        ({"type": "integer"}, "many", "json", {"a": "many"}),
        ({"type": "boolean", "default": True}, None, "switch", {"a": True}),
        ({"type": "boolean"}, None, "choice", {}),
        ({"enum": ["a", 1, None], "default": None}, None, "choice", {}),
        ({"enum": ["a", 1]}, 1, "choice", {"a": 1}),
        ({"enum": ["a", 1]}, True, "json", {"a": True}),
        ({"const": "x", "default": "x"}, None, "fixed", {"a": "x"}),
        ({"const": "x"}, None, "choice", {}),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, ["b"], "checks", {"a": ["b"]}),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, ["b", "a"], "json", {"a": ["b", "a"]}),
        ({"type": "array", "items": {"type": "string"}}, ["", "x"], "list", {"a": ["", "x"]}),
        ({"type": "array", "prefixItems": [{}, {}]}, None, "json", {}),
        ({"type": "object", "additionalProperties": {"type": "string"}}, {"k": "v"}, "rows", {"a": {"k": "v"}}),
        (POINT, None, "json", {}),
        (POINT, {"x": 1}, "json", {"a": {"x": 1}}),
        (POINT, {"x": 1, "y": 2}, "json", {"a": {"x": 1, "y": 2}}),
        (of_parts(x={"type": "integer"}), {"x": 1}, "object", {"a": {"x": 1}}),
        (of_parts(count={"type": "integer", "default": 1}), None, "object", {"a": {"count": 1}}),
        (OPTIONAL_TEXT, None, "lines", {}),
        ({**OPTIONAL_TEXT, "default": None}, None, "lines", {}),
        ({**OPTIONAL_TEXT, "default": "x"}, None, "lines", {"a": "x"}),
        ({"anyOf": [{"type": "boolean"}, {"type": "null"}]}, True, "choice", {"a": True}),
        ({"anyOf": [{"const": "x"}, {"type": "null"}], "default": "x"}, None, "choice", {"a": "x"}),
        ({"anyOf": [{"type": "string"}, {"type": "boolean"}]}, None, "json", {}),
        ({}, {"any": [1]}, "json", {"a": {"any": [1]}}),
        ({"type": "strange"}, None, "json", {}),
    ],
)
def test_each_field_has_its_input_and_the_form_the_value_that_it_begins_with(
    part: Schema, start: Any, kind: str, sent: dict[str, Any]
) -> None:
    made = form(of_parts(a=part), None if start is None else {"a": start})
    (node,) = made.front.part("plan")["fields"]
    assert (node["kind"], made.value) == (kind, sent)


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


def test_of_a_value_or_null_the_errors_of_the_value_are_told() -> None:
    short = {"anyOf": [{"type": "string", "minLength": 3}, {"type": "null"}]}
    sizes = {"type": "array", "items": {"type": "integer"}, "minItems": 1}
    schema = of_parts(
        a=short, sizes=sizes, deep=of_parts(name={"type": "string", "maxLength": 2}), text={"pattern": r"\S"}
    )
    value = {"a": "x", "sizes": ["1"], "deep": {"name": "abc"}, "text": " "}
    assert form(schema, value).problems == {
        "a": "At least 3 characters.",
        "sizes[0]": '"1" is not of type "integer"',
        "deep.name": "At most 2 characters.",
        "text": "This must not be empty.",
    }


def test_a_page_that_is_loaded_again_goes_on_with_what_was_typed() -> None:
    made = form(of_parts(a={"type": "string"}, to={"type": "array", "items": {"type": "string"}}))
    say(made.front, "change", text='{"a": "typed", "to": ["ana"]}', unreadable=[])
    name, to = made.front.part("plan")["fields"]
    assert (name["text"], [item["text"] for _, item in to["items"]]) == ("typed", ["ana"])


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


@pytest.mark.parametrize("tool", sorted(CATALOG))
def test_the_right_input_of_every_tool_can_be_sent_and_is_a_cell(tool: str) -> None:
    made = form(CATALOG[tool].Input.model_json_schema(), RIGHT[tool])
    assert made.problems == {}
    assert covers(made.value, RIGHT[tool])
    CATALOG[tool].Input.model_validate(made.value)
    assert cell_input.read_input(made.cell.partition("\n")[2], {}) == made.value


@pytest.mark.parametrize("tool", sorted(CATALOG))
def test_a_wrong_input_of_every_tool_is_told_at_its_field(tool: str) -> None:
    schema = CATALOG[tool].Input.model_json_schema()
    for name, wrong in bad_inputs(tool):
        made = form(schema, wrong)
        # An object that was missing has been filled with its own defaults.
        assert name in " ".join(made.problems) or (name not in wrong and valid(schema, made.value))


@SLOW
@given(pair=roots())
def test_a_right_value_is_held_and_sent_as_it_is(pair: tuple[Schema, dict[str, Any]]) -> None:
    schema, value = pair
    made = form(schema, value)
    assert covers(made.value, value)
    assert (made.problems == {}) is valid(schema, made.value)
    assert cell_input.read_input(made.cell.partition("\n")[2], {}) == made.value


@SLOW
@given(schema=any_schemas())
def test_every_schema_has_a_form(schema: Schema) -> None:
    made = form(schema)
    plan = made.front.part("plan")
    assert len([*nodes(plan)]) <= 2 * FIELDS_MAX
    json.dumps(plan, allow_nan=False)
    say(made.front, "change", text=json.dumps(made.value), unreadable=[])
    left = "only the service can" in str(made.front.part("status"))
    assert left or made.problems or valid(schema, made.value)


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
