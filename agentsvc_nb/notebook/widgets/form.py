"""A form for the input of a tool.

`FormPlanner` converts the tool's JSON Schema to a plan: a nested dict that says which inputs the page (`front/form.js`)
shows. The page sends the input back as one JSON text, so that numbers keep all digits. Schemas are not trusted: their
texts are used only as labels, and `form_errors` validates the input in a child process.
"""

from __future__ import annotations

import functools
import json
import math
import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from agentsvc_nb.client.cards import Displayable
from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.documents.schemas import Path, form_errors
from agentsvc_nb.notebook import host
from agentsvc_nb.notebook.display.render import Bundle, error_bundle, note_bundle, percent, stack
from agentsvc_nb.notebook.display.screens import SavedOutput
from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.notebook.files.workspace import list_files
from agentsvc_nb.notebook.host import here
from agentsvc_nb.notebook.jobs import cell_input
from agentsvc_nb.notebook.jobs.fields import FILE_FORMAT, MISSING, Field, field, is_same_json
from agentsvc_nb.notebook.jobs.follower import JobFollower, JobResult, JobScreen, accept, submit, to_refusal_error
from agentsvc_nb.notebook.jobs.output import job_amounts, job_state
from agentsvc_nb.notebook.jobs.tools import ToolAnswer, invoke, tool_answer, tool_bundle
from agentsvc_nb.notebook.state.session import Session
from agentsvc_nb.notebook.widgets import outputs
from agentsvc_nb.wire.reading import read_json
from agentsvc_nb.wire.text import label, plain
from agentsvc_nb.wire.tools import Job, JobAccepted, ToolDescription, ToolResult

if TYPE_CHECKING:
    from agentsvc_nb.notebook.widgets.front import Front

Node = dict[str, Any]
"""The plan of one field: the `kind` of input, its label and value, and the JSON that is sent if the input is empty."""

DEPTH_MAX: Final = 6
FIELDS_MAX: Final = 300
ITEMS_MAX: Final = 100
PROBLEMS_MAX: Final = 50
_HINTS: Final = {"file": "path of a file in the chat"}
_BLANKS: Final[dict[str, Any]] = {
    "line": "",
    "lines": "",
    "file": "",
    "list": [],
    "checks": [],
    "object": {},
    "rows": {},
}
_COMPOUND: Final = ("object", "array", "variants", "json")
_LIMITS: Final = ("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems")


class FormPlanner:
    """Plans at most 300 inputs for a schema, nested at most 6 levels deep. Users edit other fields as JSON."""

    def __init__(self) -> None:
        self._left = FIELDS_MAX

    def plan_field(self, of: Field, start: Any = MISSING, depth: int = 0) -> tuple[Node, Any]:
        """Return the plan of a field, and the value that is sent until the user changes it (MISSING for none)."""
        start = of.default if start is MISSING else start
        null_is_default = of.default is None and not of.required
        value = MISSING if start is None and (of.nullable or null_is_default) else start
        self._left -= 1 + len(of.properties()) * (of.kind == "object")
        can_be_empty = of.nullable or (not of.required and value is MISSING)
        kind = _input_kind(of, value, can_be_empty) if depth <= DEPTH_MAX and self._left >= 0 else "json"
        empty = _empty_value(of, kind, start)
        node: Node = {
            "kind": kind,
            "name": of.name,
            "title": of.title if of.name or depth else "",
            "about": of.about,
            "rule": of.limits if of.name and kind != "lines" else "",
            "required": of.required and bool(of.name),
            "empty": None if empty is MISSING else json.dumps(empty),
            "example": _HINTS.get(kind, ""),
        }
        match of.schema.get("examples"):
            case [str(example), *_]:
                node["example"] = label(example, 80)
        match kind:
            case "object":
                given = {} if value is MISSING else value
                planned = [
                    (one.name, *self.plan_field(one, given.get(one.name, MISSING), depth + 1))
                    for one in of.properties()
                ]
                node["fields"] = [part for _, part, _ in planned]
                return node, {name: each for name, _, each in planned if each is not MISSING} or empty
            case "list" | "rows":
                item = (kind == "rows" and of.additional()) or of.item()
                pairs = [] if value is MISSING else value.items() if kind == "rows" else [("", one) for one in value]
                planned = [(name, *self.plan_field(item, one, depth + 1)) for name, one in pairs]
                node["items"] = [[name, part] for name, part, _ in planned]
                node["item"] = self.plan_field(item, MISSING, depth + 1)[0]
                node["most"] = ITEMS_MAX
                if value is not MISSING:
                    value = {name: one for name, _, one in planned} if kind == "rows" else [one for *_, one in planned]
            case "choice" | "checks":
                options = [(name, one) for name, one in of.options if one is not None or not null_is_default]
                chosen = value if isinstance(value, list) and kind == "checks" else [] if value is MISSING else [value]
                node["options"] = [[name, json.dumps(one)] for name, one in options]
                node["on"] = [
                    at for at, (_, one) in enumerate(options) if any(is_same_json(one, each) for each in chosen)
                ]
            case "switch" | "fixed" if value is MISSING:
                value = of.schema.get("const") if kind == "fixed" else False
        is_text = value is MISSING or kind in ("line", "lines", "file")
        node["text"] = (
            ("" if value is MISSING else value) if is_text else json.dumps(value, indent=2, ensure_ascii=False)
        )
        return node, empty if value is MISSING else value


def _input_kind(of: Field, value: Any, can_be_empty: bool) -> str:
    """Return the kind of input for a field. It is `json` if no other kind could show the value without changing it."""
    absent = value is MISSING
    match of.kind:
        case "text" | "file" if absent or (isinstance(value, str) and plain(value) == value):
            lines = of.is_long or (not absent and "\n" in value)
            return "file" if of.kind == "file" else "lines" if lines else "line"
        case "number" | "integer" if absent or (type(value) in (int, float) and math.isfinite(value)):
            return "number"
        case "flag" if absent or isinstance(value, bool):
            return "choice" if can_be_empty else "switch"
        case "const" if absent or is_same_json(value, of.schema["const"]):
            return "choice" if can_be_empty else "fixed"
        case "choice" if absent or any(is_same_json(value, one) for _, one in of.options):
            return "choice"
        case "choices" if absent or is_same_json([one for _, one in of.options if one in value], value):
            return "checks"
        case "array" if absent or (isinstance(value, list) and len(value) <= ITEMS_MAX):
            return "list"
        case "object" if absent or isinstance(value, dict):
            known = of.properties()
            if not known and of.additional():
                rows = absent or (len(value) <= ITEMS_MAX and all(name and plain(name) == name for name in value))
                return "rows" if rows else "json"
            # Only show inputs for an optional object if the object is left out when they are all empty.
            simple = all(not one.required and one.kind not in _COMPOUND for one in known)
            if (absent or {one.name for one in known} >= value.keys()) and not of.nullable and (of.required or simple):
                return "object"
    return "json"


def _empty_value(of: Field, kind: str, start: Any) -> Any:
    """Return the value that an empty input sends. Return MISSING if the field is then left out."""
    blank = _BLANKS.get(kind, MISSING)
    if blank is not MISSING and start == blank:
        return blank
    if of.nullable and (of.required or (of.default is not None and (start is None or of.default is not MISSING))):
        return None
    kept = of.default not in (MISSING, None) or (of.required and not isinstance(blank, str))
    return blank if kept else MISSING


def field_errors(schema: Mapping[str, Any], value: Any) -> dict[Path, str]:
    """Return the first error of each invalid field, for about 50 fields at most.

    Raises `ValueError` if the schema is not valid, or the validation takes too long.
    """
    found: dict[Path, str] = {}
    left = form_errors(schema, value)
    while left and len(found) < PROBLEMS_MAX:
        error = left.pop(0)
        # If the schema has alternatives (usually a value or null), report the errors of those with the type of the
        # value.
        fitting = [
            one for one in error.alternatives if all(each.path != error.path or each.keyword != "type" for each in one)
        ]
        if fitting:
            left[:0] = fitting[0]
            continue
        path, said = error.path, label(error.message, 300)
        if error.missing is not None:
            path, said = (*path, error.missing), "This is required."
        elif error.is_blank:
            said = "This must not be empty."
        elif error.keyword == "pattern":  # users rarely understand regular expressions
            said = f"{said.partition(' does not match ')[0]} does not match the expected format."
        elif error.keyword in ("anyOf", "oneOf"):
            said = "This matches none of the allowed forms, or more than one."
        elif error.keyword in _LIMITS:  # the message is, for example, "0 is less than the minimum of 1"
            bound = said.rpartition(" than ")[2].removeprefix("the minimum of ").removeprefix("the maximum of ")
            said = f"{'At least' if error.keyword.startswith('min') else 'At most'} {bound}."
        found.setdefault(path, said)
    return found


def _format_path(path: Path) -> str:
    """Return a path in the form that users write, such as `outputs.count` or `sizes[0]`."""
    keys = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path)
    return label(keys.removeprefix("."), 120)


class ToolForm(Displayable):
    """A form for the input of a tool. Fill it in and press the button. The answer appears below the form and in
    `form.answer`.

    In a terminal, a script, nbconvert and on GitHub, a description of the fields and an example call are shown instead.

    Args:
        tool: the tool's name.
        given: initial values. Other fields start with the tool's defaults.
        session: by default the session of the notebook.

    Raises:
        AskError: the tool does not exist, or the service can't be reached.

    Example:
        form = ToolForm("create_images", {"request": {"brief": "Headline: Autumn sale"}})
        form            # shows it
        form.value      # the current input
        form.answer     # the answer to the last call
    """

    def __init__(
        self, tool: str | ToolDescription, given: Mapping[str, Any] | None = None, *, session: Session | None = None
    ) -> None:
        self._session = session or here()[0]
        try:
            self.tool = tool if isinstance(tool, ToolDescription) else self._session.client().tools.describe(tool)
        except StefanBrainError as error:
            raise to_refusal_error(self._session, error, str(tool), jobs=False) from None
        self.answer: ToolAnswer | JobResult | None = None
        self._given = dict(given or {})
        self._plan, self._value = self._make_plan(self._given or MISSING)
        self._unreadable: dict[Path, str] = {}
        self._fault = ""
        self._calling = threading.Lock()
        self._saved: tuple[SavedOutput, str] | None = None

    @property
    def value(self) -> dict[str, Any]:
        """The input as it is currently filled in."""
        value: dict[str, Any] = self._value
        return value

    @property
    def problems(self) -> dict[str, str]:
        """The error of each invalid field, by its path (`outputs.count`, `sizes[0]`). Empty if the input is valid."""
        return {_format_path(path): said for path, said in self._errors()}

    def _errors(self) -> list[tuple[Path, str]]:
        """Return each invalid field's first error.

        If the form can't use the schema, it leaves the check of the input to the service.
        """
        found: dict[Path, str] = (
            {} if isinstance(self._value, dict) else {(): "The input of a tool must be a JSON object."}
        )
        try:
            found = {} if self._fault else field_errors(self.tool.input_schema, self._value) | found
        except (ValueError, TypeError, RecursionError) as error:  # an invalid schema or input
            self._fault = f"The form can't check the input (the schema {label(error, 100)}). The service checks it."
        return [*(found | self._unreadable).items()]

    @property
    def cell(self) -> str:
        """The text of a cell that sends the same input."""
        return cell_input.as_cell(self.tool.name, self.tool.asynchronous, self.value)

    def __repr__(self) -> str:
        return self._mimebundle()["text/plain"]

    def _mimebundle(self) -> Bundle:
        from IPython.core.getipython import get_ipython

        return tool_bundle(self.tool, self._given, magics=get_ipython() is not None)

    def _summary(self) -> Bundle:
        name = label(self.tool.name, 64)
        return outputs.fallback(f"A form for {name}.", f"`agentsvc_nb.ToolForm({name!r})`", self._mimebundle())

    def _ipython_display_(self) -> None:
        """Show two outputs: a static one for the saved notebook, to which answers are added, and the form."""
        from IPython.core.getipython import get_ipython
        from IPython.display import display

        if not here()[1]:
            display(self._repr_mimebundle_(), raw=True)  # type: ignore[no-untyped-call]
            return
        shell = get_ipython()
        output, place = outputs.output(shell, host.mode(shell)), secrets.token_hex(4)
        output.keep(self._summary(), display_id=place)
        data, metadata = self.front._repr_mimebundle_()
        output.show({**data, "text/plain": ""}, metadata=metadata)
        self._saved = output, place

    def _display_(self) -> Any:
        """Return both outputs. marimo calls this."""
        import marimo

        return marimo.vstack([marimo.Html(self._summary()["text/html"]), self.front])

    @functools.cached_property
    def front(self) -> Front:
        """The widget that shows this form."""
        from agentsvc_nb.notebook.widgets.front import Front

        front, tool = Front("form"), self.tool
        front.on("change", lambda content, _: self._change(content))
        front.on("send", lambda content, _: self._send(content))
        front.on("cell", lambda content, _: front.change({"cell": {"source": self.cell, "asked": content["asked"]}}))
        facts = ["runs as a job"] * tool.asynchronous + ["acts outside the workspace"] * tool.effect
        facts += ["not configured on this service"] * (not tool.available)
        press = "Create" if tool.asynchronous else "Run"
        head = {"title": label(tool.name, 64), "press": press, "facts": " · ".join(facts)}
        front.remember({"head": head, "files": self._files(), "plan": self._plan, "errors": self._errors()})
        return front

    def _make_plan(self, start: Any) -> tuple[Node, Any]:
        schema = self.tool.input_schema
        root, value = FormPlanner().plan_field(field(schema, schema), start)
        match root.get("fields"):
            case [{"kind": "object"} as only]:
                only["title"] = ""  # a frame around the only field would be useless
        return root, {} if value is MISSING else value

    def _files(self) -> list[str]:
        """Return the paths of the chat's files if the tool has a field for a path.

        Return no paths if it has none, or the files can't be listed.
        """
        if FILE_FORMAT not in str(self.tool.input_schema):
            return []
        try:
            found = self._session.known.files or [file.path for file in list_files(self._session)]
        except AskError:
            return []
        return [path for path in found if plain(path) == path]

    def _change(self, content: Mapping[str, Any]) -> None:
        self._unreadable = {tuple(path): str(said) for path, said in content["unreadable"]}
        try:
            self._value = read_json(content["text"])
        except ValueError as error:  # such as a number with thousands of digits
            self._unreadable[()] = f"The input can't be read: {error}."
        else:
            self.front.remember({"plan": self._make_plan(self._value)[0]})  # for a page that is reloaded
        errors = self._errors()
        self.front.change({"errors": errors, **({} if errors else {"status": {"text": self._fault}})})

    def _send(self, content: Mapping[str, Any]) -> None:
        self._change(content)
        wrong = [f"{path}: {said}" if path else said for path, said in self.problems.items()]
        if wrong:
            said = wrong[0] if len(wrong) == 1 else f"Correct the {len(wrong)} marked fields. The first: {wrong[0]}"
            self.front.change({"status": {"text": f"Nothing was sent. {said}", "wrong": True}})
        elif self._calling.acquire(blocking=False):
            threading.Thread(target=self._call, args=(self.value,), name="agentsvc-form", daemon=True).start()

    def _call(self, given: dict[str, Any]) -> None:
        """Call the tool and show its answer. This runs in a separate thread."""
        session, tool = self._session, self.tool.name
        self.front.change({"busy": True, "status": None})
        try:
            came = submit(session, tool, given) if self.tool.asynchronous else invoke(session, tool, given)
            if isinstance(came, ToolResult):
                self.answer, bundle = tool_answer(session, came)
            else:
                self.answer = self._follow(accept(session, came) if isinstance(came, JobAccepted) else came)
                bundle = self.answer.shown
            session.known.add_files(file.path for file in self.answer.files)
            self._show(bundle)
        except AskError as error:
            self._show(error_bundle(str(error), error.hint))
        except Exception as error:  # no other code would handle an exception in this thread
            self._show(error_bundle(f"{type(error).__name__}: {error}", ""))
        finally:
            self._calling.release()
            self.front.change({"busy": None, "job": None})

    def _follow(self, job: Job) -> JobResult:
        self._save(note_bundle(f"A job was started. Show its result with `%jobs show {label(job.job_id, 64)}`."))
        screen = _FormScreen(self.front)
        follower = JobFollower(self._session, [job], screen)
        screen.begin([job], follower.cancel)
        (result,) = follower.follow()
        return result

    def _show(self, bundle: Bundle) -> None:
        """Show an answer below the form, and add it to the output for the saved notebook."""
        self.front.change({"answer": bundle["text/html"]})
        self._save(bundle)

    def _save(self, bundle: Bundle) -> None:
        if self._saved:
            output, place = self._saved
            output.update(stack([self._summary(), bundle]), place)


class _FormScreen(JobScreen):
    """Shows the progress of a job that the form has started."""

    def __init__(self, front: Front) -> None:
        self._front = front

    def begin(self, jobs: Sequence[Job], cancel: Callable[[str], object]) -> None:
        self._front.on("cancel", lambda *_: cancel(jobs[0].job_id))
        self.draw(jobs, {}, 0.0)

    def draw(self, jobs: Sequence[Job], results: Mapping[str, JobResult], elapsed: float) -> None:
        (job,) = jobs
        done = percent(job.progress.done, job.progress.total) if job.progress else ""
        self._front.change({"job": {"text": " · ".join([job_state(job), *job_amounts(job, elapsed)]), "done": done}})
