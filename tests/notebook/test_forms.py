"""Forms without a browser: the input of each field, what is sent, what is wrong with it, limits, hostile text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from agentsvc_nb.notebook.state.session import Session
from agentsvc_nb.notebook.widgets.form import DEPTH_MAX, FIELDS_MAX, ToolForm
from agentsvc_nb.wire.tools import ToolDescription
from tests.notebook.allowlist import FORBIDDEN
from tests.notebook.fronts import say
from tests.notebook.test_hostile import HOSTILE

Schema = dict[str, Any]


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
        of_parts(a={"$ref": "https://evil.example/schema.json"}),
        of_parts(a={"type": "string", "pattern": "("}),
    ],
)
def test_a_schema_that_cannot_be_used_is_left_to_the_service(schema: Schema) -> None:
    made = form(schema)
    say(made.front, "change", text='{"a": "x"}', unreadable=[])
    assert made.problems == {}
    assert "The service checks it" in made.front.part("status")["text"]


@pytest.mark.parametrize("part", [{"pattern": "(a+)+$"}, {"$ref": "#/$defs/0"}], ids=" ".join)
@pytest.mark.timeout(30)
def test_what_would_take_for_ever_to_check_is_given_up(part: Schema) -> None:
    branching = {str(n): {"anyOf": [{"$ref": f"#/$defs/{n + 1}"}] * 2} for n in range(40)} | {"40": False}
    long = "a" * 60 + "!"
    for value in (long, {long: long}):
        made = form({**of_parts(a=part), "$defs": branching}, {"a": value})
        assert made.problems == {} or made.value


def test_hostile_texts_of_a_schema_are_labels() -> None:
    parts: dict[str, Any] = {
        text: {"type": "string", "title": text, "description": text, "default": text, "examples": [text]}
        for text in HOSTILE
    }
    parts |= {"choice": {"enum": HOSTILE, "title": HOSTILE[0]}, "const": {"const": HOSTILE[0]}}
    front = form(of_parts(**parts)).front
    for node in nodes(front.part("plan")):
        said = [node[name] for name in ("title", "about", "rule", "example")]
        said += [name for name, _ in node.get("options", ())]
        assert FORBIDDEN.findall("".join(said)) == []
