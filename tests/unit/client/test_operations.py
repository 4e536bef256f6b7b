"""What operations make of answers: waits, walks over pages, downloads, and results of tools."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from agentsvc_nb.client.errors import JobFailedError, JobTimeoutError, ToolResultError
from agentsvc_nb.client.options import WaitNotice
from agentsvc_nb.wire.files import WorkspaceFile
from tests.unit.client.conftest import RESET, RUN_ID, Networks, answer, failure, run
from tests.unit.client.streams import events, frames, sse


@pytest.mark.rule("`runs.wait` reads the run at once, then follows its events.")
@pytest.mark.parametrize("end", ["completed", "failed"])
def test_wait_reads_at_once_and_follows_the_events(network: Networks, end: str) -> None:
    net = network(answer(200, run(end)))
    assert net.client.runs.wait(RUN_ID).status == end
    ended = {"id": 2, "type": "run.ended", "created_at": "", "payload": {"run": run(end, output="so far")}}
    net = network(answer(200, run("queued")), sse(frames([events(2)[0], ended])))
    told: list[WaitNotice] = []
    assert net.client.with_options(on_wait=told.append).runs.wait(RUN_ID).output == "so far"
    assert (net.slept, told) == ([], [WaitNotice("run", RUN_ID, "queued")])


@pytest.mark.rule("Without a stream, `runs.wait` polls every 3 s.")
@pytest.mark.parametrize("no_stream", [failure("not_found", 404), answer(200, {"data": []})])
def test_wait_reads_every_three_seconds_where_there_is_no_stream(both: Networks, no_stream: httpx.Response) -> None:
    states = [answer(200, run(state)) for state in ("queued", "news", "completed")]
    net = both(states[0], no_stream, *states[1:])
    assert net.call(lambda client: client.runs.wait(RUN_ID)).status == "completed"
    assert net.slept == [3.0, 3.0]


@pytest.mark.rule("`runs.wait` raises `JobTimeoutError` at its deadline; the run continues.")
def test_wait_gives_up_at_its_deadline_after_a_last_look(network: Networks) -> None:
    net = network(answer(200, run("running")), failure("not_found", 404), *[answer(200, run("running"))] * 3)
    with pytest.raises(JobTimeoutError) as caught:
        net.client.runs.wait(RUN_ID, timeout=7)
    assert (caught.value.job_id, caught.value.chat, net.slept) == (RUN_ID, "chat_1", [3, 3, 1])


def test_events_are_walked_until_the_run_ends(both: Networks) -> None:
    """Once and in order, also where pages repeat some."""
    one, two, three, four = events(4)
    net = both(
        answer(200, {"data": [two, one, two], "next_after": 2, "has_more": True, "status": "running"}),
        answer(200, {"data": [], "next_after": 2, "status": "running"}),
        answer(200, {"data": [two, three, four], "next_after": 4, "status": "completed"}),
    )
    assert [event.id for event in net.call(lambda client: client.runs.iterate_events(RUN_ID))] == [1, 2, 3, 4]
    assert [request.url.params["after"] for request in net.requests] == ["0", "2", "2"]
    assert net.slept == [3.0]


HELLO = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"


def content(data: bytes, sha256: str = HELLO, **headers: str) -> httpx.Response:
    return sse(data, etag=f'"{sha256}"', **headers)


def rest(of: str, data: bytes) -> httpx.Response:
    part = content(data, content_range=of)
    part.status_code = 206
    return part


def broken() -> httpx.Response:
    return sse(b"he", RESET, etag=f'"{HELLO}"')


CUT = broken()
DOWNLOADS: dict[str, tuple[list[Any], bytes | None]] = {
    "the rest": ([CUT, rest("bytes 2-4/5", b"llo")], b"hello"),
    "the whole again": ([CUT, content(b"hello")], b"hello"),
    "a 503 in between": ([CUT, failure("brain_unavailable", 503), rest("bytes 2-4/5", b"llo")], b"hello"),
    "content that is not that of its hash": ([content(b"hellO")], None),
    "a rest from elsewhere": ([CUT, *[rest("bytes 1-4/5", b"ello")] * 2], None),
    "404 while it goes on": ([CUT, failure("file_not_found", 404)], None),
}


@pytest.mark.rule("The client discards a download that differs from its hash.")
@pytest.mark.parametrize("to", ["bytes", "file"])
@pytest.mark.parametrize("case", DOWNLOADS)
def test_content_that_does_not_match_is_not_kept(network: Networks, tmp_path: Path, case: str, to: str) -> None:
    """A download is right or an error, and never some of each; what was there before stays."""
    answers, expected = DOWNLOADS[case]
    (tmp_path / "b.txt").write_text("before")
    net = network(*answers)
    place = {"to": tmp_path} if to == "file" else {}
    if expected is None:
        assert net.error(lambda client: client.files.download("a/b.txt", chat="chat_1", **place))
        assert (tmp_path / "b.txt").read_text() == "before"
    else:
        got = net.call(lambda client: client.files.download("a/b.txt", chat="chat_1", **place))
        assert (got.read_bytes() if isinstance(got, Path) else got) == expected
    if answers[0] is CUT:
        again = net.requests[1].headers
        assert (again["range"], again["if-range"]) == ("bytes=2-", f'"{HELLO}"')


def test_a_broken_download_goes_on_in_the_next_call(both: Networks, tmp_path: Path) -> None:
    net = both(broken(), content(b"hello"), rest("bytes 2-4/5", b"llo"))

    def download(client: Any) -> Any:
        return client.files.download("b.txt", chat="chat_1", to=f"{tmp_path}/new/", max_retries=0)

    assert net.error(download)
    assert net.call(download) == tmp_path / "new" / "b.txt"
    again = net.requests[2].headers
    assert (again["range"], again["if-range"]) == ("bytes=2-", f'"{HELLO}"')
    assert [(path.name, path.read_bytes()) for path in (tmp_path / "new").iterdir()] == [("b.txt", b"hello")]


def test_a_listed_file_has_its_listed_content(network: Networks, tmp_path: Path) -> None:
    """What is on disk already is not fetched again."""
    file = WorkspaceFile(id="5" * 64, path="a", size_bytes=5)
    assert network(content(b"hello")).error(lambda c: c.files.download(file, chat="c", max_retries=0))
    (tmp_path / "a").write_bytes(b"hello")
    entry = WorkspaceFile(id=HELLO, path="a", size_bytes=5)
    assert network().client.files.download(entry, chat="c", to=tmp_path) == tmp_path / "a"


def test_the_beginning_of_a_file_is_asked_for_and_no_more_is_waited_for(network: Networks) -> None:
    """The service of this test knows no ranges, and breaks off where nobody should read any more."""
    net = network(sse(b"he", RESET), sse(b"he", b"llo", RESET))
    assert net.client.files.head("a.txt", 4, chat="chat_1") == b"hell"
    assert [request.headers["range"] for request in net.requests] == ["bytes=0-3"] * 2


def job(status: str, **more: Any) -> httpx.Response:
    return answer(200, {"job_id": "j", "chat": "chat_1", "status": status, **more})


@pytest.mark.rule("Without a recommendation, `jobs.wait` polls after 2 s, growing to 15 s.")
def test_the_interval_grows_to_fifteen_seconds(network: Networks) -> None:
    """A state of the future is not the end."""
    net = network(job("a_new_state"), *[job("running")] * 6, job("succeeded"))
    net.client.jobs.wait("j", chat="chat_1")
    assert net.slept == [2.0, 3.0, 4.5, 6.75, 10.125, 15.0, 15.0]


@pytest.mark.rule("`jobs.wait` follows `recommended_poll_after_ms`.")
@pytest.mark.parametrize(("hint", "waited"), [(250, 0.25), (-5, 2), (10**400, 3_600)])
def test_the_service_recommends_an_interval(network: Networks, hint: int, waited: float) -> None:
    net = network(job("running", recommended_poll_after_ms=hint), job("succeeded"))
    net.client.jobs.wait("j", project="proj_1", session="s", timeout=None)
    assert 0 <= net.slept[0] <= waited
    assert hint != 250 or net.slept == [waited]


@pytest.mark.rule("A failed job raises `JobFailedError` with its record.")
@pytest.mark.parametrize("end", ["failed", "cancelled"])
def test_a_job_that_failed_is_raised_with_its_record(both: Networks, end: str) -> None:
    answers = [job("running"), job(end, is_error=True, error={"code": "not_configured", "message": "Set X."})]
    for number, reply in enumerate(answers):
        reply.headers["x-request-id"] = f"req_{number}"
    error = both(*answers).error(lambda client: client.jobs.wait("j", chat="chat_1"))
    assert isinstance(error, JobFailedError)
    assert (error.job.status, error.code, error.request_id, error.method) == (end, "not_configured", "req_1", "GET")


@pytest.mark.rule("A result with `is_error: true` raises `ToolResultError`.")
@pytest.mark.parametrize("error", [{"code": "not_configured", "message": "Set X."}, None])
def test_a_result_that_is_an_error_is_raised_whole(network: Networks, error: Any) -> None:
    body = {"tool": "t", "is_error": True, "error": error, "content": [{"type": "text", "text": "x"}], "more": 1}
    found = network(answer(200, body, x_request_id="req_7")).error(lambda client: client.tools.invoke("t", {}))
    assert isinstance(found, ToolResultError)
    assert (found.code, found.status, found.request_id) == (error and "not_configured", 200, "req_7")
    assert (found.method, found.path.rpartition("/v1")[2]) == ("POST", "/tools/t/invoke")
    assert (found.body["content"], found.body["more"]) == (body["content"], 1)
    assert ("Set X." in found.message) is (error is not None)
