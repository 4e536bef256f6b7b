"""Each operation: the bytes it sends, and what it makes of the answer."""

from __future__ import annotations

import gzip
import inspect
import io
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from agentsvc_nb.client.api import AgentService, AsyncAgentService
from agentsvc_nb.client.approvals import waiting_calls
from agentsvc_nb.client.errors import APIConnectionError, JobFailedError, JobTimeoutError, StefanBrainError
from agentsvc_nb.client.faces import Pages
from agentsvc_nb.client.options import WaitNotice
from agentsvc_nb.client.uploads import FileInput
from tests.unit.client.conftest import KEY, RUN_ID, Network, answer, failure, run
from tests.unit.client.cutting import events, frames

Networks = Callable[..., Network]


def part_names(request: httpx.Request) -> list[tuple[str, str]]:
    return re.findall(r'name="(\w+)"; filename="([^"]*)"', request.content.decode("utf-8", "replace"))


# -- runs ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sync", "timeout", "allowed"), [(False, None, 60), (True, None, 130), (True, 5, 5), (False, 7, 7)]
)
def test_how_long_a_start_may_take(network: Networks, sync: bool, timeout: float | None, allowed: float) -> None:
    net = network(answer(202, run()))
    net.client.runs.start("hello", sync=sync, timeout=timeout)
    assert net.requests[0].extensions["timeout"]["read"] == allowed


def test_attachments_go_as_multipart_and_are_opened_anew_for_a_retry(network: Networks, tmp_path: Path) -> None:
    (tmp_path / "plan.md").write_bytes(b"# Plan\r\n")
    net = network(httpx.ReadError("reset"), answer(202, run()))
    with (tmp_path / "plan.md").open("rb") as opened:
        attached: list[FileInput] = [
            str(tmp_path / "plan.md"),
            ("a/b.txt", b"bytes"),
            ("c.bin", io.BytesIO(b"io")),
            opened,
        ]
        net.client.runs.start("hello", files=attached, idempotency_key="k")
    for request in net.requests:
        assert part_names(request) == [("files", name) for name in ("plan.md", "b.txt", "c.bin", "plan.md")]
        assert b'name="payload"\r\n\r\n{"message":"hello"}' in request.content
        assert request.content.count(b"# Plan\r\n") == 2
        assert request.headers["content-length"] == str(len(request.content))


def test_a_pipe_is_sent_once_and_whole(network: Networks) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"from a pipe")
    os.close(writing)
    net = network(httpx.ReadError("reset"))
    with os.fdopen(reading, "rb") as pipe, pytest.raises(APIConnectionError):
        net.client.files.upload(("p.txt", pipe))
    assert b"from a pipe" in net.requests[0].content


def test_a_gzip_file_is_sent_as_it_reads(network: Networks, tmp_path: Path) -> None:
    """Its size on disk is not what it gives to read."""
    with gzip.open(tmp_path / "x.gz", "wb") as file:
        file.write(b"unpacked " * 100)
    net = network(answer(200, {"files": []}))
    with gzip.open(tmp_path / "x.gz", "rb") as opened:
        net.client.files.upload(("x.txt", opened))  # type: ignore[arg-type]
    assert b"unpacked " * 100 in net.requests[0].content
    assert net.requests[0].headers["content-length"] == str(len(net.requests[0].content))


@pytest.mark.parametrize("wrong", [("x.txt", "text"), io.StringIO("text"), 7])
def test_what_is_no_file_is_refused(network: Networks, wrong: Any) -> None:
    with pytest.raises(TypeError, match="opened with 'rb'"):
        network().client.files.upload(wrong)


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"message": ""}, "message_required"),
        ({"message": " \n"}, "message_required"),
        ({"message": "x", "idempotency_key": "a b"}, "invalid_idempotency_key"),
        ({"message": "x", "idempotency_key": "k" * 129}, "invalid_idempotency_key"),
        ({"message": "x", "files": [("a", b"")] * 6, "file_ids": ["upload_1"] * 5}, "too_many_attachments"),
    ],
)
def test_what_cannot_work_is_refused_before_it_is_sent(network: Networks, given: dict[str, Any], code: str) -> None:
    net = network()
    with pytest.raises(StefanBrainError) as caught:
        net.client.runs.start(**given)
    assert (caught.value.code, caught.value.status, net.requests) == (code, None, [])


def streamed(*given: dict[str, Any]) -> httpx.Response:
    return httpx.Response(200, content=iter([frames(list(given))]), headers={"content-type": "text/event-stream"})


@pytest.mark.parametrize("end", ["completed", "failed", "cancelled"])
def test_wait_reads_at_once_and_follows_the_events(network: Networks, end: str) -> None:
    net = network(answer(200, run(end)))
    assert net.client.runs.wait(RUN_ID).status == end
    ended = {"id": 2, "type": "run.ended", "created_at": "", "payload": {"run": run(end, output="so far")}}
    net = network(answer(200, run("queued")), streamed(*events(2)[:1], ended))
    told: list[WaitNotice] = []
    assert net.client.with_options(on_wait=told.append).runs.wait(RUN_ID).output == "so far"
    assert (net.slept, told) == ([], [WaitNotice("run", RUN_ID, "queued")])


@pytest.mark.parametrize("end", ["completed", "failed", "cancelled"])
@pytest.mark.parametrize("no_stream", [failure("not_found", 404), answer(200, {"data": []})])
def test_wait_reads_every_three_seconds_where_there_is_no_stream(
    network: Networks, end: str, no_stream: httpx.Response
) -> None:
    states = [answer(200, run(state)) for state in ("queued", "news", end)]
    net = network(states[0], no_stream, *states[1:])
    assert net.client.runs.wait(RUN_ID).status == end
    assert net.slept == [3.0, 3.0]


def test_wait_reads_on_when_its_stream_is_lost_for_good(network: Networks) -> None:
    lost = [httpx.ConnectError("refused")] * 2  # two attempts after the stream's own end
    net = network(answer(200, run("running")), streamed(*events(3)[:1]), *lost, answer(200, run("completed")))
    assert net.client.runs.wait(RUN_ID).status == "completed"


def test_wait_gives_up_at_its_deadline_after_a_last_look(network: Networks) -> None:
    net = network(answer(200, run("running")), failure("not_found", 404), *[answer(200, run("running"))] * 3)
    with pytest.raises(JobTimeoutError) as caught:
        net.client.runs.wait(RUN_ID, timeout=7)
    assert (caught.value.job_id, caught.value.chat, net.slept) == (RUN_ID, "chat_1", [3, 3, 1])


def test_events_are_walked_until_the_run_ends(network: Networks) -> None:
    given = events(4)
    net = network(
        answer(200, {"data": given[:2], "next_after": 2, "has_more": True, "status": "running"}),
        answer(200, {"data": [], "next_after": 2, "status": "running"}),
        answer(200, {"data": given[2:], "next_after": 4, "status": "completed"}),
    )
    assert [event.id for event in net.client.runs.iterate_events(RUN_ID)] == [1, 2, 3, 4]
    assert [request.url.params["after"] for request in net.requests] == ["0", "2", "2"]
    assert net.slept == [3.0]


def test_events_that_come_twice_or_out_of_order_are_walked_once_and_in_order(network: Networks) -> None:
    one, two, three, four = events(4)
    net = network(
        answer(200, {"data": [two, one, two], "next_after": 2, "has_more": True, "status": "completed"}),
        answer(200, {"data": [one, two, three, four], "next_after": 4, "status": "completed"}),
    )
    assert [event.id for event in net.client.runs.iterate_events(RUN_ID)] == [1, 2, 3, 4]


@pytest.mark.parametrize("cursors", [[1, 1], [2, 1, 2]])
def test_pages_that_go_round_in_a_circle_end(network: Networks, cursors: list[int]) -> None:
    """Otherwise the walk would never end."""
    walks: list[Callable[[AgentService], Pages[Any]]] = [
        lambda client: client.runs.iterate_events(RUN_ID),
        lambda client: client.files.list("chat_1"),
    ]
    for walk, items, kind in zip(walks, (events(3)[:2], []), (int, str), strict=True):
        pages = [{"data": items, "files": items, "next_after": kind(cursor), "has_more": True} for cursor in cursors]
        net = network(*[answer(200, {**page, "status": "completed"}) for page in pages])
        with pytest.raises(StefanBrainError, match="round in a circle"):
            walk(net.client).all()


@pytest.mark.parametrize("cursors", [[0], [1, 1], [2, 1, 2]])
def test_events_that_are_read_whole_end_too(network: Networks, cursors: list[int]) -> None:
    """Their tables, and the calls that wait for approval."""
    page = {"data": events(3)[:2], "has_more": True, "status": "running"}
    reads: list[Callable[[AgentService], Any]] = [
        lambda client: client.runs.tables(client.runs.get(RUN_ID)),
        lambda client: waiting_calls(client, RUN_ID),
    ]
    for read, first in zip(reads, ([answer(200, run("running"))], []), strict=True):
        net = network(*first, *[answer(200, {**page, "next_after": cursor}) for cursor in cursors])
        with pytest.raises(StefanBrainError, match="round in a circle"):
            read(AgentService(KEY, "http://service.test", transport=net.transport))


def test_a_walk_from_past_the_end(network: Networks) -> None:
    net = network(answer(200, {"data": [], "next_after": 9, "status": "failed"}))
    assert net.client.runs.iterate_events(RUN_ID, after=9).first() is None


# -- files ---------------------------------------------------------------------------------------------------------


def test_no_and_too_many_files_are_not_sent(network: Networks) -> None:
    assert network().client.files.upload() == []
    with pytest.raises(StefanBrainError, match="too_many_files"):
        network().client.files.upload(*[("a", b"")] * 11)


def test_first_reads_one_page_only(network: Networks) -> None:
    net = network(answer(200, {"files": [{"id": "1", "path": "a"}], "next_after": "a"}))
    first = net.client.files.list("chat_1").first()
    assert first is not None
    assert first.path == "a"


HELLO = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"


def content(*chunks: bytes, sha256: str = HELLO) -> httpx.Response:
    return httpx.Response(200, content=iter(chunks), headers={"etag": f'"{sha256}"'})


def broken(*chunks: bytes) -> httpx.Response:
    def body() -> Any:
        yield from chunks
        raise httpx.ReadError("reset")

    return httpx.Response(200, content=body())


def test_the_beginning_of_a_file_is_asked_for_and_no_more_is_waited_for(network: Networks) -> None:
    """The service of this test knows no ranges, and breaks off where nobody should read any more."""
    net = network(broken(b"he"), broken(b"he", b"llo"))
    assert net.client.files.head("a.txt", 4, chat="chat_1") == b"hell"
    assert [request.headers["range"] for request in net.requests] == ["bytes=0-3"] * 2
    with pytest.raises(StefanBrainError, match="from 1 on"):
        net.client.files.head("a.txt", 0, chat="chat_1")


@pytest.mark.parametrize("to", ["", "new/folder/", "own-name.txt"])
def test_download_to_a_place(network: Networks, tmp_path: Path, to: str) -> None:
    net = network(broken(b"he"), content(b"he", b"llo"))
    place = net.client.files.download("a/b.txt", chat="chat_1", to=f"{tmp_path}/{to}")
    assert place == tmp_path / (to if to.endswith(".txt") else f"{to}b.txt")
    assert [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()] == [b"hello"]


def test_content_that_does_not_match_is_not_kept(network: Networks, tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text("before")
    with pytest.raises(StefanBrainError, match=r"a/b\.txt does not match its SHA-256"):
        network(content(b"hellO")).client.files.download("a/b.txt", chat="chat_1", to=tmp_path)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("b.txt", "before")]


# -- jobs and tools ------------------------------------------------------------------------------------------------


def job(status: str, **more: Any) -> httpx.Response:
    return answer(200, {"job_id": "j", "chat": "chat_1", "status": status, **more})


ACCEPTED = {"type": "tool_job", "tool": "echo_job", "family": "echo", "job_id": "j", "chat": "chat_1"}


def test_the_interval_grows_to_fifteen_seconds(network: Networks) -> None:
    net = network(*[job("running")] * 7, job("succeeded"))
    net.client.jobs.wait("j", chat="chat_1")
    assert net.slept == [2.0, 3.0, 4.5, 6.75, 10.125, 15.0, 15.0]


def test_the_service_recommends_an_interval(network: Networks) -> None:
    net = network(job("running", recommended_poll_after_ms=250), job("succeeded"))
    net.client.jobs.wait("j", project="proj_1", session="s")
    assert net.slept == [0.25]
    assert dict(net.requests[0].url.params) == {"project": "proj_1", "session": "s"}


@pytest.mark.parametrize("end", ["failed", "cancelled"])
def test_a_job_that_failed_is_raised_with_its_record(network: Networks, end: str) -> None:
    error = {"code": "not_configured", "message": "Set X."}
    answers = [job("running"), job(end, is_error=True, error=error)]
    for number, reply in enumerate(answers):
        reply.headers["x-request-id"] = f"req_{number}"
    net = network(*answers)
    with pytest.raises(JobFailedError, match=r"Set X\. \(200 not_configured, request req_1\)") as caught:
        net.client.jobs.wait("j", chat="chat_1")
    assert (caught.value.job.status, caught.value.request_id, caught.value.method) == (end, "req_1", "GET")


def test_a_job_that_takes_too_long(network: Networks) -> None:
    net = network(*[job("running")] * 3)
    with pytest.raises(JobTimeoutError) as caught:
        net.client.jobs.wait("j", chat="chat_1", timeout=4)
    assert (caught.value.job_id, caught.value.chat, net.slept) == ("j", "chat_1", [2, 2])


# -- faces ---------------------------------------------------------------------------------------------------------


def test_faces_show_the_operations_signature_and_docstring() -> None:
    client = AgentService(KEY)
    shown = inspect.signature(client.runs.wait)
    options = "deadline: 'float | None' = None, max_retries: 'int | None' = None"
    options += ", headers: 'Mapping[str, str] | None' = None, extra_body: 'Mapping[str, Any] | None' = None"
    waits = "timeout: 'float | None' = 1200, poll: 'float' = 3.0"
    assert str(shown) == f"(run_id: 'RunRef', *, {waits}, {options}) -> 'Run[Any]'"
    assert str(inspect.signature(client.runs.get)) == (
        f"(run_id: 'RunRef', *, {options}, timeout: 'float | None' = None) -> 'Run[Any]'"
    )
    assert inspect.signature(client.runs.attach).return_annotation == "EventStream"
    assert inspect.signature(AsyncAgentService(KEY).files.list).return_annotation == "AsyncPages[WorkspaceFile]"
    assert (client.runs.wait.__doc__ or "").startswith("Wait until the run has completed")
    assert client.tools.list.__name__ == "list"


@pytest.mark.parametrize("group", ["runs", "files", "jobs", "tools"])
def test_both_faces_have_the_same_operations(group: str) -> None:
    faces = [getattr(client, group) for client in (AgentService(KEY), AsyncAgentService(KEY))]
    names = [{name for name in dir(face) if not name.startswith("_")} for face in faces]
    assert names[0] == names[1] != set()


def test_what_is_awaited_is_a_coroutine_function() -> None:
    assert inspect.iscoroutinefunction(AsyncAgentService(KEY).runs.get)
    assert not inspect.iscoroutinefunction(AgentService(KEY).runs.get)
