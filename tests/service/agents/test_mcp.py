"""A language model is offered the tools of other servers, and calls them (docs/mcp.md), on the wire."""

from __future__ import annotations

import json

from tests.service.agents.serving import Serving, language_service, loading
from tests.support.tool_server import tool_server
from tests.support.waiting import until
from tests.unit.agents.chat_server import Reply

DONE = Reply(("Done.",))


def calling(tool: str) -> Reply:
    return Reply(calls=((tool, json.dumps({"text": "x"})),))


def _approve_all(it: Serving, run_id: str) -> None:
    def of(kind: str) -> list[str]:
        return [event.payload["call_id"] for event in it.client.runs.events(run_id).data if event.type == kind]

    until(lambda: of("approval.requested"))
    it.client.runs.approve(run_id, of("approval.requested")[0])


def test_a_model_is_offered_them_and_what_they_changed_is_read_anew() -> None:
    with tool_server() as server:
        settings = {
            "mcp_servers": f"small={server.url}",
            "mcp_trusted": "small",
            "mcp_allow": server.authority,
        }
        look, stamp = calling("small_look"), calling("small_stamp")
        with language_service(loading("small"), look, stamp, look, DONE, **settings) as it:
            run_id = it.client.runs.start("Stamp it.").run_id
            _approve_all(it, run_id)
            run = it.client.runs.wait(run_id, poll=0.05, timeout=60)
            assert run.output == "Done."
            assert server.calls() == ["look x", "stamp x", "look x"]
            assert "small (small_read, small_look, " in it.server.asked[0]["messages"][0]["content"]
            offered = {tool["function"]["name"]: tool["function"] for tool in it.server.asked[1]["tools"]}
            assert offered["small_look"]["description"].startswith("(of the MCP server small) Reads")
            assert offered["small_look"]["parameters"]["properties"] == {"text": {"type": "string"}}
            results = [message["content"] for message in it.last() if message["role"] == "tool"]
            assert results[1:] == ["look is done", "stamp is done", "look is done"]
