"""Tools that the conformance suite of MCP calls by name. Those that are tasks are scripted runs like any other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from agentsvc_nb.service.http.context import RequestContext
from agentsvc_nb.service.mcp.messages import Message
from agentsvc_nb.service.mcp.server.catalog import ASK
from agentsvc_nb.service.mcp.server.methods import Answer, McpServer
from agentsvc_nb.service.mcp.server.protocol import (
    HEADER_MISMATCH,
    Fault,
    McpRequest,
    decode_header,
    missing_capability,
)

_SCRIPTS: Final = {
    "slow_compute": "wait {seconds}\nanswer computed {label}",
    "failing_job": "wait 1\nfail upstream_failed It was told to fail.",
    "protocol_error_job": "fail internal_error It was told to break.",
    "confirm_delete": "call echo_job {{}}\nanswer deleted",
    "multi_input": 'together [["echo_job", {{}}], ["echo_job", {{"steps": 2}}]]\nanswer both',
}
"""The script of each tool that is a task."""
_ONLY_TASKS: Final = frozenset({"failing_job"})
_SAID: Final = {
    "test_simple_text": "This is a simple text response for testing.",
    "test_error_handling": "This tool intentionally returns an error for testing",
    "test_logging_tool": "done, without a word in any log",
    "test_streaming_elicitation": "done",
}
_OTHERS: Final = ("greet", "test_missing_capability", "test_x_mcp_header")
_SCHEMAS: Final[dict[str, Message]] = {
    "greet": {"name": {"type": "string"}},
    "slow_compute": {"seconds": {"type": "number", "minimum": 0}, "label": {"type": "string"}},
    "confirm_delete": {"filename": {"type": "string"}},
    "test_x_mcp_header": {"region": {"type": "string", "x-mcp-header": "Region"}},
}
"""The properties of tools that take any."""


class FixtureServer(McpServer):
    """The service's MCP server, which also has what the suite calls."""

    def __init__(self) -> None:
        super().__init__()
        self.modern["prompts/list"] = _no_prompts

    def capabilities(self, request: McpRequest) -> Message:
        return {**super().capabilities(request), "prompts": {}}

    async def list_tools(self, context: RequestContext, request: McpRequest) -> Message:
        found = await super().list_tools(context, request)
        listed = [
            {
                "name": name,
                "description": "For tests.",
                "inputSchema": {"type": "object", "properties": _SCHEMAS.get(name, {})},
            }
            for name in sorted([*_SAID, *_SCRIPTS, *_OTHERS])
        ]
        return {**found, "tools": [*found["tools"], *listed]}

    async def call_tool(self, context: RequestContext, request: McpRequest) -> Answer:
        name, given = request.get_text("name"), request.get_object("arguments")
        if name in _SCRIPTS:
            if name in _ONLY_TASKS:
                request.require_tasks()
            script = _SCRIPTS[name].format(**{"seconds": 0, "label": "", **given})
            asked = replace(request, params={"name": ASK, "arguments": {"message": script}})
            return await super().call_tool(context, asked)
        said = _SAID.get(name) or _said(context, request, name, given)
        if said is None:
            return await super().call_tool(context, request)
        return {"content": [{"type": "text", "text": said}], "isError": name == "test_error_handling"}


async def _no_prompts(context: RequestContext, request: McpRequest) -> Message:
    return {"prompts": [], "ttlMs": 60_000, "cacheScope": "public"}


def _said(context: RequestContext, request: McpRequest, name: str, given: Mapping[str, Any]) -> str | None:
    if name == "greet":
        return f"Hello, {given.get('name')}!"
    if name == "test_missing_capability":
        if "sampling" not in request.capabilities:
            raise missing_capability({"sampling": {}})
        return "sampling is there"
    if name == "test_x_mcp_header":
        sent, region = context.request.headers.get("mcp-param-region"), given.get("region")
        if (None if sent is None else decode_header(sent) or "") != region:
            raise Fault(HEADER_MISMATCH, "`Mcp-Param-Region` does not say what the argument says.", status=400)
        return str(region)
    return None
