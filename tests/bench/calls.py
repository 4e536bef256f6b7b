"""What one call of the client costs: against the HTTP library alone, and against another typed client.

python -m tests.bench.calls [--quick]
"""

from __future__ import annotations

import sys
from typing import Any

import httpx

from agentsvc_nb import AgentService
from agentsvc_nb.testing import running_service
from agentsvc_nb.wire.routes import V1
from tests.bench import peers
from tests.bench.peer import bare_starlette
from tests.bench.peers import Work, compare, show


def main(quick: bool) -> None:
    times, rounds = (100, 3) if quick else (1_000, 9)
    with running_service() as service, AgentService(service.api_key, service.base_url) as client:
        run_id = client.runs.start("say hello", sync=True).run_id
        path = f"{V1}/runs/{run_id}"
        body = httpx.get(service.base_url + path, headers={"authorization": f"Bearer {service.api_key}"}).content
    with (
        bare_starlette(path, body) as server,
        AgentService("svc_sk_x", server.base_url) as client,
        httpx.Client() as http,
    ):
        works = {"client.runs.get": _ours(client, run_id), "httpx, read as JSON": _raw(http, server.base_url + path)}
        if peers.OPENAI:
            works["openai, get as a type of its own"] = _openai(server.base_url + V1, run_id)
        show("one call, processor time", compare(works, times, rounds))


def _ours(client: AgentService, run_id: str) -> Work:
    def work(times: int) -> None:
        for _ in range(times):
            assert client.runs.get(run_id).run_id == run_id

    return work


def _raw(http: httpx.Client, url: str) -> Work:
    def work(times: int) -> None:
        for _ in range(times):
            answer = http.get(url, headers={"authorization": "Bearer svc_sk_x"})
            answer.raise_for_status()
            assert answer.json()["object"] == "agent_run"

    return work


def _openai(base_url: str, run_id: str) -> Work:
    """Its own path is another; `get` with a type of its own reads the same record from ours."""
    import openai
    from openai.types.responses import Response

    client: Any = openai.OpenAI(api_key="x", base_url=base_url)

    def work(times: int) -> None:
        for _ in range(times):
            assert client.get(f"/runs/{run_id}", cast_to=Response).status == "completed"

    return work


if __name__ == "__main__":
    main("--quick" in sys.argv)
