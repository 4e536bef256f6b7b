"""Forms, driven by their widgets: messages, lists, alternatives, what is left out, bounds, hostile text."""

from __future__ import annotations

import re

import ipywidgets
import pytest

from agentsvc_nb.notebook.widgets.forms.checking import Checker
from tests.notebook.allowlist import FORBIDDEN, offences
from tests.notebook.driven_forms import INPUTS, below, form, inside, named
from tests.notebook.form_schemas import Schema
from tests.notebook.test_hostile import HOSTILE


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
        assert "is not a &quot;date&quot;" in below(view, "day")
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


def test_items_with_fields_of_their_own_are_numbered() -> None:
    ad = {"type": "object", "properties": {"headline": {"type": "string"}}}
    schema = {"type": "object", "properties": {"ads": {"type": "array", "title": "Ads", "items": ad}}}
    with form(schema, {"ads": [{"headline": "one"}, {}]}) as (view, _):
        said = "".join(one.value for one in inside(view.box) if isinstance(one, ipywidgets.HTML))
        assert "Ads 1" in said
        assert "Ads 2" in said
        assert view.value == {"ads": [{"headline": "one"}, {}]}


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
        assert "a: &quot;x&quot; is shorter than 3 characters" in view.summary.value


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


LONG = "a" * 60 + "!"


@pytest.mark.parametrize(
    "part",
    [
        {"pattern": "(a+)+$"},
        {"pattern": "(a+)+$", "$schema": "https://json-schema.org/draft/2020-12/schema"},
        {"patternProperties": {"(a+)+$": False}},
        {"patternProperties": {"(a+)+$": False}, "additionalProperties": False},
        {"patternProperties": {"(a+)+$": False}, "unevaluatedProperties": False},
        {"propertyNames": {"pattern": "(a+)+$"}},
        {"not": {"pattern": "(a+)+$"}},
        {"$ref": "#/$defs/0"},
    ],
    ids=lambda part: " ".join(part),
)
@pytest.mark.timeout(30)
def test_what_would_take_for_ever_is_judged_at_once_or_left_to_the_service(part: Schema) -> None:
    branching = {str(n): {"anyOf": [{"$ref": f"#/$defs/{n + 1}"}] * 2} for n in range(40)} | {"40": False}
    schema = {"type": "object", "properties": {"a": part}, "$defs": branching}
    for value in (LONG, {LONG: LONG}):
        checker = Checker(schema)
        wrong = bool(checker.messages({"a": value}, {}))
        assert checker.fits(part, value) is not (wrong or bool(checker.fault))


def test_patterns_are_judged_also_those_that_look_around() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"pattern": r"^\w+$"}, "b": {"pattern": "(?=x)"}, "c": {"pattern": "(?=(a+)+$)b"}},
        "patternProperties": {"^n_": {"type": "integer"}},
        "additionalProperties": {"type": "boolean"},
    }
    checker = Checker(schema)
    assert checker.messages({"a": "ab", "b": "x", "n_1": 1, "d": True}, {}) == {}
    said = checker.messages({"a": "a b", "b": "y", "n_1": "1", "d": 1}, {})
    assert {path[0]: words for path, words in said.items()} == {
        "a": r'"a b" does not match "^\w+$"',
        "b": '"y" does not match "(?=x)"',
        "n_1": '"1" is not of type "integer"',
        "d": '1 is not of type "boolean"',
    }
    assert checker.fault == ""
    assert checker.messages({"c": "a" * 200_000}, {}) == {}
    assert "takes too long to check" in checker.fault


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
