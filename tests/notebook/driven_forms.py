"""Forms driven by their widgets, without a browser."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import ipywidgets
import jsonschema
from referencing import Registry

from agentsvc_nb.notebook.widgets import design
from agentsvc_nb.notebook.widgets.forms.view import FormView
from tests.notebook.form_schemas import Schema

INPUTS = (ipywidgets.Text, ipywidgets.Textarea, ipywidgets.Combobox)


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
