"""The widgets of a form: a summary of errors, the inputs, the buttons, and a job's progress bar."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import ipywidgets

from agentsvc_nb.notebook.display.render import Bundle, note_bundle
from agentsvc_nb.notebook.tools.fields import MISSING, field
from agentsvc_nb.notebook.widgets import design
from agentsvc_nb.notebook.widgets.cards import JobBar, standing
from agentsvc_nb.notebook.widgets.forms.building import Builder
from agentsvc_nb.notebook.widgets.forms.checking import Checker, Path
from agentsvc_nb.notebook.widgets.forms.inputs import ReadNotes, json_path
from agentsvc_nb.wire.text import escape
from agentsvc_nb.wire.tools import Job

SAID_MAX: Final = 5
STYLE: Final = """<style>
.asvc-form .jupyter-widgets { width: auto; max-width: 100%; min-width: 0; }
.asvc-form .asvc-field > .widget-inline-hbox, .asvc-form .widget-inline-hbox.asvc-field {
    flex-flow: column; align-items: stretch; height: auto; max-width: 560px; overflow: visible; }
.asvc-form .widget-inline-hbox > select:not([multiple]), .asvc-form .widget-inline-hbox > input[type="text"] {
    flex: none; width: 100%; height: var(--jp-widgets-inline-height, 28px); }
.asvc-form .asvc-muted p { margin: 0; }
.asvc-form .asvc-field > .widget-checkbox { flex-flow: row; }
.asvc-form .widget-inline-hbox .widget-label, .asvc-form .widget-checkbox .widget-label-basic {
    width: auto; max-width: 100%; text-align: left; white-space: normal; overflow-wrap: anywhere; line-height: 1.5;
    height: auto; }
.asvc-form .asvc-field > .widget-inline-hbox > .widget-label, .asvc-form .asvc-title { font-weight: 600; }
.asvc-form .widget-html-content { overflow-wrap: anywhere; line-height: 1.4; }
.asvc-form .widget-html > .widget-html-content { align-self: stretch; }
.asvc-form .asvc-group .asvc-group, .asvc-form .asvc-item {
    border-left: 2px solid var(--jp-border-color2, #8884); padding-left: 10px; margin: 4px 0; }
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
        value = {} if value is MISSING else value
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


class FormBars:
    """The `jobs.background.Bars` of a form's job, drawn in `place`; `below` shows its output. For any thread."""

    def __init__(self, place: ipywidgets.VBox, below: Callable[[Bundle], None]) -> None:
        self._place, self._below = place, below

    def show(self, jobs: Sequence[Job], cancel: Callable[[str], object]) -> None:
        self._bar = JobBar(jobs[0], cancel)
        self._below(note_bundle(standing(jobs)))
        self._place.children = (self._bar.row,)

    def draw(self, jobs: Sequence[Job], elapsed: float) -> None:
        self._bar.draw(jobs[0], elapsed)

    def leave(self, job_id: str, bundle: Bundle) -> None:
        pass

    def finish(self, bundle: Bundle) -> None:
        self._place.children = ()
        for part in self._bar.parts:
            design.discard(part)
        self._below(bundle)
