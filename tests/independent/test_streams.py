"""Event streams: cut anywhere, written in every way that the format allows, repeated, disordered and silent."""

from collections.abc import Callable
from functools import partial
from typing import Any

from agentsvc_nb import APIConnectionError, AuthenticationError, JobTimeoutError, StefanBrainError
from tests.independent.checking import Outcome, outcome
from tests.independent.faces import FACES, Case, Followed, Group, Pool, following, generated
from tests.independent.mock import Fault, Mock, Reply, Seen, Wire, answer, frames, problem
from tests.independent.operations import IDEM
from tests.independent.records import RUN, event, instead, run, service
from tests.independent.streams import ATTACHED, STORY, TEXT, WHOLE, WRITINGS, Way, raw, sse, streaming


def _followed(mock: Mock, face: str, **options: Any) -> Followed:
    result = outcome(mock, face, ATTACHED, **options)
    assert isinstance(result.value, Followed), result.error
    return result.value


def _is_whole(followed: Followed) -> None:
    assert followed.ids == WHOLE
    assert [each.payload for each in followed.events] == [each["payload"] for each in STORY]
    assert "".join(e.payload["text"] for e in followed.events if e.type == "text.delta") == TEXT
    assert followed.final.status == "completed"
    assert followed.cursor == WHOLE[-1]


def _whole(face: str, reconnects: int | None, *ways: Way) -> None:
    with streaming(*ways) as mock:
        followed = _followed(mock, face)
        _is_whole(followed)
        if reconnects is not None:
            assert followed.reconnects == reconnects
            assert len(mock.counted()) == reconnects + 1


def _cut_at(face: str, at: int, reset: bool) -> None:
    """Cut after any byte: the next request names the last event that was whole, and none comes twice or is lost."""
    body = b"retry: 10\n\n" + frames(*STORY)

    def act(wire: Wire, seen: Seen, good: Reply) -> None:
        wire.send(sse(b"").head() + body[:at])
        if reset:
            wire.rest(0.03)
            wire.reset()

    with streaming(Fault("cut", act)) as mock:
        _is_whole(_followed(mock, face))
        requests = mock.counted()
        whole = max(0, body[:at].count(b"\n\n") - 1)
        if whole < len(STORY):
            assert len(requests) == 2
            assert (requests[1].header("last-event-id") or "0") == str(whole)


def _many_cuts(face: str, size: int) -> None:
    """Each connection gives a little more; as long as it does, following goes on beyond any number of retries."""

    def act(wire: Wire, seen: Seen, good: Reply) -> None:
        after = int(seen.header("last-event-id") or 0)
        wire.send(sse(b"").head() + b"retry: 1\n\n" + frames(*STORY[after : after + size]) + b"id: 99\ndata: {")

    with streaming(*[Fault("cut", act)] * 9) as mock:
        _is_whole(_followed(mock, face, max_retries=1))


def _written(face: str, body: bytes, size: int) -> None:
    with streaming(raw(body, size)) as mock:
        followed = _followed(mock, face)
        _is_whole(followed)
        assert followed.reconnects == 0


def _text_pieces(face: str) -> None:
    def sync(client: Any) -> list[str]:
        with client.runs.attach(RUN) as stream:
            return list(stream.text)

    async def awaited(client: Any) -> list[str]:
        async with client.runs.attach(RUN) as stream:
            return [piece async for piece in stream.text]

    with streaming(raw(frames(*STORY[:4])), raw(frames(*STORY))) as mock:
        assert "".join(outcome(mock, face, awaited if face == "async" else sync).value) == TEXT


S = STORY
ORDERS: dict[str, tuple[int | None, list[Way]]] = {
    "each twice": (0, [sse(frames(*(each for pair in zip(S, S, strict=True) for each in pair)))]),
    "told again from the start": (1, [sse(frames(*S[:5])), sse(frames(*S))]),
    "told again in the middle": (0, [sse(frames(*S[:5], *S[2:]))]),
    "two in the wrong order": (None, [sse(frames(S[0], S[2], S[1], *S[3:]))]),
    "backwards": (None, [sse(frames(*reversed(S)))]),
    "one is missing": (None, [sse(frames(S[0], *S[2:]))]),
    "the first are missing": (None, [sse(frames(*S[3:]))]),
    "all but the end are missing": (None, [sse(frames(S[-1]))]),
    "an empty stream": (1, [sse(b"")]),
    "pings alone": (1, [sse(b": ping\n\n" * 3)]),
    "more after the end": (0, [sse(frames(*S, event(9, "text.delta", text="late")))]),
    "it stays open after the end": (0, [raw(frames(*S), then=30)]),
    "another charset": (0, [sse(frames(*S), "text/event-stream; charset=utf-8")]),
    "a 503 when it goes on": (None, [sse(frames(*S[:3])), problem(503, "brain_unavailable")]),
    "a 429 when it goes on": (
        None,
        [sse(frames(*S[:3])), problem(429, "user_throttled", headers={"Retry-After": "0"})],
    ),
    "a 502 of something between": (None, [sse(frames(*S[:3])), Reply(502, b"<html>")]),
}


def _others(face: str) -> None:
    """Types and fields that nobody knows yet are passed on as they are."""
    strange = event(2, "a.type.of.the.future", deep={"x": [1, None, "ä"]})
    events = [S[0], strange, event(3, "run.status", status="a_state_of_the_future"), event(4, "run.ended", run=run())]
    with streaming(sse(frames(*events))) as mock:
        followed = _followed(mock, face)
        assert followed.ids == [1, 2, 3, 4]
        assert followed.events[1].type == "a.type.of.the.future"
        assert followed.events[1].payload == strange["payload"]
        assert followed.events[1].model_extra == {"a_field_of_the_future": {"deep": [1, None]}}


def _large(face: str, size: int, lines: int) -> None:
    """Long lines, and many of them."""
    text = "ü" * size
    events = [S[0], *[event(i + 2, text=text) for i in range(lines)], event(lines + 2, "run.ended", run=run())]
    with streaming(sse(frames(*events))) as mock:
        followed = _followed(mock, face)
        assert len(followed.events) == lines + 2
        assert all(each.payload["text"] == text for each in followed.events[1:-1])


def _ends(face: str, status: int, code: str, kind: type[StefanBrainError], last: int) -> None:
    """What will not pass ends it at once, and the error says up to where it had come."""
    ways = [sse(frames(*S[:last]))] if last else []
    with streaming(*ways, *[problem(status, code)] * 5) as mock:
        error = outcome(mock, face, ATTACHED).failure
        assert (type(error), error.status, error.code, error.last_event_id) == (kind, status, code, last)
        assert len(mock.counted()) == len(ways) + 1


def _lost_for_good(face: str, way: Way) -> None:
    status = isinstance(way, Reply) and way.status != 200
    with streaming(sse(frames(*S[:3])), *[way] * 9) as mock:
        error = outcome(mock, face, ATTACHED).failure
        assert (type(error), error.status) == ((StefanBrainError, 504) if status else (APIConnectionError, None))
        assert error.last_event_id == 3
        assert len(mock.counted()) == 3


def _handed_out(face: str, size: int, pause: float) -> None:
    """What came before an event that cannot be read is handed out, however the bytes are divided."""
    got: list[int] = []

    def sync(client: Any) -> None:
        with client.runs.attach(RUN) as stream:
            for each in stream:
                got.append(each.id)

    async def awaited(client: Any) -> None:
        async with client.runs.attach(RUN) as stream:
            async for each in stream:
                got.append(each.id)

    with streaming(*[raw(frames(*S[:3]) + b"id: 4\ndata: {bad\n\n", size, pause=pause)] * 5) as mock:
        assert outcome(mock, face, awaited if face == "async" else sync).failure.last_event_id == 3
        assert got == [1, 2, 3]


def _no_stream(face: str, way: Way) -> None:
    with streaming(*[way] * 5) as mock:
        assert outcome(mock, face, ATTACHED).failure
        assert len(mock.counted()) <= 3


def _silent(face: str) -> None:
    """Pings keep it alive; silence is a dropped connection."""

    def pings(wire: Wire, seen: Seen, good: Reply) -> None:
        wire.send(sse(b"").head() + frames(*S[:2]))
        for _ in range(8):
            wire.rest(0.25)
            wire.send(b": ping\n\n")
        wire.send(frames(*S[2:5]))
        wire.rest(4)

    with streaming(Fault("pings", pings)) as mock:
        followed = _followed(mock, face, timeout=1.2)
        _is_whole(followed)
        assert followed.reconnects == 1
        assert mock.counted()[1].header("last-event-id") == "5"


def _started(face: str, key: str | None, fault: Fault | None) -> None:
    """A start that is followed: one POST, or with a key the same one again, then the stream."""
    call = following(lambda c: c.runs.start_and_stream("Hi", idempotency_key=key))
    with Mock(service, [fault] if fault else []) as mock:
        result = outcome(mock, face, call)
        posts = [seen for seen in mock.seen if seen.method == "POST"]
        if fault and key is None:
            assert type(result.failure) is APIConnectionError
            assert len(mock.seen) == 1
            return
        _is_whole(result.value)
        assert len(posts) == 1 + bool(fault)
        assert {seen.header("idempotency-key") for seen in posts} == {key}
        assert all(seen.header("idempotency-key") is None for seen in mock.seen if seen.method == "GET")
        assert all("sync" not in seen.json or seen.json["sync"] is False for seen in posts)


def _replayed(face: str) -> None:
    """A key whose run has ended: 200 with the record, and the run is replayed from its first event."""
    call = following(lambda c: c.runs.start_and_stream("Hi", idempotency_key=IDEM))
    with Mock(instead("POST", "/runs", lambda seen: answer(run()))) as mock:
        _is_whole(outcome(mock, face, call).value)


def _in_time(face: str) -> None:
    """The time for the whole ends it, with the run's id; the run is not cancelled."""
    call = following(lambda c: c.runs.start_and_stream("Hi", timeout=0.6))
    with streaming(raw(frames(*S[:3]), then=20)) as mock:
        error = outcome(mock, face, call).failure
        assert type(error) is JobTimeoutError
        assert getattr(error, "job_id", None) == RUN
        assert not [seen for seen in mock.seen if seen.path.endswith("/cancel")]


def _left_early(face: str) -> None:
    """Who stops reading lets the connection go, and the run go on."""

    def sync(client: Any) -> int:
        with client.runs.attach(RUN) as stream:
            return int(next(iter(stream)).id)

    async def awaited(client: Any) -> int:
        async with client.runs.attach(RUN) as stream:
            async for each in stream:
                return int(each.id)
        return 0

    with streaming(raw(frames(*S[:3]), then=20)) as mock:
        assert outcome(mock, face, awaited if face == "async" else sync).value == 1
        assert all(seen.method == "GET" for seen in mock.seen)


def _waited(face: str, *ways: Way) -> None:
    """`wait` follows the events of a run that goes on, and gives the finished record."""
    records = iter([run("running"), run("a_state_of_the_future")])
    with streaming(*ways) as mock:
        answers = mock.answers
        mock.answers = lambda seen: (
            answer(next(records, run())) if (seen.method, seen.path) == ("GET", f"/runs/{RUN}") else answers(seen)
        )
        result: Outcome = outcome(mock, face, lambda c: c.runs.wait(RUN, poll=0.05))
        assert result.value, result.error
        assert result.value.status == "completed"


def _cases() -> list[Case]:
    cases: list[Case] = []
    faces = list(FACES)

    def add(name: str, check: Callable[..., None], *rest: Any, all_faces: bool = True) -> None:
        for face in faces if all_faces else [faces[len(cases) % 3]]:
            cases.append(Case(f"{name}-{face}", partial(check, face, *rest)))

    size = len(b"retry: 10\n\n" + frames(*STORY))
    for at in range(0, size, 7):
        add(f"cut at {at}", _cut_at, at, at % 2 == 0, all_faces=False)
    for pieces in (1, 2, 3):
        add(f"{pieces} events a connection", _many_cuts, pieces)
    for name, body in WRITINGS.items():
        for count in (1, 2, 5, 1 << 20):
            add(f"{name} by {count}", _written, body, count, all_faces=count > 5)
    for name, (reconnects, ways) in ORDERS.items():
        add(name, _whole, reconnects, *ways)
    add("pieces of text", _text_pieces)
    add("what nobody knows yet", _others)
    for length, lines in ((1_500_000, 1), (10, 3_000), (70_000, 20)):
        add(f"{lines} lines of {length}", _large, length, lines)
    for last in (0, 3):
        add(f"404 after {last}", _ends, 404, "run_not_found", StefanBrainError, last)
        add(f"401 after {last}", _ends, 401, "unauthorized", AuthenticationError, last)
        add(f"403 after {last}", _ends, 403, "key_suspended", StefanBrainError, last)
    add("closed again and again", _lost_for_good, Fault("closed", lambda wire, seen, good: None))
    add("empty again and again", _lost_for_good, sse(b""))
    add("504 again and again", _lost_for_good, problem(504, None))
    add("a type in capitals", _whole, 0, sse(frames(*S), "Text/Event-Stream"))
    add("an unreadable event at once", _handed_out, 1 << 20, 0)
    add("an unreadable event in pieces", _handed_out, 1, 0.0005)
    for name, way in {"HTML": sse(b"<html>", "text/html"), "204": Reply(204), "an empty page": Reply(200)}.items():
        add(name, _no_stream, way)
    add("pings and silence", _silent)
    lost = Fault("lost", lambda wire, seen, good: wire.reset())
    for key in (None, IDEM):
        for fault in (None, lost):
            add(f"started with {key} and {fault and fault.name}", _started, key, fault)
    add("replayed", _replayed)
    add("out of time", _in_time)
    add("left early", _left_early)
    add("waited", _waited)
    add("waited through cuts", _waited, raw(frames(*S[:3])), raw(frames(*S[3:5])))
    add("waited through an empty stream", _waited, sse(b""))
    return cases


@generated(_cases())
def test_streams(group: Group, pool: Pool) -> None:
    pool.check(group)
