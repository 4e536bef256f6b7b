"""The inputs of a form's fields: the name above, errors and description below."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import ipywidgets

from agentsvc_nb.documents.schemas import Path
from agentsvc_nb.notebook.display.markdown import to_html
from agentsvc_nb.notebook.jobs.fields import MISSING, Field, same, shown
from agentsvc_nb.notebook.widgets.forms.checking import ChosenAlternative
from agentsvc_nb.wire.reading import read_json
from agentsvc_nb.wire.text import escape, excerpt, label, plain

Messages = Mapping[Path, str]
"""Errors by path, relative to the input that shows them."""
ABOUT_CHARS: Final = 800
_NUMBER: Final = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?")


@dataclass(slots=True)
class ReadNotes:
    """Collected while a form is read: errors of inputs that cannot be read, and the chosen alternatives, by path."""

    wrong: dict[Path, str] = field(default_factory=dict)
    chosen: dict[Path, ChosenAlternative] = field(default_factory=dict)


class Node(Protocol):
    """An input of a form, which may contain others."""

    view: ipywidgets.Widget

    def read(self, noted: ReadNotes, path: Path) -> Any:
        """Return the value, or MISSING if it is left out. Adds what cannot be read to `noted`, under `path`."""

    def say(self, messages: Messages, everything: bool) -> None:
        """Show these errors, or clear them; untouched inputs show theirs only with `everything`."""

    def call(self, title: str) -> None:
        """Change the title."""

    def focus(self) -> None: ...


class InputNotes:
    """The error and the description below an input."""

    def __init__(self, about: str) -> None:
        self.view = ipywidgets.HTML()
        self._hidden = False
        self._about = f'<div class="asvc-muted">{to_html(excerpt(about, ABOUT_CHARS))}</div>' if about else ""
        self.say("")

    def say(self, message: str, *, loud: bool = True) -> None:
        """Show an error; if `loud`, screen readers announce it at once."""
        role = ' role="alert"' if loud else ""
        said = f'<div class="asvc-wrong"{role}>{escape(message, ABOUT_CHARS)}</div>' if message else ""
        self.view.value = said + self._about
        self.hide(self._hidden)

    def hide(self, hidden: bool) -> None:
        """Hide the lines, or show them again."""
        self._hidden = hidden
        self.view.layout.display = "none" if hidden or not self.view.value else None


def one_message(messages: Messages) -> str:
    """Return the first error, preceded by its path if it belongs to an inner field; empty without errors."""
    return next((f"{json_path(path)}: {said}" if path else said for path, said in messages.items()), "")


def json_path(path: Path) -> str:
    """Format a path as users write it: `outputs.count`, `sizes[0]`."""
    said = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return label(said.removeprefix("."), 120)


class FormInput:
    """The base of inputs with one control; subclasses create the control with its value, and read it."""

    control: ipywidgets.Widget

    def __init__(self, of: Field, start: Any, changed: Callable[[], None], control: ipywidgets.Widget) -> None:
        self.field = of
        self.had = start is not MISSING
        self._changed = changed
        self.control = control
        self.touched = False
        control.tooltip = label(of.about, 300) or of.title
        control.style.description_width = "auto"
        self.call(of.title)
        self._below = InputNotes(of.about)
        self.view = ipywidgets.VBox([control, self._below.view])
        self.view.add_class("asvc-field")
        control.observe(self._on_value, "value")

    def read(self, noted: ReadNotes, path: Path) -> Any:
        raise NotImplementedError

    def say(self, messages: Messages, everything: bool) -> None:
        message = one_message(messages) if everything or self.touched else ""
        self._below.say(message, loud=not everything)
        (self.control.add_class if message else self.control.remove_class)("asvc-invalid")

    def call(self, title: str) -> None:
        self.control.description = title + (" *" if self.field.required and self.field.name else "")

    def focus(self) -> None:
        self.control.focus()

    def _on_value(self, _: object) -> None:
        self.touched = True
        self._changed()


class TextInput(FormInput):
    """The input of a text. When empty, it is left out, unless it had a value at the start: then it is `""`."""

    def __init__(self, of: Field, start: Any, changed: Callable[[], None], known: Sequence[str] = ()) -> None:
        value, hint = "" if start is MISSING else start, of.example
        common = {"value": value, "placeholder": label(hint) if isinstance(hint, str) else ""}
        common["continuous_update"] = False
        control: ipywidgets.Widget
        if of.is_long or "\n" in value:
            control = ipywidgets.Textarea(rows=3, **common)
        elif of.kind == "file":
            control = ipywidgets.Combobox(options=[path for path in known if plain(path) == path], **common)
        else:
            control = ipywidgets.Text(**common)
        super().__init__(of, start, changed, control)

    def read(self, noted: ReadNotes, path: Path) -> Any:
        return self.control.value or ("" if self.had else MISSING)


class NumberInput(FormInput):
    """The input of a number, as text: invalid text stays as typed, with an error."""

    def __init__(self, of: Field, start: Any, changed: Callable[[], None]) -> None:
        control = ipywidgets.Text("" if start is MISSING else json.dumps(start), continuous_update=False)
        super().__init__(of, start, changed, control)

    def read(self, noted: ReadNotes, path: Path) -> Any:
        text = self.control.value.strip()
        if not text:
            return MISSING
        if _NUMBER.fullmatch(text):
            try:
                return read_json(text)
            except ValueError:
                pass  # too large
        kind = "whole number" if self.field.kind == "integer" else "number"
        noted.wrong[path] = f"{label(text, 60)} is no {kind}."
        return MISSING


class JsonInput(FormInput):
    """The input of a value of any other kind, as JSON."""

    def __init__(self, of: Field, start: Any, changed: Callable[[], None]) -> None:
        value = "" if start is MISSING else json.dumps(start, indent=2, ensure_ascii=False)
        value = value if plain(value) == value else json.dumps(start, indent=2)
        super().__init__(of, start, changed, ipywidgets.Textarea(value, rows=3, continuous_update=False))

    def call(self, title: str) -> None:
        super().call(f"{title} (JSON)")

    def read(self, noted: ReadNotes, path: Path) -> Any:
        text = self.control.value.strip()
        if not text:
            return MISSING
        try:
            return read_json(text)
        except ValueError as error:
            noted.wrong[path] = f"This is not JSON: {label(error, 120)}."
            return MISSING


class CheckboxInput(FormInput):
    """The input of a boolean."""

    def __init__(self, of: Field, start: Any, changed: Callable[[], None]) -> None:
        super().__init__(of, start, changed, ipywidgets.Checkbox(value=start is True, indent=False))

    def call(self, title: str) -> None:
        self.control.description = title

    def read(self, noted: ReadNotes, path: Path) -> Any:
        return bool(self.control.value)


class ChoiceInput(FormInput):
    """The input of one of several options. Without a value it begins with a blank line, which leaves it out."""

    def __init__(
        self, of: Field, start: Any, changed: Callable[[], None], options: Sequence[tuple[str, Any]] = ()
    ) -> None:
        self._values = list(options or of.options)
        fitting = (number for number, (_, value) in enumerate(self._values) if start is not MISSING)
        at = next((number for number in fitting if same(self._values[number][1], start)), -1)
        blank = [("Choose…" if of.required else "(left out)", -1)] if at < 0 else []
        lines = [*blank, *((name, number) for number, (name, _) in enumerate(self._values))]
        super().__init__(of, start, changed, ipywidgets.Dropdown(options=lines, value=at))

    def read(self, noted: ReadNotes, path: Path) -> Any:
        at = self.control.value
        return MISSING if at is None or at < 0 else self._values[at][1]


class FixedInput(FormInput):
    """A constant, shown and not editable."""

    def __init__(self, of: Field, start: Any, changed: Callable[[], None]) -> None:
        self._value = of.schema["const"] if of.kind == "const" else None
        control = ipywidgets.Text(value=label(shown(self._value)), disabled=True)
        super().__init__(of, start, changed, control)

    def read(self, noted: ReadNotes, path: Path) -> Any:
        return self._value
