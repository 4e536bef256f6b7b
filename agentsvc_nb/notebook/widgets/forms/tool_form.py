"""`ToolForm`: a form for a tool's input as a cell value; its button calls the tool and follows the job."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from agentsvc_nb.client.cards import Showing
from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.notebook import host
from agentsvc_nb.notebook.display.markdown import SMALL
from agentsvc_nb.notebook.display.render import Bundle, error_bundle, note_bundle
from agentsvc_nb.notebook.display.screens import Bar, Output, SavedOutput
from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.notebook.files.workspace import listed
from agentsvc_nb.notebook.host import here
from agentsvc_nb.notebook.jobs import cell_input
from agentsvc_nb.notebook.jobs.fields import FILE_FORMAT
from agentsvc_nb.notebook.jobs.follower import JobFollower, JobResult, accept, refusal, submit
from agentsvc_nb.notebook.jobs.tools import ToolAnswer, invoke, tool_answer, tool_bundle
from agentsvc_nb.notebook.state.session import Session
from agentsvc_nb.notebook.widgets import outputs
from agentsvc_nb.wire.text import escape, label
from agentsvc_nb.wire.tools import Job, JobAccepted, ToolDescription

if TYPE_CHECKING:
    from agentsvc_nb.notebook.widgets.forms.view import FormView


class ToolForm(Showing):
    """A form for a tool's input: fill it in, press Run, and its answer stands below; `form.answer` has it, too.

    Where no widgets are shown (a terminal, nbconvert, GitHub) it is the list of the fields and a cell to begin from; in
    a script or marimo a call of the client.

    Args:
        tool: its name.
        given: values to begin with; the tool's defaults stand for the others.
        session: the notebook's own when it is left out.

    Raises:
        AskError: there is no such tool, or no service.

    Example:
        form = ToolForm("create_images", {"request": {"brief": "Autumn sale"}})
        form            # shows it
        form.value      # the input as it stands
        form.answer     # what the last call gave
    """

    def __init__(self, tool: str, given: Mapping[str, Any] | None = None, *, session: Session | None = None) -> None:
        self._session = session or here()[0]
        try:
            self.tool: ToolDescription = self._session.client().tools.describe(tool)
        except StefanBrainError as error:
            raise refusal(self._session, error, tool, jobs=False) from None
        self.answer: ToolAnswer | JobResult | None = None
        self._given = dict(given or {})
        self._view: FormView | None = None
        self._below: _Below | None = None

    @property
    def value(self) -> dict[str, Any]:
        """The input as it stands."""
        found: dict[str, Any] = self.view.value
        return found

    @property
    def problems(self) -> dict[str, str]:
        """What is wrong with it, by field; nothing when it can be sent."""
        from agentsvc_nb.notebook.widgets.forms.inputs import json_path

        return {json_path(path): said for path, said in self.view.read()[1].items()}

    @property
    def cell(self) -> str:
        """The cell that sends the same input."""
        return self._as_cell(self.value)

    @property
    def view(self) -> FormView:
        """The widgets; made when they are first asked for."""
        if self._view is None:
            from agentsvc_nb.notebook.widgets.forms.view import FormView

            schema, known = self.tool.input_schema, self._files()
            self._view = FormView(schema, self._given, self._start, self._as_cell, known)
        return self._view

    def __repr__(self) -> str:
        return self._mimebundle()["text/plain"]

    def _mimebundle(self) -> Bundle:
        from IPython.core.getipython import get_ipython

        return tool_bundle(self.tool, self._given, magics=get_ipython() is not None)

    def _repr_html_(self) -> str:
        return self._repr_mimebundle_()["text/html"]

    def _ipython_display_(self) -> None:
        from IPython.core.getipython import get_ipython
        from IPython.display import display

        if here()[1]:
            shell = get_ipython()
            self._show(outputs.output(shell, host.mode(shell)))
        else:
            display(self._repr_mimebundle_(), raw=True)  # type: ignore[no-untyped-call]

    def _show(self, output: SavedOutput) -> None:
        """Show three outputs: a static one for the saved notebook, the form, and an empty one for the answer."""
        gone = f"Form of {label(self.tool.name, 64)}. In a notebook that was opened again, run the cell again."
        fields = tool_bundle(self.tool, self._given)
        fold = f'<details><summary style="{SMALL}">What it takes</summary>{fields["text/html"]}</details>'
        html = f'<div role="note"><div style="{SMALL}">{escape(gone, 400)}</div>{fold}</div>'
        output.keep({"text/plain": gone, "text/html": html})
        output.show({"text/plain": "(the form)", **self.view.box._repr_mimebundle_()})
        self._below = _Below(output, secrets.token_hex(4))
        output.show({"text/plain": "", "text/html": ""}, display_id=self._below.display_id)

    def _start(self, given: dict[str, Any]) -> None:
        threading.Thread(target=self._call, args=(given,), name="agentsvc-form", daemon=True).start()

    def _call(self, given: dict[str, Any]) -> None:
        session, tool = self._session, self.tool.name
        view, below = self.view, self._below or _Below(outputs.TerminalOutput(), "")
        view.tell("")
        try:
            if self.tool.asynchronous:
                self.answer = self._follow(session, submit(session, tool, given), below)
            elif isinstance(came := invoke(session, tool, given), JobAccepted):
                self.answer = self._follow(session, accept(session, came), below)
            else:
                self.answer, shown = tool_answer(session, came)
                below.finish(shown)
            self._session.known.wrote(file.path for file in self.answer.files)
            stopped = isinstance(self.answer, JobResult) and self.answer.status == "cancelled"
            view.tell("It was cancelled." if stopped else "The answer stands below; `.answer` of the form has it.")
        except AskError as error:
            below.finish(error_bundle(str(error), error.hint))
            view.tell(str(error), wrong=True)
        except Exception as error:  # an error in a thread would go unseen
            below.finish(error_bundle(f"{type(error).__name__}: {error}", ""))
            view.tell("That went wrong; what happened stands below.", wrong=True)
        finally:
            view.sending(False)

    def _follow(self, session: Session, job: Job, below: Bar) -> JobResult:
        from agentsvc_nb.notebook.widgets.card import BarsScreen, standing

        screen = BarsScreen()
        self.view.moving.children = (screen.front,)
        below.finish(note_bundle(standing([job])))
        follower = JobFollower(session, [job], screen, notes=session.take_notes())
        screen.begin([job], follower.cancel)
        try:
            (result,) = follower.follow()
        finally:
            self.view.moving.children = ()
            screen.front.close()
        below.finish(result.shown)
        return result

    def _as_cell(self, given: dict[str, Any]) -> str:
        schema = self.tool.input_schema
        said = _without_null_defaults(given, schema, schema.get("$defs", {}))
        return cell_input.as_cell(self.tool.name, self.tool.asynchronous, said)

    def _files(self) -> list[str]:
        """Return the paths of the chat's files if the tool takes one; none if they cannot be listed."""
        if FILE_FORMAT not in str(self.tool.input_schema):
            return []
        try:
            return self._session.known.files or [file.path for file in listed(self._session)]
        except AskError:
            return []


class _Below(Bar):
    """The output below a form, already shown by its cell; each bundle replaces the one before."""

    def __init__(self, output: Output, display_id: str) -> None:
        super().__init__(output, live=True)
        self._id = self.display_id = display_id

    def finish(self, bundle: Bundle) -> None:
        self._output.update(bundle, self._id)

    def clear(self) -> None:
        pass


def _without_null_defaults(given: dict[str, Any], schema: dict[str, Any], defined: dict[str, Any]) -> dict[str, Any]:
    """Leave out what is null by default: a line for it would say nothing."""
    fields = defined.get(schema.get("$ref", "").rpartition("/")[2], schema).get("properties", {})
    said: dict[str, Any] = {}
    for name, value in given.items():
        field = fields.get(name)
        field = field if isinstance(field, dict) else {}  # a schema may be `true`
        if value is None and field.get("default", "") is None:
            continue
        said[name] = _without_null_defaults(value, field, defined) if isinstance(value, dict) else value
    return said
