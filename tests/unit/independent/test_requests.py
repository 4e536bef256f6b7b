"""Each operation in each face: what it sends, what it makes of an answer, and when it is sent again."""

import json
import random
from collections.abc import Callable
from typing import Any

import pytest

from agentsvc_nb import (
    APIConnectionError,
    AuthenticationError,
    RateLimitError,
    RequestTooLargeError,
    StefanBrainError,
)
from tests.unit.independent.faces import FACES, Outcome, outcome
from tests.unit.independent.mock import PREFIX, Fault, Mock, Reply, Seen, Wire, answer, problem, saying
from tests.unit.independent.operations import JSON_OPERATIONS, OPERATIONS, Operation, sent_rightly
from tests.unit.independent.records import CHAT, KEY, RUN, service

PASSING = (408, 429, 500, 502, 503, 504)  # the statuses after which a call is made again, where it may be
each = pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
each_json = pytest.mark.parametrize("operation", JSON_OPERATIONS, ids=lambda operation: operation.name)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make random waits as short as they can be."""
    monkeypatch.setattr(random, "random", lambda: 0.0)


def face_of(operation: Operation) -> str:
    """Choose a face, so that each test has all faces and none has all of them for each operation."""
    return list(FACES)[OPERATIONS.index(operation) % 3]


def calling(operation: Operation, *script: Fault, face: str = "", **options: Any) -> tuple[Outcome, list[Seen]]:
    """Make a call whose first answers are these; return its outcome and its requests, which must be alike."""
    with Mock(service, list(script)) as mock:
        mock.counts = operation.is_mine
        result = outcome(mock, face or face_of(operation), operation.call, **options)
        requests = mock.counted()
    for seen in requests:
        assert seen.header("authorization") == f"Bearer {KEY}"
        assert operation.paged or operation.bytes_ or seen.same == requests[0].same
    return result, requests


@each
@pytest.mark.parametrize("face", FACES)
def test_an_operation_sends_what_it_is_given_and_gives_what_it_gets(operation: Operation, face: str) -> None:
    result, requests = calling(operation, face=face)
    assert operation.good(result.value), (result.value, result.error)
    sent_rightly(operation, requests[0])
    assert operation.paged or len(requests) == 1
    assert not result.notices


def _cut(name: str, data: Callable[[Reply], bytes], *, reset: bool = False) -> Fault:
    """Send some of the answer, and no more."""

    def act(wire: Wire, seen: Seen, good: Reply) -> None:
        wire.send(data(good))
        if reset:
            wire.rest(0.02)  # a reset overtakes what was sent right before it
            wire.reset()

    return Fault(name, act)


def _chunked(reply: Reply) -> bytes:
    half = reply.body[: len(reply.body) // 2]
    return reply.head(Transfer_Encoding="chunked") + f"{len(half):x}\r\n".encode() + half + b"\r\n"


LOST = [
    _cut("closed before the head", lambda reply: b""),
    _cut("reset in the head", lambda reply: reply.whole[:30], reset=True),
    _cut("closed after 100", lambda reply: b"HTTP/1.1 100 Continue\r\n\r\n"),
    _cut("reset in the body", lambda reply: reply.whole[: -(len(reply.body) // 2) or None], reset=True),
    _cut("cut between chunks", _chunked),
]


@each_json
@pytest.mark.parametrize("fault", LOST, ids=lambda fault: fault.name)
def test_a_call_without_an_answer_is_made_again_only_where_that_is_safe(operation: Operation, fault: Fault) -> None:
    result, requests = calling(operation, fault)
    if operation.again:
        assert operation.good(result.value), result.error
        assert [notice.attempt for notice in result.notices] == [1]
    else:
        assert (type(result.failure), result.failure.sent, len(requests)) == (APIConnectionError, True, 1)
    result, requests = calling(operation, *[fault] * 3)
    attempts = 3 if operation.again else 1
    assert (type(result.failure), result.failure.attempts, len(requests)) == (APIConnectionError, attempts, attempts)


@each
def test_a_refused_connection_is_told_as_a_call_that_was_not_sent(operation: Operation) -> None:
    with Mock(service, listening=False) as mock:
        error = outcome(mock, face_of(operation), operation.call).failure
    assert (type(error), error.sent, error.attempts) == (APIConnectionError, False, 3 if operation.again else 1)


KINDS: dict[int, type[StefanBrainError]] = {401: AuthenticationError, 413: RequestTooLargeError, 429: RateLimitError}


@each
@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 409, 413, 418, 422, 501, *PASSING])
def test_a_refusal_is_raised_or_passes(operation: Operation, status: int) -> None:
    refusal = saying("refused", problem(status, f"code_{status}", headers={"Retry-After": "0"}))
    result, requests = calling(operation, refusal, max_retries=1)
    if operation.again and status in PASSING:
        assert operation.good(result.value), result.error
        result, requests = calling(operation, *[refusal] * 2, max_retries=1)
    attempts = 2 if operation.again and status in PASSING else 1
    error = result.failure
    assert type(error) is KINDS.get(status, StefanBrainError)
    assert (error.status, error.code, error.request_id) == (status, f"code_{status}", "req_1")
    assert error.attempts == attempts <= len(requests)


@each
@pytest.mark.parametrize("status", [302, 307])
def test_a_redirect_gets_nothing(operation: Operation, status: int) -> None:
    """The key goes to one origin; nothing at all goes to another."""
    with Mock(lambda seen: answer({})) as other:
        moved = saying("moved", Reply(status, b"", {"Location": f"{other.origin}/api/developers/v1/moved"}))
        result, requests = calling(operation, moved)
        assert (result.failure.status, len(requests), other.seen) == (status, 1, [])


# What `Retry-After` says; the least and the most that is waited, None if it is told at once.
AFTER: dict[str, tuple[float, float] | None] = {
    "0": (0, 1), "1": (1, 3), "61": None, "9" * 400: None, "soon": (0, 1), "-5": (0, 1),
    "Fri, 31 Dec 9999 23:59:59 GMT": None,
}  # fmt: skip


@pytest.mark.parametrize("name", ["runs.get", "runs.start", "runs.start with key"])
@pytest.mark.parametrize("after", AFTER, ids=lambda after: after[:30])
def test_retry_after_of_up_to_a_minute_is_waited_for(name: str, after: str) -> None:
    operation = next(each for each in OPERATIONS if each.name == name)
    waits = AFTER[after]
    result, requests = calling(operation, saying("busy", problem(503, "busy", headers={"Retry-After": after})))
    if operation.again and waits:
        assert operation.good(result.value), result.error
        waited = requests[1].at - requests[0].at
        assert waits[0] - 0.05 <= waited <= waits[1] + 2, waited
    else:
        assert (result.failure.status, len(requests)) == (503, 1)


def _as(reply: Reply, kind: str) -> bytes:
    return Reply(reply.status, reply.body, {**reply.headers, "Content-Type": kind}).whole


def _in_chunks(reply: Reply) -> bytes:
    parts = [reply.body[i : i + 7] for i in range(0, len(reply.body), 7)]
    chunks = b"".join(f"{len(part):X};x=y\r\n".encode() + part + b"\r\n" for part in parts)
    return reply.head(Transfer_Encoding="chunked") + chunks + b"0\r\nTrailer: x\r\n\r\n"


FORMS: dict[str, Callable[[Reply], bytes]] = {
    "in chunks": _in_chunks,
    "up to the end of the connection": lambda reply: reply.head() + reply.body,
    "after 103": lambda reply: b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + reply.whole,
    "with headers of the future": lambda reply: (
        reply.head(X_Long="y" * 8000, X_Latin="\xe9", Content_Length=str(len(reply.body))) + reply.body
    ),
    "as another type": lambda reply: _as(reply, "application/vnd.x+json; charset=utf-8"),
    "with blanks": lambda reply: Reply(reply.status, b" \r\n\t" + reply.body + b"\n ", reply.headers).whole,
}


@each_json
@pytest.mark.parametrize("form", FORMS)
def test_an_answer_may_come_in_any_form(operation: Operation, form: str) -> None:
    result, requests = calling(operation, _cut(form, FORMS[form]))
    assert operation.good(result.value), (result.value, result.error)
    assert operation.paged or len(requests) == 1


ODD = {
    "empty": b"", "HTML": b"<html>Welcome to the hotel's network</html>", "a list": b"[1]", "null": b"null",
    "half of it": b'{"object": "list", "data": [', "not UTF-8": b'{"object": "\xff\xfe"}', "deep": b"[" * 60_000,
    "wrong types": b'{"data": 7, "files": 7, "results": 7, "labels": 7, "job_id": [], "run_id": {}}',
    "a number without end": b'{"object": ' + b"9" * 6_000 + b"}",
}  # fmt: skip


@each_json
@pytest.mark.parametrize("body", ODD.values(), ids=ODD)
def test_an_answer_of_something_else_is_an_error(operation: Operation, body: bytes) -> None:
    """Nothing unsafe is done a second time."""
    result, requests = calling(operation, *[saying("odd", Reply(200, body))] * 5)
    assert result.failure
    assert 1 <= len(requests) <= (3 if operation.again else 1)


@each_json
def test_a_field_that_is_absent_or_null_is_a_value_or_an_error(operation: Operation) -> None:
    """A field of the future is kept."""
    _, requests = calling(operation)
    names = [name for name in json.loads(service(requests[0]).body) if name != "a_field_of_the_future"]

    def without(name: str, *null: None) -> Fault:
        def act(wire: Wire, seen: Seen, good: Reply) -> None:
            document = {**json.loads(good.body), name: None}
            if not null:
                document.pop(name)
            wire.send(Reply(good.status, json.dumps(document).encode(), good.headers).whole)

        return Fault(name, act, keeps=True)

    for name in names:
        absent, _ = calling(operation, *[without(name)] * 9, max_retries=0)
        null, _ = calling(operation, *[without(name, None)] * 9, max_retries=0)
        for result in (absent, null):
            assert result.error is None or result.failure
        assert absent.error or not null.error, name


IDS = ["../keys", "..", "", "a/b", "a?b=c", "a#b", "%2e%2e", "a b", "a\r\nX-Evil: 1", "\\..\\x", "//evil.example/x"]
BY_ID: dict[str, tuple[Callable[[Any, str], Any], str, int]] = {
    "runs.get": (lambda c, i: c.runs.get(i), "/runs/", 1),
    "runs.approve": (lambda c, i: c.runs.approve(RUN, i), f"/runs/{RUN}/calls/", 2),
    "tools.invoke": (lambda c, i: c.tools.invoke(i, {}), "/tools/", 2),
    "jobs.status": (lambda c, i: c.jobs.status(i, chat=CHAT), "/jobs/", 1),
    "projects.update": (lambda c, i: c.projects.update(i, name="x"), "/projects/", 1),
    "chats.retire": (lambda c, i: c.chats.retire(i), "/chats/", 1),
}


@pytest.mark.parametrize("operation", BY_ID)
@pytest.mark.parametrize("id_", IDS)
def test_an_id_stays_one_part_of_its_address(operation: str, id_: str) -> None:
    call, before, parts = BY_ID[operation]
    with Mock(lambda seen: problem(404, "not_found")) as mock:
        assert outcome(mock, "blocking", lambda c: call(c, id_), max_retries=0).failure
        for seen in mock.seen:
            rest = seen.target.partition("?")[0].removeprefix(PREFIX + before).split("/")
            assert len(rest) == parts
            assert rest[0] not in ("", ".", "..")
            assert seen.header("x-evil") is None
