"""List tools, describe the input of a tool, and call a tool."""

from __future__ import annotations

import html
from collections.abc import Mapping
from itertools import islice
from typing import Any, Final

from agentsvc_nb.client.errors import StefanBrainError, ToolResultError
from agentsvc_nb.client.models import to_dataframe
from agentsvc_nb.notebook.display import file_table
from agentsvc_nb.notebook.display.markdown import SMALL, WRAPPED, to_html
from agentsvc_nb.notebook.display.render import Bundle
from agentsvc_nb.notebook.display.results import Preview, ResultTable, Row, TableCell, WorkResult, code, grid
from agentsvc_nb.notebook.display.screens import Bar
from agentsvc_nb.notebook.errors import RunFailed, to_ask_error
from agentsvc_nb.notebook.files.workspace import make_fetcher
from agentsvc_nb.notebook.jobs import cell_input, servers
from agentsvc_nb.notebook.jobs.fields import ABOUT_CHARS, field, initial_input, rows
from agentsvc_nb.notebook.jobs.follower import JobResult, accept, follow, to_refusal_error
from agentsvc_nb.notebook.jobs.output import result_bundle
from agentsvc_nb.notebook.state.session import EMBEDDED, Session, convert_errors
from agentsvc_nb.wire.files import WorkspaceFile
from agentsvc_nb.wire.text import escape, excerpt, label, plain, worded
from agentsvc_nb.wire.tools import JobAccepted, ToolDescription, ToolResult

_FIELDS: Final = 100
_CELL_CHARS: Final = 4_000


def tools(session: Session) -> ResultTable:
    """List the service's tools, their magics and whether they are set up. Raises `AskError` if the request fails."""
    with convert_errors(session):
        found = list(session.client().tools.list())
    session.known.tools = {tool.name: tool.asynchronous for tool in found}
    bundle = tools_bundle(found)
    if session.base_url == EMBEDDED and (beside := servers.tools_bundle()):
        bundle = {kind: f"{text}\n{beside[kind]}" for kind, text in bundle.items()}
    return ResultTable(bundle, lambda: to_dataframe(ToolDescription, found))


def tools_bundle(found: list[ToolDescription]) -> Bundle:
    table: list[Row] = []
    for tool in found:
        lacks = "" if tool.available else " (not configured)"
        magic, about = "%%job" if tool.asynchronous else "%%tool", label(tool.description, ABOUT_CHARS)
        how = TableCell(f"{magic}{lacks}", f"<code>{magic}</code>{lacks}")
        table.append((code(tool.name), how, TableCell(about, worded(about, ABOUT_CHARS))))
    missing = sum(not tool.available for tool in found)
    notes = [f"{len(found)} tools" + (f", {missing} not configured" if missing else "")]
    notes.append("See the input of a tool with `%tools NAME`.")
    return grid("Tools", ("tool", "with", "what it does"), table, notes)


def tools_describe(session: Session, name: str) -> Preview:
    """Describe a tool and its input, with an example cell.

    Raises `AskError` if the tool does not exist, or the request fails.
    """
    try:
        tool = session.client().tools.describe(name)
    except StefanBrainError as error:
        raise to_refusal_error(session, error, name, jobs=False) from None
    return Preview(tool_bundle(tool))


def tool_bundle(tool: ToolDescription, given: Mapping[str, Any] = {}, *, magics: bool = True) -> Bundle:
    """Return an output with a tool's description, its input fields, and an example cell with the values `given`.

    Without `magics`, the example is a call of the client instead of a cell.
    """
    whole = field(tool.input_schema, tool.input_schema)
    fields = [*islice(rows(whole), _FIELDS)]
    needs, bounded = any(one.required for one in fields), any(one.limits for one in fields)
    columns = ("field", "type", *["required"] * needs, *["limits"] * bounded, "what it is")
    table: Bundle = grid(
        "Input",
        columns,
        [
            (
                code(one.path),
                one.words,
                *["yes" if one.required else ""] * needs,
                *[one.limits] * bounded,
                TableCell(one.about, worded(one.about, ABOUT_CHARS)),
            )
            for one in fields
        ],
    )
    write = cell_input.as_cell if magics else cell_input.as_client_call
    cell = excerpt(write(tool.name, tool.asynchronous, {**initial_input(whole), **given}), _CELL_CHARS)
    facts = ["job" if tool.asynchronous else "tool"]
    facts += [*["idempotent"] * tool.idempotent, *["acts outside the workspace"] * tool.effect]
    head = f"{label(tool.name, 64)} · {' · '.join(facts)}" + ("" if tool.available else " · not configured")
    return {
        "text/plain": "\n\n".join((head, plain(tool.description), table["text/plain"], cell)),
        "text/html": f'<div style="{SMALL}">{escape(head, 400)}</div>{to_html(tool.description)}'
        f'{table["text/html"]}<pre style="{WRAPPED};margin-top:8px">{html.escape(cell)}</pre>',
    }


class ToolAnswer(WorkResult):
    """A tool's answer, as the value of a cell: its `data`, its content blocks (`content`), and their text (`text`)."""

    def __init__(self, result: ToolResult, bundle: Bundle) -> None:
        super().__init__(bundle, (), result.chat or None)
        self.result = result
        self.data = result.data
        self.content = result.content

    @property
    def text(self) -> str:
        return "\n\n".join(str(block.get("text", "")) for block in self.content if block.get("type") == "text")

    def __repr__(self) -> str:
        return f"<ToolAnswer {label(self.result.tool, 60)}, {'failed' if self.result.is_error else 'ok'}>"


def call(
    session: Session,
    tool: str,
    given: Mapping[str, Any],
    bar: Bar,
    *,
    timeout: float | None = None,
    raise_error: bool = True,
) -> ToolAnswer | JobResult:
    """Call a tool in this notebook's chat and show its answer. If the service runs the tool as a job, follow the job.

    Raises:
        AskError: the service refused the call, or could not be reached.
        RunFailed: the tool failed. Not raised if `raise_error` is False.

    If the tool runs as a job, also raises like `follower.follow`.
    """
    came = invoke(session, tool, given)
    if isinstance(came, JobAccepted):
        return follow(session, accept(session, came), bar, timeout=timeout, raise_error=raise_error)
    answer, shown = tool_answer(session, came, why=not (came.is_error and raise_error))
    bar.finish(shown)
    if came.is_error and raise_error:
        why = f": {label(came.error.message or came.error.code, 300)}" if came.error else ""
        failure = RunFailed(
            f"Tool {label(tool, 64)} failed{why}", "Add `--no-raise-error` to continue after a failure."
        )
        failure.answer = answer
        raise failure
    return answer


def invoke(session: Session, tool: str, given: Mapping[str, Any]) -> ToolResult | JobAccepted:
    """Call a tool in this notebook's chat, and return its result or job. If the tool fails, its result says so.

    Raises `AskError` if the service refuses the call or can't be reached.
    """
    client, address = session.client(), session.address()
    try:
        came: ToolResult | JobAccepted = client.tools.invoke(tool, dict(given), **session.call_target(address))
    except ToolResultError as error:
        try:
            return ToolResult.model_validate(error.body)
        except ValueError:
            raise to_ask_error(error, session.base_url) from None
    except StefanBrainError as error:
        raise to_refusal_error(session, error, tool, jobs=False) from None
    session.remember_chat(address, came.chat or None)
    return came


def tool_answer(session: Session, result: ToolResult, *, why: bool = True) -> tuple[ToolAnswer, Bundle]:
    """Return a tool's answer as a value and as an output. With `why`, the output says why the tool failed."""
    pictured = {}
    if fetch := make_fetcher(session.client(), result.chat):
        for block in result.content[: file_table.PER_OUTPUT]:
            if block.get("type") == "image":
                path = str(block.get("path", ""))
                data = fetch(WorkspaceFile(id="", path=path))
                pictured[path] = file_table.thumbnail(data) if data else None
    notes = session.take_notes()
    return ToolAnswer(result, result_bundle(result, notes, pictured)), result_bundle(result, notes, pictured, why=why)
