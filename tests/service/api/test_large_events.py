"""However much a run says, calls or gets, every reader reads it to its end."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.client.events import RunEvent
from agentsvc_nb.service import payloads
from agentsvc_nb.wire.limits import (
    DELTA_CHARS,
    EVENT_PAGE_BYTES,
    EVENT_PAYLOAD_BYTES,
    OUTPUT_BYTES,
)
from agentsvc_nb.wire.runs import Run
from tests.service.api.conftest import Wire
from tests.service.api.service_fixture import CAREFUL, ServiceFixture
from tests.service.api.test_events import stream
from tests.support.waiting import until

WIDE: Final = "SELECT " + ", ".join(f"repeat('x', 500) AS c{n}" for n in range(200)) + " FROM range(200)"


def call(tool: str, **given: Any) -> str:
    return f"call {tool} {json.dumps(given)}"


def ended(client: AgentService, message: str, **options: Any) -> Run:
    return client.runs.wait(client.runs.start(message, **options).run_id, poll=0.05, timeout=120)


def read_by_all(client: AgentService, run: Run) -> list[RunEvent]:
    """The events of a run as pages and as a stream have them, which are the same; none is larger than may be."""
    pages = list(client.runs.iterate_events(run.run_id))
    with client.runs.attach(run.run_id) as following:
        streamed = list(following)
    assert streamed[:-1] == pages[:-1]
    assert [event.id for event in pages] == list(range(1, len(pages) + 1))
    assert all(payloads.size(event.payload) <= EVENT_PAYLOAD_BYTES for event in pages)
    return pages


def whole(client: AgentService, run: Run, payload: dict[str, Any]) -> dict[str, Any]:
    """What the payload names, which is in the chat and not found by a search."""
    assert payload["truncated"] is True
    assert run.chat is not None
    path = payload["whole_path"]
    assert path in [file.path for file in client.files.list(run.chat).all()]
    assert [found.path for found in client.files.search(path.rpartition("/")[2][:20], chat=run.chat).results] == []
    found: dict[str, Any] = json.loads(client.files.head(path, 100_000_000, chat=run.chat))
    return found


def only(events: list[RunEvent], kind: str) -> dict[str, Any]:
    (payload,) = [event.payload for event in events if event.type == kind]
    return payload


@pytest.mark.rule("A payload over 256 kB is shortened, and `whole_path` names the complete file.")
def test_a_large_result_of_a_tool_is_shortened_and_kept(client: AgentService) -> None:
    run = ended(client, f"write t.csv a,b\n{call('query_tables', sql=WIDE)}\nsay done")
    assert (run.status, run.output) == ("completed", "done")
    result = only(read_by_all(client, run), "tool.result")
    kept = whole(client, run, result)
    assert (kept["call_id"], kept["tool"], kept["is_error"]) == (result["call_id"], "query_tables", False)
    assert kept["content"][0]["text"].startswith("| c0 | c1 |")
    assert kept["content"][0]["text"].startswith(result["content"][0]["text"].removesuffix(payloads.SHORTENED))


def test_a_long_text_comes_in_pieces_and_its_end_has_all_of_it(client: AgentService, wire: Wire) -> None:
    text = "\U0001f600" * (OUTPUT_BYTES // 4 - 1)
    with client.runs.start_and_stream(f"say {text}") as following:
        assert list(following)[-1].payload["run"]["output"] == text, "who follows gets the whole record"
    streamed = stream(wire, following.run_id)
    said = [event["payload"]["text"] for event in streamed if event["type"] == "text.delta"]
    assert "".join(said) == text + "\n"
    assert max(map(len, said)) <= DELTA_CHARS
    last = streamed[-1]["payload"]
    assert last["truncated"] is True
    assert text.startswith(last["run"]["output"].removesuffix(payloads.SHORTENED))
    assert {**last["run"], "output": text} == wire("GET", f"/runs/{following.run_id}").json()


def test_a_page_ends_before_it_is_too_large(client: AgentService, wire: Wire) -> None:
    run = ended(client, "\n".join(f"progress {n} 100 {'m' * 250_000}" for n in range(8)))
    found: list[dict[str, Any]] = []
    more, pages = True, 0
    while more:
        after = found[-1]["id"] if found else 0
        answer = wire("GET", f"/runs/{run.run_id}/events", params={"after": after, "limit": 1000})
        page = answer.json()
        assert len(answer.content) <= EVENT_PAGE_BYTES + 20_000
        found, more, pages = found + page["data"], page["has_more"], pages + 1
    assert pages > 2
    assert found == stream(wire, run.run_id)
    assert found[-1]["type"] == "run.ended"


@pytest.fixture
def asking(stage: ServiceFixture) -> Iterator[AgentService]:
    service = stage.other(**CAREFUL)
    with AgentService(service.api_key, service.base_url) as client:
        yield client


def test_nobody_is_asked_to_approve_what_is_not_shown_whole(asking: AgentService) -> None:
    small, large = ({"path.txt": "x" * count} for count in (100_000, 400_000))
    run = ended(asking, f"{call('echo_job', files=large)}\nsay done")
    events = read_by_all(asking, run)
    result = only(events, "tool.result")
    assert (run.status, result["is_error"]) == ("completed", True)
    assert not [event for event in events if event.type in ("approval.requested", "job.submitted")]

    run = asking.runs.start(f"{call('echo_job', files=small)}\nsay done")
    requested = until(
        lambda: [event for event in asking.runs.events(run.run_id).data if event.type == "approval.requested"]
    )
    assert requested[0].payload["input"] == {"files": small}
    asking.runs.refuse(run.run_id, requested[0].payload["call_id"])
    assert asking.runs.wait(run.run_id, poll=0.05).status == "completed"
