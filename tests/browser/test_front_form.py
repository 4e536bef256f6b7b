"""The form in a page that hosts one anywidget under a strict policy: each input by its value, keys, hostile text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest
from playwright.sync_api import Page, expect

from agentsvc_nb.notebook.state.session import Session
from agentsvc_nb.notebook.widgets.form import ToolForm
from agentsvc_nb.wire.tools import ToolDescription
from tests.browser import axe
from tests.browser.anyhost import Host, HostComm, hosting
from tests.browser.test_front import RAW, nothing_ran, watched
from tests.support.waiting import until

Schema = dict[str, Any]
TEXT: Final = {"type": "string", "maxLength": 60}
MANY_LINES: Final = {"type": "string"}
LIST: Final = {"type": "array", "title": "To", "items": TEXT}
POINT: Final = {"type": "object", "properties": {"x": {"type": "integer"}}}
Act = Callable[[Page], object]


def fill(label: str, text: str) -> Act:
    def act(page: Page) -> None:
        page.get_by_label(label, exact=True).fill(text)
        page.keyboard.press("Tab")

    return act


def choose(label: str, option: str) -> Act:
    return lambda page: page.get_by_label(label, exact=True).select_option(option)


def press(role: Any, name: str) -> Act:
    return lambda page: page.get_by_role(role, name=name, exact=True).press("Space")


VALUES: Final[dict[str, tuple[Schema, Any, list[Act], dict[str, Any]]]] = {
    "text": (TEXT, None, [fill("A", "größe <b>")], {"a": "größe <b>"}),
    "text that is emptied": (TEXT, "x", [fill("A", "")], {}),
    "text with a default that is emptied": ({**TEXT, "default": "x"}, None, [fill("A", "")], {"a": ""}),
    "lines": (MANY_LINES, None, [fill("A", 'say "x"\ny')], {"a": 'say "x"\ny'}),
    "a text or null": ({"anyOf": [TEXT, {"type": "null"}], "default": "x"}, None, [fill("A", "")], {"a": None}),
    "a number of many digits": (
        {"type": "integer"},
        23851234567890123,
        [fill("A", "23851234567890125")],
        {"a": 23851234567890125},
    ),
    "a number as it began": (
        {"type": "integer"},
        23851234567890123,
        [fill("B", "x")],
        {"a": 23851234567890123, "b": "x"},
    ),
    "a switch": ({"type": "boolean", "default": True}, None, [press("switch", "A")], {"a": False}),
    "a choice": ({"enum": ["one", 2]}, None, [choose("A", "2")], {"a": 2}),
    "a choice that is left out": ({"enum": ["one", 2]}, "one", [fill("B", "x")], {"a": "one", "b": "x"}),
    "yes or no": ({"type": "boolean"}, None, [choose("A", "no")], {"a": False}),
    "several choices": (
        {"type": "array", "items": {"enum": ["p", "q"]}},
        ["q"],
        [press("checkbox", "p"), press("checkbox", "q")],
        {"a": ["p"]},
    ),
    "a list": (
        LIST,
        ["one"],
        [press("button", "Add"), fill("To 2", "two"), press("button", "Add"), press("button", "Remove To 1")],
        {"a": ["two"]},
    ),
    "names and values": (
        {"type": "object", "additionalProperties": {"type": "integer"}},
        None,
        [press("button", "Add"), fill("Name 1", "k"), fill("Value 1", "3")],
        {"a": {"k": 3}},
    ),
    "an object": (POINT, None, [fill("X", "7")], {"a": {"x": 7}}),
    "an object that is emptied": (POINT, {"x": 1}, [fill("X", "")], {}),
    "anything as JSON": ({}, None, [fill("A (JSON)", '{"a": [1, 1e20]}')], {"a": {"a": [1, 1e20]}}),
    "an unchanged constant": ({"const": "x", "default": "x"}, None, [fill("B", "y")], {"a": "x", "b": "y"}),
}


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    with hosting() as opened:
        yield opened


@pytest.fixture
def opened(host: Host, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., tuple[ToolForm, Page]]]:
    """Opens a page with the form of a schema."""
    monkeypatch.setattr("comm.create_comm", HostComm)
    pages: list[Page] = []
    host.errors.clear()
    host.requests.clear()

    def shown(schema: Schema, start: dict[str, Any] | None = None) -> tuple[ToolForm, Page]:
        form = ToolForm(ToolDescription(name="demo", input_schema=schema), start, session=Session())
        pages.append(host.open(form.front))
        watched(pages[-1])
        return form, pages[-1]

    yield shown
    for page in pages:
        page.close()


@pytest.mark.parametrize("case", VALUES)
def test_what_is_filled_in_is_the_value(opened: Any, host: Host, case: str) -> None:
    part, start, acts, expected = VALUES[case]
    schema = {"type": "object", "properties": {"a": part, "b": {**TEXT, "title": "B"}}}
    form, page = opened(schema, None if start is None else {"a": start})
    for act in acts:
        act(page)
    until(lambda: form.value == expected)
    assert form.problems == {}
    nothing_ran(host, page)


def test_what_is_wrong_is_told_at_its_field_and_in_one_line(opened: Any) -> None:
    number = {"type": "integer", "title": "Pictures", "minimum": 1, "maximum": 9}
    code = {"type": "string", "maxLength": 9, "pattern": "^a", "title": "Code"}
    parts = {"count": number, "code": code, "any": {"title": "Any"}, "to": {**LIST, "minItems": 1}}
    form, page = opened({"type": "object", "properties": parts, "required": ["count", "to"]})
    page.get_by_label("Code").fill("b")
    page.keyboard.press("Tab")
    expect(page.get_by_role("alert")).to_have_text('"b" does not match the expected format.')
    expect(page.get_by_label("Code")).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_label("Any (JSON)")).to_be_focused()
    page.keyboard.type("{")
    page.get_by_role("button", name="Run", exact=True).press("Enter")
    expect(page.get_by_role("status").first).to_contain_text("Nothing was sent.")
    expect(page.get_by_label("Pictures *")).to_be_focused()
    for said in (
        "This is required.",
        '"b" does not match the expected format.',
        "This is not JSON.",
        "At least 1 item.",
    ):
        expect(page.get_by_text(said, exact=True)).to_be_visible()
    assert axe.violations(page, ".asvc") == []
    page.keyboard.type("0")
    page.keyboard.press("Tab")
    expect(page.get_by_text("At least 1.", exact=True)).to_be_visible()
    page.get_by_label("Pictures *").fill("2")
    page.get_by_label("Code").fill("a")
    page.get_by_label("Any (JSON)").fill("")
    page.get_by_label("To 1", exact=True).fill("ana")
    page.keyboard.press("Tab")
    until(lambda: form.value == {"count": 2, "code": "a", "to": ["ana"]})
    expect(page.locator("[aria-invalid=true]")).to_have_count(0)


def test_a_job_is_seen_going_on_and_its_answer_comes_below(opened: Any) -> None:
    form, page = opened({"type": "object", "properties": {"a": TEXT}})
    form.front.change({"busy": True, "job": {"text": "2 of 3 pictures", "done": "66 %"}})
    expect(page.get_by_role("progressbar")).to_have_attribute("aria-valuenow", "66")
    expect(page.get_by_role("button", name="Running…")).to_have_attribute("aria-disabled", "true")
    assert axe.violations(page, ".asvc") == []
    page.get_by_role("button", name="Cancel").press("Enter")
    form.front.change({"busy": None, "job": None, "answer": "<p>Made <strong>3</strong></p>"})
    expect(page.locator(".asvc-page strong")).to_have_text("3")
    expect(page.get_by_role("progressbar")).to_be_hidden()


def test_a_form_fits_its_page_and_keeps_the_rules_of_accessibility(opened: Any) -> None:
    parts = {name: {**part, "title": f"{name} {name}"} for name, (part, *_) in VALUES.items()}
    _, page = opened({"type": "object", "properties": parts, "required": list(parts)})
    for width in (220, 480, 1200):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for scheme in ("dark", "light"):
        page.emulate_media(color_scheme=scheme)
        assert axe.violations(page, ".asvc") == []
    page.emulate_media(forced_colors="active")
    assert axe.violations(page, ".asvc") == []


def test_hostile_texts_are_shown_and_not_executed(opened: Any, host: Host) -> None:
    parts: dict[str, Any] = {
        f"{text} {number}": {"type": "string", "title": text, "description": text, "default": text, "examples": [text]}
        for number, text in enumerate(RAW)
    }
    parts |= {"choice": {"enum": RAW, "title": RAW[0]}, "list": {"type": "array", "items": {"enum": RAW}}}
    parts |= {"group": {"type": "object", "title": RAW[0], "properties": {RAW[0]: TEXT}, "required": [RAW[0]]}}
    _, page = opened({"type": "object", "properties": parts, "required": ["choice"]})
    page.get_by_role("button", name="Run", exact=True).press("Enter")
    expect(page.get_by_text("Nothing was sent.")).to_be_visible()
    assert page.locator(".asvc").locator("a, img, script, iframe, form, style, math, base, link, object").count() == 0
    nothing_ran(host, page)
