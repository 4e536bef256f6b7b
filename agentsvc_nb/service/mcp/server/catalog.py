"""List the MCP server's tools: `ask`, the tools of the catalog (docs/tools.md), and tools for chats, runs and jobs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

from pydantic import BaseModel, Field

from agentsvc_nb.service.mcp.messages import Message
from agentsvc_nb.service.mcp.server import schemas
from agentsvc_nb.service.mcp.server.own_tools import OWN_TOOLS
from agentsvc_nb.service.mcp.server.results import StructuredContent
from agentsvc_nb.service.mcp.server.schemas import Schema
from agentsvc_nb.tools.catalog import AskStefanBrain, add_ask_tool
from agentsvc_nb.tools.port import CatalogEntry, Tool
from agentsvc_nb.wire.limits import ATTACHMENTS_MAX, MB, MCP_FILES_BYTES
from agentsvc_nb.wire.runs import NewRun

ASK: Final = "ask"
CHAT_ARGUMENTS: Final[dict[str, Schema]] = {
    "chat": {"type": "string", "description": "A chat's id, or `new`. Without it, the chat that all tools share."},
    "project": {"type": "string"},
    "session": {"type": "string"},
}
"""The arguments that choose the chat in which a tool works. Every tool of the catalog also accepts these arguments."""
_ASK_FIELDS: Final = (
    *("message", *CHAT_ARGUMENTS, "files_from", "output_config", "file_ids"),
    *("model", "effort", "max_steps", "max_cents"),
)
_FILES: Final = (
    f"Files to attach, each with `text` or `base64`. With `file_ids`, at most {ATTACHMENTS_MAX} files, "
    f"of at most {MCP_FILES_BYTES // MB} MB in all."
)


class SentFile(BaseModel):
    name: str = Field(min_length=1)
    text: str | None = None
    base64: str | None = None


class SentFiles(BaseModel):
    files: list[SentFile] = Field(max_length=ATTACHMENTS_MAX, description=_FILES)


def list_tools(tools: Mapping[str, Tool], *, approved: bool) -> list[Message]:
    """List the tools, always in the same order. `approved` is True if calls with an effect wait for approval."""
    catalog = (_describe(tool, approved) for tool in tools_by_name(tools).values())
    return [_describe_ask(approved), *catalog, *map(_describe_own_tool, OWN_TOOLS)]


def tools_by_name(tools: Mapping[str, Tool]) -> dict[str, CatalogEntry]:
    """Return the catalog's tools by name.

    Leave out the catalog's tool for questions, because MCP clients call `ask` instead.
    """
    return {name: one for name, one in add_ask_tool(tools).items() if name != AskStefanBrain.name}


# The schemas are cached, because pydantic takes a millisecond to build one and 200 clients may list the tools at once.


@cache
def input_schema(tool: type[BaseModel] | str) -> Schema:
    """Return the input schema of a tool. `tool` is the input model of a catalog tool, or the name of any other tool."""
    if tool == ASK:
        run = NewRun.model_json_schema()
        fields = {name: run["properties"][name] for name in _ASK_FIELDS}
        found = schemas.input_schema({**run, "properties": fields, "required": ["message"]})
        found["properties"] |= schemas.input_schema(SentFiles.model_json_schema())["properties"]
        return found
    if isinstance(tool, str):
        return schemas.input_schema(OWN_TOOLS[tool].input.model_json_schema())
    found = schemas.input_schema(tool.model_json_schema())
    # If a tool had an argument with a name in `CHAT_ARGUMENTS`, the tool's argument would take precedence. A test
    # checks that no tool has one.
    return {**found, "properties": {**CHAT_ARGUMENTS, **found.get("properties", {})}}


@cache
def _output_schema(output: type[BaseModel] | None) -> Schema:
    found = schemas.output_schema(StructuredContent, 1)
    if output is not None:
        found["properties"]["data"] = schemas.output_schema(output, 1)
    return found


@cache
def _describe_ask(approved: bool) -> Message:
    return {
        "name": ASK,
        "title": "Ask the agent",
        "description": "Ask the agent. It reads the chat's files, uses its tools, writes files, and answers with text. "
        "Long work continues as a task, or as a run that `get_run` reads.",
        "inputSchema": input_schema(ASK),
        "outputSchema": schemas.output_schema(StructuredContent, 1),
        # `ask` may have an effect, because its agent may call tools with an effect.
        "annotations": {"destructiveHint": not approved},
    }


def _describe(tool: CatalogEntry, approved: bool) -> Message:
    description = tool.description + ("" if tool.available() else " (Not configured in this service.)")
    return {
        "name": tool.name,
        "description": description + (" Each call needs a person's approval." if approved and tool.effect else ""),
        "inputSchema": input_schema(tool.Input),
        "outputSchema": _output_schema(tool.Output),
        # An effect, such as a sent email, can't be undone. A call that only costs money has no effect.
        "annotations": {"destructiveHint": tool.effect and not approved, "idempotentHint": tool.idempotent},
    }


@cache
def _describe_own_tool(name: str) -> Message:
    tool = OWN_TOOLS[name]
    return {
        "name": name,
        "description": tool.description,
        "inputSchema": input_schema(name),
        "outputSchema": schemas.output_schema(tool.output, 1 if tool.output is StructuredContent else 2),
        "annotations": {
            "readOnlyHint": tool.reads,
            "destructiveHint": not tool.reads,
            "idempotentHint": True,
            "openWorldHint": False,
        },
    }
