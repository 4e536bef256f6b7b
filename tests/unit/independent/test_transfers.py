"""Streams, files and waits: cut, changed, repeated and hostile."""

import random
import tempfile
from collections.abc import Callable, Sequence
from email import message_from_bytes
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from agentsvc_nb import JobFailedError, RequestTooLargeError, StefanBrainError, WorkspaceFile
from tests.unit.independent.faces import FACES, following, outcome
from tests.unit.independent.mock import Fault, Mock, Reply, Seen, Wire, answer, frames, problem
from tests.unit.independent.records import (
    CALL,
    CHAT,
    CONTENT,
    RUN,
    download,
    event,
    file_entry,
    instead,
    job,
    run,
    service,
    sha,
    story,
    stream,
)

Way = Reply | Fault | Callable[[Seen], Reply | Fault]
PATH = "reports/prices.csv"
OTHER = b"quite another text\n" * 500
S = story()
each_face = pytest.mark.parametrize("face", FACES)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make random waits as short as they can be."""
    monkeypatch.setattr(random, "random", lambda: 0.0)


def serving(method: str, path: str, *ways: Way, then: Way | None = None) -> Mock:
    """Make a service that answers one place in these ways, one after the other, then as `then` says."""
    left = list(ways)

    def answers(seen: Seen) -> Reply | Fault:
        way = left.pop(0) if left else then or service
        return way(seen) if callable(way) else way

    return Mock(instead(method, path, answers))


def sse(body: bytes) -> Reply:
    return Reply(200, body, {"Content-Type": "text/event-stream"})


def cut(at: int, body: Callable[[Seen], Reply], *, reset: bool) -> Fault:
    """Send so many bytes of the answer's body, and no more."""

    def act(wire: Wire, seen: Seen, good: Reply) -> None:
        reply = body(seen)
        wire.send(reply.head(Content_Length=str(len(reply.body))) + reply.body[:at])
        if reset:
            wire.rest(0.03)
            wire.reset()

    return Fault("cut", act)


# -- streams ---------------------------------------------------------------------------------------------------------


def follow(mock: Mock, face: str, **options: Any) -> list[Seen]:
    """Follow the run, which must come whole and once; return the requests of its stream."""
    with mock:
        result = outcome(mock, face, following(lambda client: client.runs.attach(RUN)), **options)
        assert result.value, result.error
        assert result.value.ids == [each["id"] for each in S]
        assert [each.payload for each in result.value.events] == [each["payload"] for each in S]
        assert (result.value.final.status, result.value.cursor) == ("completed", S[-1]["id"])
        return [seen for seen in mock.seen if seen.header("accept") == "text/event-stream"]


STREAM = ("GET", f"/runs/{RUN}/events")


@pytest.mark.parametrize("at", range(0, len(stream(Seen("", "", [], 0), S).body), 23))
def test_a_stream_goes_on_after_the_last_whole_event(at: int) -> None:
    body = stream(Seen("", "", [], 0), S).body[:at]
    mock = serving(*STREAM, cut(at, lambda seen: stream(seen, S), reset=at % 2 == 0))
    requests = follow(mock, list(FACES)[at % 3])
    whole = max(0, body.count(b"\n\n") - 1)
    assert (requests[-1].header("last-event-id") or "0") == str(whole)


ORDERS: dict[str, list[Way]] = {
    "each twice": [sse(frames(*(each for pair in zip(S, S, strict=True) for each in pair)))],
    "told again from the start": [sse(frames(*S[:5])), sse(frames(*S))],
    "told again in the middle": [sse(frames(*S[:5], *S[2:]))],
    "two in the wrong order": [sse(frames(S[0], S[2], S[1], *S[3:]))],
    "backwards": [sse(frames(*reversed(S)))],
    "one is missing": [sse(frames(S[0], *S[2:]))],
    "all but the end are missing": [sse(frames(S[-1]))],
    "an empty stream": [sse(b"")],
    "more after the end": [sse(frames(*S, event(9, "text.delta", text="late")))],
    "a 503 when it goes on": [sse(frames(*S[:3])), problem(503, "brain_unavailable")],
    "a 502 of something between": [sse(frames(*S[:3])), Reply(502, b"<html>")],
    "CRLF": [sse(b"\xef\xbb\xbf" + frames(*S, end="\r\n"))],
    "CR": [sse(b": ping\r\r" + frames(*S, end="\r"))],
}


@each_face
@pytest.mark.parametrize("order", ORDERS)
def test_events_come_once_and_in_order_however_they_are_sent(face: str, order: str) -> None:
    follow(serving(*STREAM, *ORDERS[order]), face)


@each_face
def test_a_function_is_called_once_and_its_answer_told_until_it_arrives(face: str) -> None:
    calls: list[str] = []

    def look_up(word: str) -> str:
        """Look a word up."""
        calls.append(word)
        return f"{word}: found"

    asking = {"call_id": "call_1", "tool": "look_up", "input": {"word": "lamp"}}
    waiting = [event(i, "client_call.waiting", **asking, expires_at="2099-01-01T00:00:00.000Z") for i in (2, 3)]
    events = [event(1, "tool.call", **asking, client=True), *waiting, event(4, "run.ended", run=run())]
    lost = Fault("lost", lambda wire, seen, good: wire.reset())
    with serving("POST", f"/runs/{RUN}/calls/call_1/result", lost, then=answer(CALL)) as mock:
        started, answers = answer(run("queued", client_tools=["look_up"]), 202), mock.answers
        streamed = {("GET", STREAM[1]): lambda seen: stream(seen, events), ("POST", "/runs"): lambda seen: started}
        mock.answers = lambda seen: streamed.get((seen.method, seen.path), answers)(seen)
        call = following(lambda client: client.runs.start_and_stream("Hi", client_tools=[look_up]))
        assert outcome(mock, face, call).value
        told = {seen.body for seen in mock.seen if seen.path.endswith("/result") and b"pending" not in seen.body}
    assert calls == ["lamp"]
    assert len(told) == 1
    assert b"lamp: found" in told.pop()


# -- downloads -------------------------------------------------------------------------------------------------------


def fetch(mock: Mock, face: str, to: str, folder: Path, path: Any = PATH, **options: Any) -> Any:
    """Download as bytes, into a file or into a folder; the outcome's value is the content."""
    given = {"chat": CHAT} if isinstance(path, str) else {}
    place = {} if to == "bytes" else {"to": folder / "got.csv" if to == "file" else f"{folder}/"}
    result = outcome(mock, face, lambda client: client.files.download(path, **given, **place), **options)
    if isinstance(result.value, Path):
        result.value = result.value.read_bytes()
    return result


def plain(data: bytes, tag: bytes) -> Reply:
    return Reply(200, data, {"ETag": f'"{sha(tag)}"'})


def shifted(seen: Seen) -> Reply:
    reply = download(seen)
    reply.headers["Content-Range"] = f"bytes 5-{len(CONTENT) - 1}/{len(CONTENT)}"
    return reply


BROKEN = cut(1000, download, reset=False)
DOWNLOADS: dict[str, tuple[Sequence[Way], bool, bytes | None]] = {  # ways, whether the entry is known, what comes
    "plain": ([download], False, CONTENT),
    "empty": ([partial(download, data=b"")], False, b""),
    "cut twice": ([BROKEN, BROKEN, download], False, CONTENT),
    "the whole again": ([BROKEN, plain(CONTENT, CONTENT)], False, CONTENT),
    "503 in between": ([BROKEN, problem(503, "brain_unavailable"), download], False, CONTENT),
    "changed meanwhile": ([BROKEN, partial(download, data=OTHER)], False, OTHER),
    "another content than its tag": ([plain(OTHER, CONTENT)], False, None),
    "another content than listed": ([partial(download, data=OTHER)], True, None),
    "one byte more than listed": ([partial(download, data=CONTENT + b"!")], True, None),
    "a rest from elsewhere": ([BROKEN, shifted], True, None),
    "404 while it goes on": ([BROKEN, problem(404, "file_not_found")], False, None),
}


@each_face
@pytest.mark.parametrize("to", ["bytes", "file", "folder"])
@pytest.mark.parametrize("case", DOWNLOADS)
def test_a_download_is_right_or_an_error_and_never_some_of_each(face: str, to: str, case: str) -> None:
    """What was there before a download that failed is still there; a `.part` file alone is left."""
    ways, known, content = DOWNLOADS[case]
    path = WorkspaceFile.model_validate(file_entry()) if known else PATH
    with tempfile.TemporaryDirectory() as name, serving("GET", "/files/download", *ways, then=ways[-1]) as mock:
        (Path(name) / "got.csv").write_bytes(b"before")
        result = fetch(mock, face, to, Path(name), path)
        if content is None:
            assert result.failure
            assert (Path(name) / "got.csv").read_bytes() == b"before"
            assert not (Path(name) / "prices.csv").exists()
        else:
            assert result.value == content or (case == "changed meanwhile" and result.failure), result.error


@each_face
@pytest.mark.parametrize("at", [0, 1, 4096, len(CONTENT) - 1])
def test_a_broken_download_asks_for_the_rest_of_the_same_content(face: str, at: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        with serving("GET", "/files/download", cut(at, download, reset=at % 2 == 0)) as mock:
            assert fetch(mock, face, "file", Path(name), max_retries=0).failure
        with serving("GET", "/files/download", download) as mock:
            assert fetch(mock, face, "file", Path(name)).value == CONTENT
            if asked := mock.seen[0].header("range"):
                assert (asked, mock.seen[0].header("if-range")) == (f"bytes={at}-", f'"{sha(CONTENT)}"')
        assert [each.name for each in Path(name).iterdir()] == ["got.csv"]


HOSTILE = [
    "../evil", "/etc/evil", "a/../../evil", "a/..", "..", "", "a/", "..\\evil", "C:\\evil", "\\\\host\\evil",
    "evil\x00.txt", "~/evil", "x" * 400, "con", "a:b", "%2e%2e/evil", "...", "-rf", "a\u202etxt.exe",
]  # fmt: skip


@pytest.mark.parametrize("path", HOSTILE)
@pytest.mark.parametrize("how", ["entry", "artifacts"])
def test_a_name_of_the_service_never_leads_out_of_the_folder(path: str, how: str) -> None:
    entry = file_entry(path, file_name=path)
    done = answer(job(kind="files", files=[entry]))
    with tempfile.TemporaryDirectory() as name, serving("GET", "/jobs/job_1/result", then=done) as mock:
        folder = Path(name).resolve() / "into"
        folder.mkdir()
        record = WorkspaceFile.model_validate(entry)
        result = outcome(mock, "blocking", lambda client: (
            client.files.download(record, to=f"{folder}/") if how == "entry"
            else client.jobs.download_artifacts("job_1", chat=CHAT, to=folder)
        ))  # fmt: skip
        made = [each for each in folder.parent.rglob("*") if each != folder]
        assert all(folder in each.parents for each in made), made
        assert result.error is None or isinstance(result.error, (StefanBrainError, OSError, ValueError))


@pytest.mark.parametrize("url", ["{0}/x", "{1}/x", "http://x@{2}/x", "{0}", "@{2}/x", "\\\\{2}/x"])
def test_an_entry_that_leads_to_another_origin_gets_nothing(url: str) -> None:
    with tempfile.TemporaryDirectory() as name, Mock(download) as other, Mock(service) as mock:
        host = other.origin.removeprefix("http://")
        entry = file_entry(download_url=url.format(other.origin, f"//{host}", host))
        record = WorkspaceFile.model_validate(entry)
        outcome(mock, "blocking", lambda client: client.files.download(record, to=f"{name}/"))
        assert not other.seen


# -- uploads and jobs --------------------------------------------------------------------------------------------------


def files_of(seen: Seen) -> list[tuple[str | None, bytes]]:
    """Return the file names and contents of a form."""
    head = f"Content-Type: {seen.header('content-type')}\r\n\r\n".encode()
    parts: Any = message_from_bytes(head + seen.body).get_payload()
    return [(part.get_filename(), part.get_payload(decode=True)) for part in parts]


@each_face
@pytest.mark.parametrize("how", ["bytes", "path", "opened"])
@pytest.mark.parametrize("lost", [0, 2])
def test_an_upload_sends_the_same_bytes_however_it_is_given_and_again(face: str, how: str, lost: int) -> None:
    content = bytes(range(48, 100)) * 4_000
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "a.bin"
        path.write_bytes(b"before" + content if how == "opened" else content)
        fault = Fault("lost", lambda wire, seen, good: wire.reset())
        with path.open("rb") as opened, serving("POST", "/files", *[fault] * lost) as mock:
            opened.seek(6)
            given: Any = {"bytes": ("a.bin", content), "path": path, "opened": opened}[how]
            assert outcome(mock, face, lambda client: client.files.upload(given)).value[0].id == "upload_1"
            assert [files_of(seen) for seen in mock.seen] == [[("a.bin", content)]] * (lost + 1)


@each_face
def test_an_upload_that_is_refused_while_it_goes_out_is_told_and_not_repeated(face: str) -> None:
    def refuse(wire: Wire, seen: Seen, good: Reply) -> None:
        wire.send(problem(413, "attachment_too_large").whole)
        wire.body(seen)

    with Mock(service, [Fault("refusing", refuse, early=True)]) as mock:
        error = outcome(mock, face, lambda client: client.files.upload(("a.bin", b"q" * 12_000_000))).failure
        assert (type(error), error.code, len(mock.seen)) == (RequestTooLargeError, "attachment_too_large", 1)


@each_face
@pytest.mark.parametrize("status", ["succeeded", "failed", "cancelled"])
def test_a_job_is_looked_at_until_it_has_ended(face: str, status: str) -> None:
    """What passes in between is passed over."""
    lost = Fault("lost", lambda wire, seen, good: wire.reset())
    running, away = answer(job("a_state_of_the_future")), problem(503, "brain_unavailable")
    with serving("GET", "/jobs/job_1", running, lost, away, running, then=answer(job(status))) as mock:
        result = outcome(mock, face, lambda client: client.jobs.wait("job_1", chat=CHAT))
        if status == "succeeded":
            assert result.value.status == status
        else:
            assert (type(result.failure), result.failure.job.status) == (JobFailedError, status)
        assert len(mock.seen) == 5
