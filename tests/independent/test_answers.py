"""Each operation in each way of use: what it sends, and what it makes of good answers and of odd ones."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

from tests.independent.checking import alike, outcome
from tests.independent.faces import FACES, Case, Group, Pool, generated
from tests.independent.mock import Fault, Mock, Reply, Seen, Wire, saying
from tests.independent.operations import JSON_OPERATIONS, OPERATIONS, Operation
from tests.independent.records import KEY, service


def _good(operation: Operation, face: str) -> None:
    with Mock(service) as mock:
        mock.counts = operation.is_mine
        result = outcome(mock, face, operation.call)
        assert operation.good(result.value), (result.value, result.error)
        if not operation.paged:
            alike(mock, operation, 1)
        assert not result.notices


def _answers(name: str, send: Callable[[Wire, Reply], None], *, keeps: bool = True) -> Fault:
    return Fault(name, lambda wire, seen, good: send(wire, good), keeps=keeps)


def _chunks(reply: Reply, size: int) -> bytes:
    body = reply.body
    parts = [body[i : i + size] for i in range(0, len(body), size)]
    chunked = b"".join(f"{len(part):X};x=y\r\n".encode() + part + b"\r\n" for part in parts)
    return reply.head(Transfer_Encoding="chunked") + chunked + b"0\r\nTrailer: x\r\n\r\n"


def _bit_by_bit(wire: Wire, reply: Reply) -> None:
    whole = reply.whole
    for i in range(0, len(whole), max(1, len(whole) // 60)):
        wire.send(whole[i : i + max(1, len(whole) // 60)])


def _typed(kind: str) -> Callable[[Wire, Reply], None]:
    return lambda wire, reply: wire.send(Reply(reply.status, reply.body, {**reply.headers, "Content-Type": kind}).whole)


FORMS = [
    _answers("in chunks", lambda wire, reply: wire.send(_chunks(reply, 7))),
    _answers("in pieces", _bit_by_bit),
    _answers("up to the end of the connection", lambda wire, reply: wire.send(reply.head() + reply.body), keeps=False),
    _answers(
        "after 103", lambda wire, reply: wire.send(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + reply.whole)
    ),
    _answers(
        "with Connection: close",
        lambda wire, reply: wire.send(reply.head(Connection="close", Content_Length=str(len(reply.body))) + reply.body),
        keeps=False,
    ),
    _answers(
        "with headers of the future",
        lambda wire, reply: wire.send(
            reply.head(X_Long="y" * 8000, X_Latin="\xe9", Content_Length=str(len(reply.body))) + reply.body
        ),
    ),
]
JSON_FORMS = [
    _answers("as another JSON type", _typed("application/vnd.x+json; charset=utf-8")),
    _answers("without a type", _typed("text/plain")),
    _answers(
        "with blanks around it",
        lambda wire, reply: wire.send(Reply(reply.status, b" \r\n\t" + reply.body + b"\n ", reply.headers).whole),
    ),
]


def _in_form(operation: Operation, face: str, form: Fault) -> None:
    with Mock(service, [form] * 9) as mock:
        mock.counts = operation.is_mine
        result = outcome(mock, face, operation.call)
        assert operation.good(result.value), (result.value, result.error)
        if not operation.paged:
            alike(mock, operation, 1)


ODD = {
    "empty": b"",
    "HTML": b"<html>Welcome to the hotel's network</html>",
    "a list": b"[1]",
    "a number": b"7",
    "null": b"null",
    "a text": b'"fine"',
    "half of it": b'{"object": "list", "data": [',
    "not UTF-8": b'{"object": "\xff\xfe"}',
    "an empty object of wrong types": b'{"data": 7, "files": 7, "results": 7, "labels": 7, "job_id": [], "run_id": {}}',
    "deep": b"[" * 700,
    "a number without end": b'{"object": ' + b"9" * 6_000 + b"}",
    "NaN": b'{"object": NaN, "data": NaN}',
    "half a surrogate": rb'{"run_id": 3, "id": 4, "data": "\ud800", "files": 1, "results": 1, "labels": 1}',
}


def _odd(operation: Operation, face: str, status: int, body: bytes, headers: dict[str, str]) -> None:
    """No answer of this API: told as an error of the client's own, and nothing unsafe is done a second time."""
    with Mock(service, [saying("odd", Reply(status, body, headers))] * 5) as mock:
        mock.counts = operation.is_mine
        result = outcome(mock, face, operation.call)
        assert result.failure
        assert 1 <= len(mock.counted()) <= (3 if operation.again else 1)


def _fields_of(operation: Operation) -> list[str]:
    """The fields of the record that the operation's good answer is."""
    query = "&".join(f"{key}={value}" for key, value in operation.query.items())
    seen = Seen(
        operation.method, f"/api/developers/v1{operation.path}?{query}", [("authorization", "Bearer " + KEY)], 0
    )
    seen.body = json.dumps({"tool": "x", "name": "x", "approved": True, **operation.body}).encode()
    return [name for name in json.loads(service(seen).body) if name != "a_field_of_the_future"]


def _without(name: str, null: bool) -> Fault:
    def act(wire: Wire, seen: Seen, good: Reply) -> None:
        document: dict[str, Any] = json.loads(good.body)
        if null:
            document[name] = None
        else:
            document.pop(name)
        wire.send(Reply(good.status, json.dumps(document).encode(), good.headers).whole)

    return Fault(name, act, keeps=True)


def _lacking(operation: Operation, face: str, name: str) -> None:
    """A field that is absent or null: a value, or an error of the client's own, and nothing else; null is as absent."""
    failed = []
    for null in (False, True):
        with Mock(service, [_without(name, null)] * 9) as mock:
            mock.counts = operation.is_mine
            result = outcome(mock, face, operation.call, max_retries=0)
            assert result.error is None or result.failure
            failed.append(result.error is not None)
    assert failed[0] or not failed[1]


def _unknown_is_kept(operation: Operation, face: str) -> None:
    with Mock(service) as mock:
        value = outcome(mock, face, operation.call).value
        first = value[0] if isinstance(value, list) or not hasattr(value, "model_extra") else value
        assert first.model_extra["a_field_of_the_future"] == {"deep": [1, None]}


def _cases() -> list[Case]:
    cases = [Case(f"{o.name}-{f}-good", partial(_good, o, f)) for o in OPERATIONS for f in FACES]
    faces = list(FACES)
    for i, operation in enumerate(OPERATIONS):
        for j, form in enumerate(FORMS if operation.bytes_ else [*FORMS, *JSON_FORMS]):
            face = faces[(i + j) % 3]
            cases.append(Case(f"{operation.name}-{face}-{form.name}", partial(_in_form, operation, face, form)))
    for i, operation in enumerate(JSON_OPERATIONS):
        for j, (name, body) in enumerate(ODD.items()):
            face = faces[(i + j) % 3]
            cases.append(Case(f"{operation.name}-{face}-{name}", partial(_odd, operation, face, 200, body, {})))
        zipped = partial(_odd, operation, faces[i % 3], 200, b"no gzip at all", {"Content-Encoding": "gzip"})
        cases.append(Case(f"{operation.name}-{faces[i % 3]}-zipped wrongly", zipped))
        for j, name in enumerate(_fields_of(operation)):
            face = faces[(i + j) % 3]
            cases.append(Case(f"{operation.name}-{face}-lacking {name}", partial(_lacking, operation, face, name)))
    return cases


@generated(_cases())
def test_answers(group: Group, pool: Pool) -> None:
    pool.check(group)
