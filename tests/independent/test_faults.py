"""Each operation under each fault: what it comes to, how often it was asked for, and that nothing is left behind."""

from collections.abc import Callable
from functools import partial
from typing import Any

from tests.independent.checking import PASSING, alike, outcome, was_answered, was_lost
from tests.independent.faces import FACES, Case, Group, Pool, generated
from tests.independent.mock import Fault, Mock, Reply, Seen, Wire, answer, problem, saying
from tests.independent.operations import OPERATIONS, Operation
from tests.independent.records import service


def _cut(name: str, data: Callable[[Reply], bytes], *, reset: bool = False, stall: float = 0) -> Fault:
    """Send some of the answer, and no more."""

    def act(wire: Wire, seen: Seen, good: Reply) -> None:
        wire.send(data(good))
        if stall:
            wire.rest(stall)
        if reset:
            wire.rest(0.02)  # a reset overtakes what was sent right before it
            wire.reset()

    return Fault(name, act)


def _half(reply: Reply) -> bytes:
    return reply.whole[: -(len(reply.body) // 2) or None]


def _chunked(reply: Reply) -> bytes:
    half = reply.body[: len(reply.body) // 2]
    return reply.head(Transfer_Encoding="chunked") + f"{len(half):x}\r\n".encode() + half + b"\r\n"


IN_HEAD = [
    _cut("closed before the head", lambda reply: b""),
    _cut("reset before the head", lambda reply: b"", reset=True),
    _cut("closed in the first line", lambda reply: b"HTTP/1.1 20"),
    _cut("reset in the head", lambda reply: reply.whole[:30], reset=True),
    _cut("closed after 100", lambda reply: b"HTTP/1.1 100 Continue\r\n\r\n"),
]
IN_BODY = [
    _cut("cut in the body", _half),
    _cut("reset in the body", _half, reset=True),
    _cut("cut at the body", lambda reply: reply.head(Content_Length="10")),
    _cut("cut in a chunk", lambda reply: _chunked(reply)[:-4]),
    _cut("cut between chunks", _chunked),
    _cut("cut before the last line of the chunks", lambda reply: _chunked(reply) + b"0\r\n"),
]
STALLED = [
    _cut("no head", lambda reply: b"", stall=2),
    _cut("half a head", lambda reply: reply.whole[:30], stall=2),
]
GARBAGE = [
    _cut("no HTTP", lambda reply: b"SSH-2.0-OpenSSH_9.6\r\n\r\n"),
    _cut("a status that is none", lambda reply: b"HTTP/1.1 banana\r\nContent-Length: 0\r\n\r\n"),
    _cut("a length that is none", lambda reply: reply.head(Content_Length="-7") + reply.body),
    _cut("two lengths", lambda reply: reply.head(Content_Length="7", content_length="9") + reply.body),
    _cut("a chunk that is none", lambda reply: reply.head(Transfer_Encoding="chunked") + b"zz\r\n"),
]


def _lost(operation: Operation, face: str, fault: Fault, times: int, **options: Any) -> None:
    """Without an answer the call is made again where that is safe, and only there."""
    with Mock(service, [fault] * times) as mock:
        mock.counts = operation.is_mine
        result = outcome(mock, face, operation.call, **options)
        attempts = min(times + 1, 3) if operation.again else 1
        if operation.again and times < 3:
            assert operation.good(result.value), result.error
            assert operation.quiet or len(result.notices) == times
        else:
            was_lost(result, operation, attempts)
            assert "sent" not in vars(result.failure) or result.failure.sent  # type: ignore[attr-defined]
        if not operation.paged or times == 3:
            alike(mock, operation, attempts)


def _body_lost(operation: Operation, face: str, fault: Fault) -> None:
    """A file goes on where it broke off, so its requests differ."""
    with Mock(service, [fault]) as mock:
        mock.counts = operation.is_mine
        result = outcome(mock, face, operation.call)
        assert operation.good(result.value), result.error
        assert 2 <= len(mock.counted()) <= 3


def _not_listening(operation: Operation, face: str, times: int) -> None:
    """A refused connection: nothing was sent, and it says so."""
    with Mock(service, listening=False) as mock:
        mock.counts = operation.is_mine
        hook = (lambda notice: mock.listen() if notice.attempt == times else None) if times < 3 else None
        result = outcome(mock, face, operation.call, on_retry=hook)
        if operation.again and times < 3:
            assert operation.good(result.value), result.error
            assert operation.quiet or len(result.notices) == times
        else:
            was_lost(result, operation, 3 if operation.again else 1)
            assert result.failure.sent is False  # type: ignore[attr-defined]
            assert not mock.seen


def _accepted_and_dropped(operation: Operation, face: str, act: Callable[[Wire], None]) -> None:
    with Mock(service) as mock:
        mock.at_accept = [act] * 3
        result = outcome(mock, face, operation.call)
        assert not mock.seen
        was_lost(result, operation, 3 if operation.again else 1)


def _dropped_often(operation: Operation, face: str) -> None:
    """The same as often as it takes to meet the moment between the connection and the request."""
    for _ in range(80):
        with Mock(service) as mock:
            mock.at_accept = [lambda wire: wire.reset()]
            was_lost(outcome(mock, face, operation.call, max_retries=0), operation, 1)


def _refused(operation: Operation, face: str, reply: Reply, code: str | None, times: int, retries: int) -> None:
    """An answer other than 2xx: made again only after those that pass, and only where that is safe."""
    with Mock(service, [saying("refused", reply)] * times) as mock:
        mock.counts = operation.is_mine
        result = outcome(mock, face, operation.call, max_retries=retries)
        again = operation.again and reply.status in PASSING
        attempts = min(times, retries) + 1 if again else 1
        if again and times <= retries:
            assert operation.good(result.value), result.error
        else:
            was_answered(result, operation, reply.status, code, attempts)
        if not operation.paged or not result.value:
            alike(mock, operation, attempts)


def _garbage(operation: Operation, face: str, fault: Fault) -> None:
    with Mock(service, [fault] * 5) as mock:
        mock.counts = operation.is_mine
        result = outcome(mock, face, operation.call)
        assert result.failure
        assert 1 <= len(mock.counted()) <= (3 if operation.again else 1)


def _redirected(operation: Operation, face: str, status: int, *, elsewhere: bool) -> None:
    """The key goes to one origin. Nothing at all goes to another."""
    with Mock(lambda seen: answer({})) as other, Mock(service) as mock:
        origin = (other if elsewhere else mock).origin
        mock.script = [saying("moved", Reply(status, b"", {"Location": f"{origin}/api/developers/v1/moved"}))]
        mock.counts = operation.is_mine
        result = outcome(mock, face, operation.call)
        assert result.failure.status in (status, 404)
        assert not other.seen, other.seen[0].headers
        assert len(mock.counted()) == 1


PAGES: dict[str, bytes] = {
    "HTML": b"<html><h1>Bad gateway</h1></html>",
    "nothing": b"",
    "another JSON": b'{"detail": "no"}',
    "a text as error": b'{"error": "no"}',
    "a list": b'["no"]',
    "no message": b'{"error": {}}',
    "wrong types": b'{"error": {"message": 7, "type": [], "code": {"a": 1}}}',
    "not UTF-8": b'{"error": {"message": "\xff"}}',
    "deep": b"[" * 700,
    "long": b"x" * 3_000_000,
}


def _page(operation: Operation, face: str, status: int, body: bytes) -> None:
    """An answer from something in between is an error with the status and without a code."""
    with Mock(service, [saying("page", Reply(status, body, {"Content-Type": "text/html"}))]) as mock:
        mock.counts = operation.is_mine
        result = outcome(mock, face, operation.call, max_retries=0)
        was_answered(result, operation, status, None, 1)
        assert len(str(result.failure)) < 4_000


SLOW = [operation for operation in OPERATIONS if operation.name not in ("runs.attach",)]
CODES = {status: f"code_{status}" for status in (400, 401, 403, 404, 405, 409, 413, 418, 422, 501, *PASSING)}


def _cases() -> list[Case]:
    cases: list[Case] = []
    faces = list(FACES)

    def add(
        name: str, check: Callable[..., None], operation: Operation, *rest: Any, face: str = "", **more: Any
    ) -> None:
        face = face or faces[len(cases) % 3]
        cases.append(Case(f"{operation.name}-{face}-{name}", partial(check, operation, face, *rest, **more)))

    for operation in OPERATIONS:
        for fault in IN_HEAD:
            add(fault.name, _lost, operation, fault, 1)
            add(f"{fault.name} for good", _lost, operation, fault, 3)
        for fault in IN_BODY:
            if not operation.bytes_:
                add(fault.name, _lost, operation, fault, 1)
                add(f"{fault.name} for good", _lost, operation, fault, 3)
            elif operation.name != "runs.attach":
                add(fault.name, _body_lost, operation, fault)
        for fault in GARBAGE:
            add(fault.name, _garbage, operation, fault)
        add("not listening at first", _not_listening, operation, 1)
        for face in faces:
            add("not listening", _not_listening, operation, 3, face=face)
        if operation.multipart:
            name = f"reset when accepted-{operation.name}"
            cases.append(Case(name, partial(_dropped_often, operation, "async")))
        else:
            add("reset when accepted", _accepted_and_dropped, operation, lambda wire: wire.reset())
        for status, code in CODES.items():
            reply = problem(status, code, "api_error")
            add(f"{status}", _refused, operation, reply, code, 1, 2)
            if status in PASSING:
                add(f"{status} for good", _refused, operation, reply, code, 5, 1)
                add(f"{status} without retries", _refused, operation, reply, code, 1, 0)
        for status in (302, 307, 308):
            add(f"{status} elsewhere", _redirected, operation, status, elsewhere=True)
        add("302 here", _redirected, operation, 302, elsewhere=False)
        for i, (name, body) in enumerate(PAGES.items()):
            add(f"page with {name}", _page, operation, (502, 404, 500)[i % 3], body)
    for operation in SLOW:
        for fault in STALLED:
            add(fault.name, _lost, operation, fault, 1, timeout=0.7)
    return cases


@generated(_cases())
def test_faults(group: Group, pool: Pool) -> None:
    pool.check(group)
