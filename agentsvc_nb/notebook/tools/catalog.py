"""The catalog of tools: which there are, and what one takes."""

from __future__ import annotations

import html
from collections.abc import Mapping
from itertools import islice
from typing import Any, Final

from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.client.results.frames import of
from agentsvc_nb.notebook.display.grid import Cell, Row, code, grid
from agentsvc_nb.notebook.display.markdown import to_html
from agentsvc_nb.notebook.display.render import MUTED, Bundle
from agentsvc_nb.notebook.display.results import Preview, Table
from agentsvc_nb.notebook.jobs.foreground import refusal
from agentsvc_nb.notebook.memory.session import Session
from agentsvc_nb.notebook.memory.telling import telling
from agentsvc_nb.notebook.tools import describing, writing
from agentsvc_nb.notebook.tools.fields import field
from agentsvc_nb.safe.text import escape, excerpt, label, plain
from agentsvc_nb.wire.tools import ToolDescription

ABOUT_CHARS: Final = 300
_FIELDS: Final = 100
_CELL_CHARS: Final = 4_000
_PRE: Final = '<pre style="white-space:pre-wrap">'


def tools(session: Session) -> Table:
    """The service's tools: how each is called, and whether it has what it needs. Raises `AskError`."""
    with telling(session):
        found = list(session.client().tools.list())
    session.known.tools = {tool.name: tool.asynchronous for tool in found}
    return Table(tools_bundle(found), lambda: of(ToolDescription, found))


def tools_bundle(found: list[ToolDescription]) -> Bundle:
    """The catalog as a table."""
    missing = sum(not tool.available for tool in found)
    notes = [f"{len(found)} tools" + (f", {missing} without what they need" if missing else "")]
    notes.append("`%tools NAME` says what one takes.")
    return grid("Tools", ("tool", "with", "what it does"), [_catalog_row(tool) for tool in found], notes)


def _catalog_row(tool: ToolDescription) -> Row:
    lacks = "" if tool.available else " (not configured)"
    about = label(tool.description, ABOUT_CHARS)
    return (
        code(tool.name),
        Cell(("%%job" if tool.asynchronous else "%%tool") + lacks),
        Cell(about, escape(about, ABOUT_CHARS)),
    )


def tools_describe(session: Session, name: str) -> Preview:
    """What a tool does and takes, with a cell to begin from. Raises `AskError`."""
    try:
        tool = session.client().tools.describe(name)
    except StefanBrainError as error:
        raise refusal(session, error, jobs=False) from None
    return Preview(tool_bundle(tool))


def tool_bundle(tool: ToolDescription, given: Mapping[str, Any] = {}, *, magics: bool = True) -> Bundle:
    """A tool's description, the fields of its input, and a cell to begin from, with what is given filled in.

    Without `magics` it is a call of the client.
    """
    whole = field(tool.input_schema, tool.input_schema)
    fields = [*islice(describing.lines(whole), _FIELDS)]
    rows = [(code(path), kind, "yes" if needed else "", about) for path, kind, needed, about in fields]
    table = grid("Input", ("field", "type", "required", "what it is"), rows)
    write = writing.cell if magics else writing.call
    cell = excerpt(write(tool.name, tool.asynchronous, {**describing.beginning(whole), **given}), _CELL_CHARS)
    facts = ["job" if tool.asynchronous else "tool"]
    facts += [*["idempotent"] * tool.idempotent, *["has an effect outside"] * tool.effect]
    head = f"{label(tool.name, 64)} · {' · '.join(facts)}" + ("" if tool.available else " · not configured")
    return {
        "text/plain": "\n\n".join((head, plain(tool.description), table["text/plain"], cell)),
        "text/html": f'<div style="{MUTED}">{escape(head, 400)}</div>{to_html(tool.description)}'
        f"{table['text/html']}{_PRE}{html.escape(cell)}</pre>",
    }
