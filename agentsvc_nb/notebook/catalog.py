"""The catalog of tools: which there are, and what one takes."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping
from typing import Any, Final

from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.client.frames import of
from agentsvc_nb.notebook.grid import Cell, Row, code, grid
from agentsvc_nb.notebook.markdown import to_html
from agentsvc_nb.notebook.previewing import Preview
from agentsvc_nb.notebook.render import MUTED, Bundle
from agentsvc_nb.notebook.session import Session
from agentsvc_nb.notebook.table import Table
from agentsvc_nb.notebook.telling import telling
from agentsvc_nb.notebook.working import refusal
from agentsvc_nb.safe.text import escape, label, plain
from agentsvc_nb.wire.tools import ToolDescription

ABOUT_CHARS: Final = 300
_DEPTH: Final = 4
_FIELDS: Final = 100
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


def tool_bundle(tool: ToolDescription) -> Bundle:
    """A tool's description, the fields of its input, and a cell to begin from."""
    fields = list(_fields(tool.input_schema, tool.input_schema))[:_FIELDS]
    rows = [(code(path), kind, "yes" if needed else "", about) for path, kind, needed, about in fields]
    table = grid("Input", ("field", "type", "required", "what it is"), rows)
    magic = "%%job" if tool.asynchronous else "%%tool"
    first = [path for path, _, needed, _ in fields if needed] or [path for path, *_ in fields[:3]]
    cell = "\n".join([f"{magic} {label(tool.name, 64)}", *(f"{label(path)}: …" for path in first)])
    facts = [magic[2:], *["idempotent"] * tool.idempotent, *["has an effect outside"] * tool.effect]
    head = f"{label(tool.name, 64)} · {' · '.join(facts)}" + ("" if tool.available else " · not configured")
    return {
        "text/plain": "\n\n".join((head, plain(tool.description), table["text/plain"], cell)),
        "text/html": f'<div style="{MUTED}">{escape(head, 400)}</div>{to_html(tool.description)}'
        f"{table['text/html']}{_PRE}{html.escape(cell)}</pre>",
    }


def _fields(
    schema: Any, root: Mapping[str, Any], path: str = "", depth: int = 0
) -> Iterator[tuple[str, str, bool, str]]:
    """(path, type, required, about) of each leaf of a JSON Schema; what is no schema has none."""
    schema = _resolved(schema, root)
    properties = schema.get("properties")
    if not isinstance(properties, Mapping) or depth >= _DEPTH:
        return
    required = schema.get("required") if isinstance(schema.get("required"), list) else []
    for name, part in properties.items():
        part, at = _resolved(part, root), f"{path}{name}"
        if isinstance(part.get("properties"), Mapping) and depth + 1 < _DEPTH:
            yield from _fields(part, root, f"{at}.", depth + 1)
        else:
            yield at, _kind(part, root), name in required, label(part.get("description") or "", ABOUT_CHARS)


def _resolved(part: Any, root: Mapping[str, Any]) -> Mapping[str, Any]:
    if not isinstance(part, Mapping):
        return {}
    name = str(part.get("$ref", "")).removeprefix("#/$defs/")
    known = root.get("$defs")
    found = known.get(name) if name and isinstance(known, Mapping) else None
    return {**found, **part} if isinstance(found, Mapping) else part


def _kind(part: Mapping[str, Any], root: Mapping[str, Any]) -> str:
    if isinstance(part.get("enum"), list):
        return label(" | ".join(map(str, part["enum"])), 120)
    if part.get("type") == "array":
        return f"list of {_kind(_resolved(part.get('items'), root), root)}"
    options = part.get("anyOf") or part.get("oneOf")
    if isinstance(options, list):
        return label(" or ".join(_kind(_resolved(option, root), root) for option in options[:6]), 120)
    return label(part.get("const") or part.get("type") or "anything", 120)
