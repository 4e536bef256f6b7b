"""`agentsvc mcp --stdio` with a wrong key, and without a service."""

from __future__ import annotations

from pathlib import Path

from agentsvc_nb.cli import main
from agentsvc_nb.testing import RunningService
from tests.service.api.mcp_caller import meta
from tests.service.cli.test_mcp_bridge import Process, request


def test_a_refusal_of_the_service_is_an_error_of_the_request(service: RunningService) -> None:
    process = Process(AGENTSVC_BASE_URL=service.base_url, SERVICE_API_KEY="svc_sk_wrong")
    process.send(request(1, "server/discover", _meta=meta()))
    answer = process.line()
    assert (answer["id"], answer["error"]["data"]["code"]) == (1, "unauthorized")
    assert process.close() == (0, b"")


def test_without_a_service_it_starts_the_embedded_one(tmp_path: Path) -> None:
    process = Process(AGENTSVC_DATA=str(tmp_path / "own"), AGENTSVC_BASE_URL="", SERVICE_API_KEY="")
    process.send(request(1, "tools/call", name="ask", arguments={"message": "hello"}, _meta=meta()))
    assert process.line()["result"]["structuredContent"]["status"] == "completed"
    assert process.close() == (0, b"")
    assert main(["stop", "--data", str(tmp_path / "own")]) == 0
