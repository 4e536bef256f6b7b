"""Whatever is given to the client or answered by a service: what comes out is a `StefanBrainError`, as one sentence."""

from __future__ import annotations

import asyncio
import inspect
import json
import math
from collections.abc import Callable
from datetime import UTC, datetime
from functools import reduce
from typing import Any

import httpx
import pytest

from agentsvc_nb import AgentService, AsyncAgentService, StefanBrainError
from tests.client.conftest import KEY, RUN_ID, Network, answer, run

FACES: list[Any] = [AgentService, AsyncAgentService]
Networks = Callable[..., Network]


def called(face: Any, call: Callable[[Any], Any], **options: Any) -> Any:
    """The result of a call in either face, on a transport that answers everything with a run."""
    transport = httpx.MockTransport(lambda request: httpx.Response(200, json=run()))

    async def result() -> Any:
        given = call(face(KEY, **{"base_url": "http://service.test", "transport": transport, **options}))
        return await given if inspect.isawaitable(given) else given

    return asyncio.run(result())


NAN = math.nan
ITSELF: dict[str, Any] = {}
ITSELF["a"] = ITSELF
DEEP: list[Any] = reduce(lambda inner, _: [inner], range(100_000), list[Any]())
UNSENDABLE: dict[str, Callable[[Any], Any]] = {
    "NaN": lambda client: client.tools.invoke("x", {"a": NAN}),
    "a date": lambda client: client.tools.invoke("x", {"a": datetime.now(UTC)}),
    "a set": lambda client: client.jobs.submit("x", {"a": {1}}),
    "a tuple as a name": lambda client: client.jobs.submit("x", {(1, 2): 3}),
    "what holds itself": lambda client: client.tools.invoke("x", ITSELF),
    "what is too deep": lambda client: client.tools.invoke("x", {"a": DEEP}),
    "a lone surrogate": lambda client: client.runs.start("a\ud800"),
    "a lone surrogate beside files": lambda client: client.runs.start("a\ud800", files=[b"x"]),
    "a lone surrogate in a schema": lambda client: client.runs.start("a", output_config={"type": "\ud800"}),
    "a lone surrogate in a chat": lambda client: client.runs.start("a", chat="\ud800"),
    "extra fields that are none": lambda client: client.runs.start("a", extra_body={"a": NAN}),
}
NO_ID: dict[str, Callable[[Any], Any]] = {
    "runs.get": lambda client: client.runs.get(None),
    "runs.wait": lambda client: client.runs.wait(None),
    "runs.cancel": lambda client: client.runs.cancel(None),
    "runs.attach": lambda client: client.runs.attach(None),
    "runs.events": lambda client: client.runs.events(None),
    "runs.table": lambda client: client.runs.table(None),
    "runs.tables": lambda client: client.runs.tables(None),
    "runs.approve": lambda client: client.runs.approve(None, "call_1"),
    "runs.approve, no call": lambda client: client.runs.approve(RUN_ID, None),
    "jobs.status": lambda client: client.jobs.status(None, chat="chat_1"),
    "jobs.wait": lambda client: client.jobs.wait(None, chat="chat_1"),
    "jobs.cancel": lambda client: client.jobs.cancel(None, chat="chat_1"),
    "jobs.download_artifacts": lambda client: client.jobs.download_artifacts(None, to="."),
    "jobs.submit": lambda client: client.jobs.submit(None, {}),
    "tools.describe": lambda client: client.tools.describe(None),
    "tools.invoke": lambda client: client.tools.invoke(None, {}),
    "chats.retire": lambda client: client.chats.retire(None),
    "feedback.get": lambda client: client.feedback.get(None),
    "media.get": lambda client: client.media.get(None),
    "labels.get": lambda client: client.labels.get(None),
    "files.list": lambda client: client.files.list(None),
    "files.search": lambda client: client.files.search("x", chat=None),
    "files.download": lambda client: client.files.download(None, chat="chat_1"),
    "files.download, no chat": lambda client: client.files.download("a.txt"),
}
OTHERS: dict[str, Callable[[Any], Any]] = {
    "an empty id": lambda client: client.runs.get(""),
    "an id that leads elsewhere": lambda client: client.runs.cancel(".."),
    "an id that is a number": lambda client: client.runs.get(5),
    "an id of half a character": lambda client: client.runs.get("\ud800"),
    "a path of half a character": lambda client: client.files.download("\ud800", chat="chat_1"),
    "an id that no address holds": lambda client: client.runs.get("x" * 70_000),
    "words that no address holds": lambda client: client.files.search("x" * 70_000, chat="chat_1"),
    "a start of no length": lambda client: client.files.head("a", None, chat="chat_1"),
    "a start of NaN": lambda client: client.files.head("a", NAN, chat="chat_1"),
    "a file's name of half a character": lambda client: client.files.upload("a\ud800"),
    "a file's name with a zero": lambda client: client.files.upload("a\0"),
    "a place of half a character": lambda client: client.files.download("a", chat="chat_1", to="a\ud800"),
    "a place with a zero": lambda client: client.files.download("a", chat="chat_1", to="a\0/"),
    "no message": lambda client: client.runs.start(None),
    "no question": lambda client: client.ask(None),
    "one id for a list": lambda client: client.runs.start("x", file_ids="upload_1"),
    "a number for a list of ids": lambda client: client.ask("x", file_ids=5),
    "one file for a list": lambda client: client.runs.start("x", files="plan.pdf"),
    "a number for a list of files": lambda client: client.runs.start("x", files=5),
    "a schema as text": lambda client: client.runs.start("x", output_config="{}"),
    "a cursor that is none": lambda client: client.runs.attach(RUN_ID, after="x"),
    "an httpx.Timeout": lambda client: client.runs.get(RUN_ID, timeout=httpx.Timeout(5)),
    "a timeout as text": lambda client: client.runs.get(RUN_ID, timeout="5"),
    "a timeout of NaN": lambda client: client.runs.get(RUN_ID, timeout=NAN),
    "no time": lambda client: client.runs.get(RUN_ID, timeout=0),
    "a deadline of NaN": lambda client: client.runs.get(RUN_ID, deadline=NAN),
    "a wait of an httpx.Timeout": lambda client: client.runs.wait(RUN_ID, timeout=httpx.Timeout(5)),
    "an ask of NaN": lambda client: client.ask("x", timeout=NAN),
    "repeats as text": lambda client: client.runs.get(RUN_ID, max_retries="2"),
    "fewer than no repeats": lambda client: client.runs.get(RUN_ID, max_retries=-1),
    "a header without a text": lambda client: client.runs.get(RUN_ID, headers={"x": None}),
    "a header with a blank name": lambda client: client.runs.get(RUN_ID, headers={"x y": "1"}),
    "headers as a list": lambda client: client.runs.get(RUN_ID, headers=[("x", "1")]),
    "extra fields as a list": lambda client: client.runs.start("x", extra_body=[1]),
}


def look_up(item: str) -> str:
    """The price of an item."""
    return item


WHAT_TO_PASS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "one function for a list": (
        "`client_tools` must be a list of functions",
        lambda client: client.runs.start("x", client_tools=look_up),
    ),
    "a number for client tools": (
        "`client_tools` must be a list of functions",
        lambda client: client.runs.start("x", client_tools=5),
    ),
    "a text for client tools": (
        "`client_tools` must be a list of functions",
        lambda client: client.runs.start("x", client_tools="look_up"),
    ),
    "None for client tools": (
        "`client_tools` must be a list of functions",
        lambda client: client.runs.start("x", client_tools=None),
    ),
    "a pair of one": ("must be `(name, content)`", lambda client: client.runs.start("x", files=[("a",)])),
    "a pair of three": ("must be `(name, content)`", lambda client: client.files.upload(("a", b"", "text/plain"))),
    "a name that is a number": ("must be `(name, content)`", lambda client: client.files.upload((5, b""))),
    "a number for a place": ("must be a path", lambda client: client.files.download("a", chat="c", to=5)),
    "bytes for a place": ("must be a path", lambda client: client.files.download("a", chat="c", to=b"a")),
    "a number for a folder": (
        "must be a path",
        lambda client: client.jobs.download_artifacts("j", chat="c", to=5),
    ),
    "no folder": ("must be a path", lambda client: client.jobs.download_artifacts("j", chat="c", to=None)),
    "progress of an upload": ("`on_progress` must be", lambda client: client.files.upload(b"x", on_progress=5)),
    "progress of a download": (
        "`on_progress` must be",
        lambda client: client.files.download("a", chat="c", on_progress=5),
    ),
    "progress of artifacts": (
        "`on_progress` must be",
        lambda client: client.jobs.download_artifacts("j", chat="c", to="x", on_progress=5),
    ),
    "progress of a wait": ("`on_progress` must be", lambda client: client.jobs.wait("j", chat="c", on_progress=5)),
    "progress of a job": ("`on_progress` must be", lambda client: client.jobs.submit_and_wait("t", {}, on_progress=5)),
    "a hook that is none": ("`on_retry` must be", lambda client: client.with_options(on_retry=3)),
    "a wait's hook that is none": ("`on_wait` must be", lambda client: client.with_options(on_wait="x")),
}


@pytest.mark.parametrize(
    "body",
    [b'\xef\xbb\xbf{"run_id": "1", "status": "x"}', b'{"run_id": "1", "status": "x", "output": "a\\ud800"}'],
    ids=["a byte order mark", "half a character"],
)
def test_an_answer_with_a_byte_order_mark_or_half_a_character_is_read(network: Networks, body: bytes) -> None:
    """The service's JSON is legal; a run must not be unreadable for what its model wrote."""
    got = network(httpx.Response(200, content=body)).client.runs.get(RUN_ID)
    assert (got.status, got.output) in (("x", None), ("x", "a\ufffd"))


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("call", UNSENDABLE.values(), ids=UNSENDABLE)
def test_what_json_has_not_is_refused(face: Any, call: Callable[[Any], Any]) -> None:
    with pytest.raises(StefanBrainError, match="cannot be sent as JSON") as caught:
        called(face, call)
    assert (caught.value.code, caught.value.method) == ("invalid_json", "POST")
    assert caught.value.path.startswith("/api/developers/v1/")


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("call", NO_ID.values(), ids=NO_ID)
def test_none_is_no_id(face: Any, call: Callable[[Any], Any]) -> None:
    with pytest.raises(StefanBrainError, match="must be an id, or a record that has one, not None"):
        called(face, call)


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("call", OTHERS.values(), ids=OTHERS)
def test_other_values_that_cannot_be_are_refused(face: Any, call: Callable[[Any], Any]) -> None:
    with pytest.raises(StefanBrainError):
        called(face, call)


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize(("says", "call"), WHAT_TO_PASS.values(), ids=WHAT_TO_PASS)
def test_a_value_of_another_kind_is_refused_with_what_to_pass(face: Any, says: str, call: Callable[[Any], Any]) -> None:
    asked: list[httpx.Request] = []
    with pytest.raises(StefanBrainError) as caught:
        called(face, call, transport=httpx.MockTransport(lambda request: asked.append(request)))  # type: ignore[arg-type]
    assert says in caught.value.message
    assert caught.value.message.count("\n") == 0
    assert not asked


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize(
    "call",
    [
        lambda client: client.jobs.wait("j", chat="c", poll=NAN),
        lambda client: client.jobs.wait("j", chat="c", poll=-1),
        lambda client: client.runs.wait(RUN_ID, poll="3"),
        lambda client: client.ask("x", poll=NAN),
        lambda client: client.jobs.submit_and_wait("t", {}, poll="3"),
        lambda client: client.jobs.submit_and_wait("t", {}, timeout=NAN),
        lambda client: client.runs.start_and_stream("x", timeout=NAN),
    ],
)
def test_a_wait_that_cannot_be_is_refused_before_anything_is_started(face: Any, call: Callable[[Any], Any]) -> None:
    asked: list[httpx.Request] = []
    with pytest.raises(StefanBrainError, match="must be a number of seconds"):
        called(face, call, transport=httpx.MockTransport(lambda request: asked.append(request)))  # type: ignore[arg-type]
    assert not asked


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("value", [None, math.inf, 1e300, 10**400])
def test_without_a_limit_is_a_limit_like_any(face: Any, value: Any) -> None:
    assert called(face, lambda client: client.runs.get(RUN_ID, timeout=value, deadline=value)).run_id == RUN_ID
    assert called(face, lambda client: client.runs.get(RUN_ID), timeout=value, deadline=value).run_id == RUN_ID
    ended = httpx.MockTransport(lambda request: httpx.Response(200, json=run("completed")))
    assert called(face, lambda client: client.runs.wait(RUN_ID, timeout=value), transport=ended).ended


@pytest.mark.parametrize("face", FACES)
def test_a_constructor_checks_its_own(face: Any) -> None:
    wrong: list[dict[str, Any]] = [{"timeout": httpx.Timeout(5)}, {"deadline": NAN}, {"max_retries": "2"}]
    for options in (*wrong, {"headers": {"host": "x"}}, {"on_retry": 3}, {"on_wait": "x"}):
        with pytest.raises(StefanBrainError):
            face(KEY, **options)
    with pytest.raises(StefanBrainError):
        face(KEY.encode())


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize(
    "address",
    [
        *("http://a..b", f"http://{'a' * 64}.com", "http://\u2603.net", "http://.", "http://..", "http://[::1"),
        *("http://[::1]x", "http://[v1.x]", "http://xn--a", "http://xn--zzzzzz--", "http://a\u0301.x", "http://h\\x"),
        *("http://\uff11\uff12\uff17.0.0.1", "http://host:99999", "http://u@h", "http://h?", "ftp://h", "h", "", 5),
    ],
)
def test_odd_hosts_are_refused_before_anything_is_sent(face: Any, address: Any) -> None:
    with pytest.raises(StefanBrainError, match=r"base URL|no address"):
        called(face, lambda client: client.runs.get(RUN_ID), base_url=address)


# -- what a service answers ----------------------------------------------------------------------------------------


def sse(event: bytes) -> httpx.Response:
    frame = b"id: 1\ndata: " + event + b"\n\n"
    return httpx.Response(200, content=iter([frame]), headers={"content-type": "text/event-stream"})


def page(event: bytes) -> httpx.Response:
    return httpx.Response(200, content=b'{"data":[' + event + b'],"next_after":1,"status":"running"}')


@pytest.mark.parametrize(
    "event",
    [
        b'{"id":1,"type":"new.type","created_at":"","payload":{"a":1},"more":5}',
        b'{"id":"1","type":"x"}',
        b'{"id":1.0,"type":"x","created_at":null,"payload":null}',
        b'{"id":1,"type":"x","payload":{"a":NaN,"b":"\\ud800"}}',
        b'{"id":1,"type":"x","payload":{"a":' + b"[" * 300 + b"]" * 300 + b"}}",
    ],
)
def test_pages_and_the_stream_accept_the_same_events(network: Networks, event: bytes) -> None:
    streamed = next(network(answer(200, run()), sse(event)).client.runs.attach(RUN_ID))
    paged = network(page(event)).client.runs.events(RUN_ID).data[0]
    assert (type(streamed), repr(streamed)) == (type(paged), repr(paged))
    assert streamed.model_extra == paged.model_extra == ({"more": 5} if b"more" in event else {})


@pytest.mark.parametrize(
    "event",
    [
        *(b'{"id":1e400,"type":"x"}', b'{"id":true,"type":"x"}', b'{"id":1.5,"type":"x"}', b'{"id":null,"type":"x"}'),
        *(b'{"id":1}', b'{"id":1,"type":5}', b'{"id":1,"type":"x","payload":[]}', b'{"id":1,"type":"x","payload":0}'),
        *(b"[1]", b'{"id":1,"type":"x","created_at":5}', b'{"id":1,"type":"x","payload":' + b"[" * 100_000 + b"}"),
        *(b"\xff", b"{"),
    ],
)
def test_pages_and_the_stream_refuse_the_same_events(network: Networks, event: bytes) -> None:
    answers = (answer(200, run()), sse(event))
    with pytest.raises(StefanBrainError):
        next(network(*answers).client.runs.attach(RUN_ID, max_retries=0))
    with pytest.raises(StefanBrainError):
        network(page(event)).client.runs.events(RUN_ID)


@pytest.mark.parametrize(
    "given",
    ["1e400", "nan", "inf", "Mon, 99 Foo 99999 00:00:00 +99999999", "Wed, 21 Oct 2065 07:28:00 -0000"],
)
def test_a_retry_after_that_cannot_be_read(network: Networks, given: str) -> None:
    with pytest.raises(StefanBrainError) as caught:
        network(answer(429, retry_after=given)).client.runs.get(RUN_ID, max_retries=0)
    assert caught.value.retry_after_seconds is None


@pytest.mark.parametrize("hint", [-5, 10**400])
def test_an_interval_that_cannot_be_slept(network: Networks, hint: int) -> None:
    body = json.dumps({"job_id": "j", "chat": "c", "status": "running", "recommended_poll_after_ms": hint})
    done = {"job_id": "j", "chat": "c", "status": "succeeded"}
    net = network(httpx.Response(200, content=body.encode()), answer(200, done))
    assert net.client.jobs.wait("j", chat="c", timeout=None).ended
    assert 0 <= net.io.slept[0] <= 3_600


def test_a_thousand_repeats(network: Networks) -> None:
    net = network(*[answer(503)] * 1_100, answer(200, run()))
    assert net.client.runs.get(RUN_ID, max_retries=1_100).run_id == RUN_ID
