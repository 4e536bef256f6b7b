"""The widgets of a form: a summary of errors, the inputs, the buttons, and a job's progress bar; and the choice of the
input for each field of the schema.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import ipywidgets

from agentsvc_nb.documents.schemas import Path
from agentsvc_nb.notebook.jobs.fields import MISSING, Field, Kind, field, same
from agentsvc_nb.notebook.widgets import design
from agentsvc_nb.notebook.widgets.forms.checking import Checker
from agentsvc_nb.notebook.widgets.forms.groups import ChoicesInput, OptionalInput, VariantsInput
from agentsvc_nb.notebook.widgets.forms.inputs import (
    CheckboxInput,
    ChoiceInput,
    FixedInput,
    JsonInput,
    Node,
    NumberInput,
    ReadNotes,
    TextInput,
    json_path,
)
from agentsvc_nb.notebook.widgets.forms.lists import ITEMS_MAX, ArrayInput, ObjectInput
from agentsvc_nb.wire.text import escape, plain

SAID_MAX: Final = 5
STYLE: Final = """<style>
.asvc-form .jupyter-widgets { width: auto; max-width: 100%; min-width: 0; }
.asvc-form .asvc-field > .widget-inline-hbox, .asvc-form .widget-inline-hbox.asvc-field {
    flex-flow: column; align-items: stretch; height: auto; max-width: 560px; overflow: visible; }
.asvc-form .widget-inline-hbox > select:not([multiple]), .asvc-form .widget-inline-hbox > input[type="text"] {
    flex: none; width: 100%; height: var(--jp-widgets-inline-height, 28px); }
.asvc-form .asvc-muted p { margin: 0; }
.asvc-form .widget-vbox > .asvc-field, .asvc-form .widget-vbox > .asvc-group { margin-bottom: 8px; }
.asvc-form .widget-checkbox { height: auto; line-height: 1.5; margin-bottom: 0; }
.asvc-form .asvc-field > .widget-checkbox { flex-flow: row; }
.asvc-form .widget-inline-hbox .widget-label, .asvc-form .widget-checkbox .widget-label-basic {
    width: auto; max-width: 100%; text-align: left; white-space: normal; overflow-wrap: anywhere; line-height: 1.5;
    height: auto; }
.asvc-form .asvc-field > .widget-inline-hbox > .widget-label, .asvc-form .asvc-title { font-weight: 600; }
.asvc-form .widget-html-content { overflow-wrap: anywhere; line-height: 1.4; }
.asvc-form .widget-html > .widget-html-content { align-self: stretch; }
.asvc-form .asvc-group .asvc-group, .asvc-form .asvc-item {
    border-left: 2px solid var(--jp-border-color2, #8884); padding-left: 10px; margin: 4px 0 8px; }
.asvc-form .asvc-inner > .asvc-field > .widget-inline-hbox:not(.widget-checkbox) > .widget-label,
.asvc-form .asvc-inner > .asvc-group > .asvc-title {
    position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
.asvc-form .asvc-invalid input, .asvc-form .asvc-invalid textarea, .asvc-form .asvc-invalid select {
    border-color: var(--jp-error-color1, #c62828) !important; }
.asvc-form button.jupyter-button { align-self: flex-start; flex: none; height: auto; min-height: 28px; }
</style>"""


class FormView:
    """A form for a JSON Schema.

    Args:
        schema: the input's schema; every schema has a form, if only a field for JSON.
        start: initial values; other fields begin with the schema's defaults.
        known: paths of files, suggested for fields that take one.
        run: called with a valid input when Run is pressed; it must be quick, as it blocks the thread of the click.
        as_cell: returns the cell that sends an input.
    """

    def __init__(
        self,
        schema: Mapping[str, Any],
        start: Mapping[str, Any],
        run: Callable[[dict[str, Any]], None],
        as_cell: Callable[[dict[str, Any]], str],
        known: Sequence[str] = (),
    ) -> None:
        self.checker = Checker(schema)
        self._start = start
        self._run = run
        self._as_cell = as_cell
        self._field = field(schema, schema)
        self._builder = Builder(self.checker, self._changed, known)
        self._lock = threading.RLock()
        self._everything = False
        self._body = ipywidgets.VBox()
        self.summary = ipywidgets.HTML()
        self.status = design.text("", role="status")
        self.moving = ipywidgets.VBox()
        self.cell = ipywidgets.Textarea(description="As a cell", rows=6, layout={"display": "none"})
        self.cell.add_class("asvc-field")
        self.run_button = design.button("Run", "Check the input and call the tool", look="primary")
        self.cell_button = design.button("As a cell", "Show the cell that does the same, to copy")
        self.reset_button = design.button("Reset", "Begin again with the defaults")
        for button, act in (
            (self.run_button, self._on_run),
            (self.cell_button, self._on_cell),
            (self.reset_button, self.reset),
        ):
            button.on_click(lambda _, act=act: self._locked(act))
        self.box = self._framed()
        self.reset()

    @property
    def value(self) -> Any:
        """The current input."""
        return self.read()[0]

    def read(self) -> tuple[Any, dict[Path, str]]:
        """Return the current input, and its errors by the path of the field."""
        noted = ReadNotes()
        value = self.root.read(noted, ())
        value = {} if value is MISSING else value  # nothing is filled in: an object without fields
        wrong = self.checker.messages(value, noted.chosen)
        if not isinstance(value, dict):
            wrong = {(): "The input of a tool is an object."} | wrong
        return value, {**wrong, **noted.wrong}

    def reset(self) -> None:
        """Discard the input, and begin again with the initial values."""
        before = self._body.children
        self.root = self._builder.root(self._field, self._start or MISSING)
        self._everything = False
        self._body.children = [self.root.view]
        self.summary.value = ""
        self.cell.layout.display = "none"
        self.tell(self.checker.fault)
        for widget in before:
            design.discard(widget)

    def sending(self, is_sending: bool) -> None:
        """Disable the Run button while a call goes on, or enable it again."""
        self.run_button.disabled = is_sending
        self.run_button.description = "Running…" if is_sending else "Run"

    def tell(self, said: str, *, wrong: bool = False) -> None:
        """Show one line below the buttons."""
        design.put(self.status, said, "wrong" if wrong else "muted", role="status")

    def _framed(self) -> ipywidgets.VBox:
        legend = design.text("* is required.", "muted")
        buttons = design.row([self.run_button, self.cell_button, self.reset_button])
        style = ipywidgets.HTML(STYLE, layout={"display": "none"})
        box = design.frame([style, self.summary, legend, self._body, buttons, self.moving, self.status, self.cell])
        box.add_class("asvc-form")
        return box

    def _locked(self, act: Callable[[], None]) -> None:
        with self._lock:
            act()

    def _changed(self) -> None:
        with self._lock:
            wrong = self._judge()[1]
            if self._everything:
                self._sum_up(wrong)

    def _judge(self) -> tuple[Any, dict[Path, str]]:
        value, wrong = self.read()
        self.root.say(wrong, self._everything)
        return value, wrong

    def _sum_up(self, wrong: Mapping[Path, str]) -> None:
        lines = [f"{json_path(path) or 'input'}: {said}" for path, said in list(wrong.items())[:SAID_MAX]]
        more = [f"… {len(wrong) - SAID_MAX} more"] if len(wrong) > SAID_MAX else []
        items = "".join(f"<li>{escape(line, 400)}</li>" for line in [*lines, *more])
        head = "Nothing was sent:"
        self.summary.value = f'<div class="asvc-wrong" role="alert">{head}<ul>{items}</ul></div>' if wrong else ""

    def _on_run(self) -> None:
        self._everything = True
        value, wrong = self._judge()
        self._sum_up(wrong)
        self.tell(self.checker.fault)
        if not wrong and not self.run_button.disabled:
            self.sending(True)
            self._run(value)

    def _on_cell(self) -> None:
        value, _ = self.read()
        self.cell.value = self._as_cell(value if isinstance(value, dict) else {})
        self.cell.rows = min(20, self.cell.value.count("\n") + 2)
        self.cell.layout.display = None
        self.cell.focus()


DEEPEST: Final = 8
FIELDS_MAX: Final = 300
"""Limits of nesting and of the number of fields; beyond them, a field is filled in as JSON."""
_BOXED: Final[frozenset[Kind]] = frozenset({"object", "variants", "const", "nothing"})
"""Kinds whose input cannot be left empty. If such a field is optional, it gets a checkbox."""
_YES_NO: Final = (("yes", True), ("no", False))


class Builder:
    """Creates the inputs of one form. `changed` is called after each change; `known` are paths of files to suggest."""

    def __init__(self, checker: Checker, changed: Callable[[], None], known: Sequence[str] = ()) -> None:
        self.checker = checker
        self.changed = changed
        self.known = known
        self._depth = self._made = 0

    def within(self, of: Field, start: Any) -> Node:
        """Create the input of a nested field, with this value or (MISSING) the field's default."""
        start = of.default if start is MISSING else start
        self._made = 0 if not self._depth else self._made + 1
        self._depth += 1
        try:
            if self._depth > DEEPEST or self._is_too_much(of) or not self._can_show(of, start):
                return JsonInput(of, start, self.changed)
            return self._optional(of, start) or self._plain(of, start)
        finally:
            self._depth -= 1

    def root(self, of: Field, start: Any) -> Node:
        """Create the outermost input: an object without a title, or JSON."""
        self._made = 0
        if of.kind != "object" or self._is_too_much(of) or not self._can_show(of, start):
            return JsonInput(of, start, self.changed)
        self._depth = 1
        try:
            return ObjectInput(of, start, self, titled=False)
        finally:
            self._depth = 0

    def variant_of(self, variants: Sequence[Field], value: Any) -> int:
        """Return the index of the first variant that validates the value, else that can hold it, else -1."""
        # Nested alternatives are examined only when their input is created, because they may be recursive.
        holding = [at for at, one in enumerate(variants) if one.kind == "variants" or self._can_show(one, value)]
        fitting = [number for number in holding if self.checker.fits(variants[number].schema, value)]
        return next(iter(fitting or holding), -1)

    def _is_too_much(self, of: Field) -> bool:
        return self._made + len(of.schema.get("properties") or ()) > FIELDS_MAX

    def _optional(self, of: Field, start: Any) -> Node | None:
        depth = self._depth

        def made(inner: Field, value: Any) -> Callable[[], Node]:
            def make() -> Node:
                before = self._depth
                self._depth = depth - 1  # made later, at the depth of this field
                try:
                    return self.within(inner, value)
                finally:
                    self._depth = before

            return make

        if not of.required and start is MISSING and of.kind in _BOXED and not _only_rows(of):
            inside = replace(of, required=True, name="" if of.kind == "object" else of.name)
            return OptionalInput(of, MISSING, False, made(inside, MISSING), self)
        if (inner := of.nullable) is not None:
            off, given = start in (MISSING, None), start
            if off:
                given = "" if inner.kind == "text" and inner.default is MISSING else MISSING
            return OptionalInput(of, None, not off, made(inner, given), self)
        return None

    def _plain(self, of: Field, start: Any) -> Node:
        match of.kind:
            case "text" | "file":
                start = "" if start is MISSING and not of.name else start  # an item cannot be left out, only removed
                return TextInput(of, start, self.changed, self.known)
            case "number" | "integer":
                return NumberInput(of, start, self.changed)
            case "flag" if not of.required and start is MISSING:
                return ChoiceInput(of, start, self.changed, _YES_NO)
            case "flag":
                return CheckboxInput(of, start, self.changed)
            case "choice":
                return ChoiceInput(of, start, self.changed)
            case "const" | "nothing":
                return FixedInput(of, start, self.changed)
            case "choices":
                return ChoicesInput(of, start, self)
            case "object":
                return ObjectInput(of, start, self)
            case "array":
                return ArrayInput(of, start, self)
            case "variants":
                return VariantsInput(of, start, self)
        return JsonInput(of, start, self.changed)

    def _can_show(self, of: Field, start: Any) -> bool:
        """Whether the input for this field's kind can hold this value unchanged."""
        if start is MISSING:
            return True
        match of.kind:
            case "text" | "file":
                return isinstance(start, str) and plain(start) == start
            case "number" | "integer":
                return isinstance(start, int | float) and not isinstance(start, bool) and math.isfinite(start)
            case "flag":
                return isinstance(start, bool)
            case "nothing":
                return start is None
            case "const":
                return same(start, of.schema["const"])
            case "choice":
                return any(same(start, value) for _, value in of.options)
            case "choices":
                return isinstance(start, list) and _is_choice(of, start)
            case "object":
                return isinstance(start, dict) and _has_place(of, start)
            case "array":
                return isinstance(start, list) and len(start) <= ITEMS_MAX
            case "variants":
                return self.variant_of(of.variants(), start) >= 0
        return True


def _only_rows(of: Field) -> bool:
    """Whether an object has no named properties, only rows of keys and values: without rows it is left out."""
    return of.kind == "object" and next(of.properties(), None) is None


def _is_choice(of: Field, start: list[Any]) -> bool:
    """Whether the list has only known options, each once, in the schema's order, so that checkboxes can express it."""
    chosen = [value for _, value in of.options if any(same(value, one) for one in start)]
    return same(chosen, start)


def _has_place(of: Field, start: dict[str, Any]) -> bool:
    known = {one.name for one in of.properties()}
    extra = [name for name in start if name not in known]
    rows = of.others() is not None and len(extra) <= ITEMS_MAX and all(plain(name) == name for name in extra)
    return (not extra or rows) and "" not in extra
