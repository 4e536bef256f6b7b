"""Forms of schemas, driven by their widgets: what is sent is right by the schema, or the form says why it is not."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import ipywidgets
import jsonschema
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from referencing import Registry

from agentsvc_nb.notebook import inputs
from agentsvc_nb.notebook.widgets import design
from agentsvc_nb.notebook.widgets.forms import writing
from agentsvc_nb.notebook.widgets.forms.view import FormView
from tests.contract.test_every_tool import CATALOG, RIGHT, bad_inputs
from tests.notebook.allowlist import FORBIDDEN, offences
from tests.notebook.form_schemas import TEXTS, Schema, any_schemas, roots
from tests.notebook.test_hostile import HOSTILE

NO_SHRINKING = (Phase.explicit, Phase.reuse, Phase.generate)
"""A form is too slow to be tried a thousand times."""
SLOW = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
INPUTS = (ipywidgets.Text, ipywidgets.Textarea, ipywidgets.Combobox)
CHOICES = (ipywidgets.Dropdown, ipywidgets.SelectMultiple)


@contextmanager
def form(schema: Schema, start: dict[str, Any] | None = None) -> Iterator[tuple[FormView, list[Any]]]:
    """A form, and what it sent."""
    sent: list[Any] = []
    view = FormView(schema, start or {}, sent.append, lambda value: json.dumps(value))
    yield view, sent
    design.discard(view.box)


def inside(widget: Any) -> Iterator[Any]:
    """A widget and all in it that is shown."""
    if widget.layout.display != "none":
        yield widget
        for child in getattr(widget, "children", ()):
            yield from inside(child)


def named(view: FormView, name: str) -> Any:
    """The control of this name."""
    found = [one for one in inside(view.box) if getattr(one, "description", "").removesuffix(" *") == name]
    assert len(found) == 1, [getattr(one, "description", "") for one in inside(view.box)]
    return found[0]


def below(view: FormView, name: str) -> str:
    """What stands under the control of this name."""
    control = named(view, name)
    holders = [one for one in inside(view.box) if control in getattr(one, "children", ())]
    return "".join(part.value for part in holders[0].children if isinstance(part, ipywidgets.HTML))


def valid(schema: Schema, value: Any) -> bool:
    """By another hand than the form's; a schema that can't be used refuses nothing."""
    registry: Any = Registry()
    try:
        jsonschema.Draft202012Validator.check_schema(schema)
        return jsonschema.Draft202012Validator(schema, registry=registry).is_valid(value)
    except Exception:
        return True


def covers(whole: Any, part: Any) -> bool:
    """Whether all that `part` says stands in `whole`, which may say more where defaults were filled in."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(name in whole and covers(whole[name], part[name]) for name in part)
    if isinstance(part, list):
        return isinstance(whole, list) and len(whole) == len(part) and all(map(covers, whole, part))
    return json.dumps(whole) == json.dumps(part)


@pytest.mark.parametrize("tool", sorted(CATALOG))
def test_the_right_input_of_every_tool_is_sent_and_is_a_cell(tool: str) -> None:
    schema = CATALOG[tool].Input.model_json_schema()
    with form(schema, RIGHT[tool]) as (view, sent):
        view.run_button.click()
        assert covers(sent[0], RIGHT[tool])
        CATALOG[tool].Input.model_validate(sent[0])
        cell = writing.cell(tool, CATALOG[tool].asynchronous, sent[0])
        assert inputs.read_input(cell.partition("\n")[2], {}) == sent[0]


@pytest.mark.parametrize("tool", sorted(CATALOG))
def test_a_wrong_input_of_every_tool_is_not_sent_and_its_field_named(tool: str) -> None:
    for name, wrong in bad_inputs(tool):
        with form(CATALOG[tool].Input.model_json_schema(), wrong) as (view, sent):
            view.run_button.click()
            if sent:  # an object that was missing has been filled with its own defaults
                assert name not in wrong
                assert valid(CATALOG[tool].Input.model_json_schema(), sent[0])
            else:
                assert f"<li>{name}" in view.summary.value


@settings(max_examples=120, deadline=None, phases=NO_SHRINKING, suppress_health_check=SLOW)
@given(pair=roots())
def test_a_right_value_is_held_and_sent_as_it_is(pair: tuple[Schema, dict[str, Any]]) -> None:
    schema, value = pair
    with form(schema, value) as (view, sent):
        view.run_button.click()
        assert covers(view.value, value)
        assert (sent == [view.value]) is valid(schema, view.value)
        body = writing.cell("tool", False, view.value).partition("\n")[2]
        assert inputs.read_input(body, {}) == view.value


@settings(max_examples=80, deadline=None, phases=NO_SHRINKING, suppress_health_check=SLOW)
@given(schema=any_schemas() | roots().map(lambda pair: pair[0]), data=st.data())
def test_whatever_is_done_what_is_sent_is_right_or_the_form_says_why_not(schema: Schema, data: st.DataObject) -> None:
    with form(schema) as (view, sent):
        for _ in range(data.draw(st.integers(0, 5))):
            _do_something(view, data)
        view.run_button.click()
        if sent:
            assert valid(schema, sent[0])
        else:
            assert 'role="alert"' in view.summary.value
            assert "<li>" in view.summary.value


def _do_something(view: FormView, data: st.DataObject) -> None:
    controls = [one for one in inside(view.root.view) if _can_be_used(one)]
    if not controls:
        return
    control = data.draw(st.sampled_from(controls))
    if isinstance(control, INPUTS):
        control.value = data.draw(TEXTS | st.sampled_from(["{", "[1]", "1e999", "NaN", "-3", "2.5", "9" * 5000]))
    elif isinstance(control, ipywidgets.Checkbox):
        control.value = not control.value
    elif isinstance(control, ipywidgets.Button):
        control.click()
    elif isinstance(control, ipywidgets.Dropdown):
        control.index = data.draw(st.sampled_from(range(len(control.options))))
    else:
        control.index = data.draw(st.sets(st.sampled_from(range(len(control.options)))).map(sorted))


def _can_be_used(one: Any) -> bool:
    return isinstance(one, (*INPUTS, *CHOICES, ipywidgets.Checkbox, ipywidgets.Button)) and not one.disabled


def test_a_message_stands_beside_its_field_once_somebody_was_there() -> None:
    schema = {
        "type": "object",
        "properties": {"count": {"type": "integer", "maximum": 3}, "day": {"type": "string", "format": "date"}},
        "required": ["day"],
    }
    with form(schema) as (view, sent):
        named(view, "count").value = "many"
        assert "many is no whole number." in below(view, "count")
        assert 'role="alert"' in below(view, "count"), "a screen reader says it"
        assert "required" not in below(view, "day"), "nobody was there"
        named(view, "count").value = "7"
        assert "7 is greater than the maximum of 3" in below(view, "count")
        view.run_button.click()
        assert sent == []
        assert "This is required." in below(view, "day")
        assert view.summary.value.count("<li>") == 2
        named(view, "count").value, named(view, "day").value = "2", "1 May"
        assert "is not a &#x27;date&#x27;" in below(view, "day")
        assert "count" not in view.summary.value, "what was put right leaves the summary"
        named(view, "day").value = "2026-05-01"
        assert view.summary.value == ""
        view.run_button.click()
        assert sent == [{"count": 2, "day": "2026-05-01"}]


def test_the_form_is_locked_only_while_it_sends() -> None:
    with form({"type": "object", "properties": {"a": {"type": "string"}}}) as (view, sent):
        view.run_button.click()
        view.run_button.click()
        assert len(sent) == 1
        assert (view.run_button.disabled, view.run_button.description) == (True, "Running…")
        view.sending(False)
        view.run_button.click()
        assert len(sent) == 2


def test_items_are_added_moved_and_removed_and_their_messages_go_along() -> None:
    schema = {"type": "object", "properties": {"to": {"type": "array", "items": {"type": "integer"}}}}
    with form(schema, {"to": [1, 2]}) as (view, _):
        named(view, "Add").click()
        named(view, "to 3").value = "three"
        assert "no whole number" in below(view, "to 3")
        ups = [one for one in inside(view.box) if getattr(one, "tooltip", "") == "Up to 3"]
        ups[0].click()
        assert "no whole number" in below(view, "to 2")
        removes = [one for one in inside(view.box) if getattr(one, "tooltip", "") == "Remove to 2"]
        removes[0].click()
        assert view.value == {"to": [1, 2]}
        view.reset_button.click()
        assert view.value == {"to": [1, 2]}


def test_what_a_schema_holds_of_itself_is_made_when_it_is_opened() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}, "name": {"type": "string"}}}
    schema = {"$defs": {"Node": node}, "type": "object", "properties": {"first": {"$ref": "#/$defs/Node"}}}
    with form(schema) as (view, _):
        named(view, "first").value = True
        for _depth in range(4):
            boxes = [one for one in inside(view.box) if getattr(one, "description", "") == "next"]
            assert len(boxes) == _depth + 1
            boxes[-1].value = True
        assert view.value == {"first": {"next": {"next": {"next": {"next": {}}}}}}
    endless = {"$defs": {"A": {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}, "required": ["a"]}}}
    with form({**endless, "type": "object", "properties": {"x": {"$ref": "#/$defs/A"}}, "required": ["x"]}) as (
        view,
        _,
    ):
        assert sum(isinstance(one, ipywidgets.Textarea) for one in inside(view.box)) == 1, "the rest is JSON"


def test_alternatives_that_are_themselves_end() -> None:
    round_about = {"anyOf": [{"$ref": "#/$defs/A"}, {"type": "array", "items": {"$ref": "#/$defs/A"}}], "default": [[]]}
    schema = {"$defs": {"A": round_about}, "type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}}
    with form(schema) as (view, _):
        assert view.value == {"a": [[]]}


def test_the_chosen_alternative_alone_is_judged() -> None:
    mail = {
        "type": "object",
        "title": "Mail",
        "properties": {"to": {"type": "string", "minLength": 3}},
        "required": ["to"],
    }
    page = {"type": "object", "title": "Page", "properties": {"url": {"type": "string", "format": "uri"}}}
    with form({"type": "object", "properties": {"by": {"anyOf": [page, mail]}}, "required": ["by"]}) as (view, sent):
        kind = named(view, "by is")
        assert [name for name, _ in kind.options] == ["Page", "Mail"]
        kind.value = 1
        view.run_button.click()
        assert "by.to: This is required." in view.summary.value
        named(view, "to").value = "ana"
        view.run_button.click()
        assert sent == [{"by": {"to": "ana"}}]


def test_left_out_empty_and_null_are_three_things() -> None:
    texts = {"left": {"type": "string"}, "null": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}}
    with form({"type": "object", "properties": texts}) as (view, _):
        assert view.value == {"null": None}
        named(view, "null").value = True
        assert view.value == {"null": ""}
    some = {"anyOf": [{"type": "string", "minLength": 3}, {"type": "null"}]}
    with form({"type": "object", "properties": {"a": some}}, {"a": "x"}) as (view, _):
        view.run_button.click()
        assert "a: &#x27;x&#x27; is too short" in view.summary.value


def test_names_and_values_of_ones_own() -> None:
    with form({"type": "object", "properties": {}, "additionalProperties": {"type": "integer"}}) as (view, _):
        named(view, "Add a row").click()
        assert "Each row needs a name of its own." in str(view.read()[1])
        named(view, "Name").value, named(view, "Value").value = "größe", "3"
        assert view.value == {"größe": 3}


def test_five_hundred_values_and_a_schema_of_thousands_of_fields() -> None:
    names = [f"value {number}" for number in range(500)]
    many = {f"f{number}": {"type": "string"} for number in range(2_000)}
    schema = {
        "type": "object",
        "properties": {"one": {"enum": names}, "some": {"type": "array", "items": {"enum": names}}},
    }
    with form(schema) as (view, _):
        named(view, "one").index = 500  # after the empty line
        named(view, "some").index = [3, 499]
        assert view.value == {"one": "value 499", "some": ["value 3", "value 499"]}
    with form({"type": "object", "properties": {"a": {"type": "object", "properties": many}}, "required": ["a"]}) as (
        view,
        _,
    ):
        assert sum(1 for _ in inside(view.box)) < 2_000, "what is too much is JSON"


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"type": "strange"}}},
        {"type": "object", "properties": {"a": {"$ref": "https://evil.example/schema.json"}}, "required": ["a"]},
        {"type": "object", "properties": {"a": {"type": "string", "pattern": "("}}, "required": ["a"]},
    ],
)
def test_a_schema_that_can_not_be_used_is_a_form_that_says_so(schema: Schema) -> None:
    with form(schema) as (view, sent):
        control = next(one for one in inside(view.root.view) if isinstance(one, INPUTS))
        control.value = '"x"'
        view.run_button.click()
        assert len(sent) == 1
        assert "only the service can" in view.status.value


def test_hostile_strings_anywhere_in_a_schema_are_only_text() -> None:
    parts = {
        text: {"type": "string", "title": text, "description": text, "default": text, "examples": [text]}
        for text in HOSTILE
    }
    more = {
        "choice": {"enum": HOSTILE, "title": HOSTILE[0]},
        "some": {"type": "array", "items": {"enum": HOSTILE[:12]}},
        "const": {"const": HOSTILE[0]},
        "either": {"oneOf": [{"type": "object", "title": text, "properties": {}} for text in HOSTILE[:9]]},
    }
    schema = {"type": "object", "properties": {**parts, **more}, "required": [*parts, *more]}
    with form(schema) as (view, _):
        view.run_button.click()
        shown = [*inside(view.box)]
    assert len(shown) > 3 * len(HOSTILE)
    for one in shown:
        if isinstance(one, ipywidgets.HTML) and "<style>" not in one.value:
            assert offences(re.sub(r' class="asvc-[a-z]+"', "", one.value)) == []
        said = [getattr(one, trait, "") for trait in ("description", "tooltip", "placeholder", "value")]
        said += getattr(one, "_options_labels", ())
        assert FORBIDDEN.findall("".join(part for part in said if isinstance(part, str))) == []
        assert not getattr(one, "description_allow_html", False)
