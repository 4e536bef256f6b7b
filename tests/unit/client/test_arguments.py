"""Values that cannot be sent: the client refuses each with a `StefanBrainError` of one sentence, in both faces."""

from __future__ import annotations

import math
import operator
from datetime import UTC, datetime
from functools import reduce
from typing import Any

import httpx
import pytest

from agentsvc_nb import AgentService, AsyncAgentService, StefanBrainError
from tests.unit.client.conftest import KEY, RUN_ID, Networks, answer, run
from tests.unit.independent.faces import Call

NAN = math.nan
ITSELF: dict[str, Any] = {}
ITSELF["a"] = ITSELF
DEEP: list[Any] = reduce(lambda inner, _: [inner], range(100_000), list[Any]())
NO_JSON: dict[str, Call] = {
    "NaN": lambda c: c.tools.invoke("x", {"a": NAN}),
    "a date": lambda c: c.tools.invoke("x", {"a": datetime.now(UTC)}),
    "a set": lambda c: c.jobs.submit("x", {"a": {1}}),
    "a tuple as a name": lambda c: c.jobs.submit("x", {(1, 2): 3}),
    "what holds itself": lambda c: c.tools.invoke("x", ITSELF),
    "what is too deep": lambda c: c.tools.invoke("x", {"a": DEEP}),
    "a lone surrogate": lambda c: c.runs.start("a\ud800"),
    "a lone surrogate with files": lambda c: c.runs.start("a\ud800", files=[b"x"]),
    "a lone surrogate in a schema": lambda c: c.runs.start("a", output_config={"type": "\ud800"}),
    "a lone surrogate in a chat": lambda c: c.runs.start("a", chat="\ud800"),
    "extra fields": lambda c: c.runs.start("a", extra_body={"a": NAN}),
}


def without_id(name: str, **more: Any) -> Call:
    """Make a call of the operation with None for its id."""
    return lambda client: operator.attrgetter(name)(client)(None, **more)


ALONE = (
    *("runs.get", "runs.wait", "runs.cancel", "runs.attach", "runs.events", "runs.tables"),
    *("tools.describe", "chats.retire", "feedback.get", "media.get", "labels.get", "files.list"),
)
NO_ID: dict[str, Call] = {
    **{name: without_id(name) for name in ALONE},
    **{name: without_id(name, chat="c") for name in ("jobs.status", "jobs.wait", "jobs.cancel", "files.download")},
    "runs.approve": lambda c: c.runs.approve(None, "call_1"),
    "runs.approve, no call": lambda c: c.runs.approve(RUN_ID, None),
    "jobs.download_artifacts": lambda c: c.jobs.download_artifacts(None, to="."),
    "jobs.submit": lambda c: c.jobs.submit(None, {}),
    "tools.invoke": lambda c: c.tools.invoke(None, {}),
    "files.search": lambda c: c.files.search("x", chat=None),
    "files.download, no chat": lambda c: c.files.download("a.txt"),
}
SECONDS: dict[str, Call] = {
    "jobs.wait, NaN": lambda c: c.jobs.wait("j", chat="c", poll=NAN),
    "jobs.wait, -1": lambda c: c.jobs.wait("j", chat="c", poll=-1),
    "runs.wait": lambda c: c.runs.wait(RUN_ID, poll="3"),
    "ask": lambda c: c.ask("x", poll=NAN),
    "jobs.submit_and_wait, poll": lambda c: c.jobs.submit_and_wait("t", {}, poll="3"),
    "jobs.submit_and_wait, timeout": lambda c: c.jobs.submit_and_wait("t", {}, timeout=NAN),
    "runs.start_and_stream": lambda c: c.runs.start_and_stream("x", timeout=NAN),
}
OTHERS: dict[str, Call] = {
    "an empty id": lambda c: c.runs.get(""),
    "an id that leads elsewhere": lambda c: c.runs.cancel(".."),
    "an id that is a number": lambda c: c.runs.get(5),
    "an id of half a character": lambda c: c.runs.get("\ud800"),
    "a path of half a character": lambda c: c.files.download("\ud800", chat="chat_1"),
    "an id that no address holds": lambda c: c.runs.get("x" * 70_000),
    "words that no address holds": lambda c: c.files.search("x" * 70_000, chat="chat_1"),
    "a start of no length": lambda c: c.files.head("a", None, chat="chat_1"),
    "a start of NaN": lambda c: c.files.head("a", NAN, chat="chat_1"),
    "a file's name of half a character": lambda c: c.files.upload("a\ud800"),
    "a file's name with a zero": lambda c: c.files.upload("a\0"),
    "a place of half a character": lambda c: c.files.download("a", chat="chat_1", to="a\ud800"),
    "a place with a zero": lambda c: c.files.download("a", chat="chat_1", to="a\0/"),
    "no message": lambda c: c.runs.start(None),
    "no question": lambda c: c.ask(None),
    "one id for a list": lambda c: c.runs.start("x", file_ids="upload_1"),
    "a number for a list of ids": lambda c: c.ask("x", file_ids=5),
    "one file for a list": lambda c: c.runs.start("x", files="plan.pdf"),
    "a number for a list of files": lambda c: c.runs.start("x", files=5),
    "a schema as text": lambda c: c.runs.start("x", output_config="{}"),
    "a cursor that is none": lambda c: c.runs.events(RUN_ID, after="x"),
    "an httpx.Timeout": lambda c: c.runs.get(RUN_ID, timeout=httpx.Timeout(5)),
    "a timeout as text": lambda c: c.runs.get(RUN_ID, timeout="5"),
    "a timeout of NaN": lambda c: c.runs.get(RUN_ID, timeout=NAN),
    "no time": lambda c: c.runs.get(RUN_ID, timeout=0),
    "a deadline of NaN": lambda c: c.runs.get(RUN_ID, deadline=NAN),
    "a wait of an httpx.Timeout": lambda c: c.runs.wait(RUN_ID, timeout=httpx.Timeout(5)),
    "repeats as text": lambda c: c.runs.get(RUN_ID, max_retries="2"),
    "fewer than no repeats": lambda c: c.runs.get(RUN_ID, max_retries=-1),
    "a header without a text": lambda c: c.runs.get(RUN_ID, headers={"x": None}),
    "a header with a blank name": lambda c: c.runs.get(RUN_ID, headers={"x y": "1"}),
    "headers as a list": lambda c: c.runs.get(RUN_ID, headers=[("x", "1")]),
    "extra fields as a list": lambda c: c.runs.start("x", extra_body=[1]),
}


def look_up(item: str) -> str:
    """The price of an item."""
    return item


WHAT_TO_PASS: dict[str, tuple[str, Call]] = {
    f"client tools, {given!r:.9}": (
        "`client_tools` must be a list of functions",
        lambda c, given=given: c.runs.start("x", client_tools=given),
    )
    for given in (look_up, 5, "look_up", None)
} | {
    "a pair of one": ("must be `(name, content)`", lambda c: c.runs.start("x", files=[("a",)])),
    "a pair of three": ("must be `(name, content)`", lambda c: c.files.upload(("a", b"", "text/plain"))),
    "a name that is a number": ("must be `(name, content)`", lambda c: c.files.upload((5, b""))),
    "a number for a place": ("must be a path", lambda c: c.files.download("a", chat="c", to=5)),
    "bytes for a place": ("must be a path", lambda c: c.files.download("a", chat="c", to=b"a")),
    "a number for a folder": ("must be a path", lambda c: c.jobs.download_artifacts("j", chat="c", to=5)),
    "no folder": ("must be a path", lambda c: c.jobs.download_artifacts("j", chat="c", to=None)),
    "progress, upload": ("`on_progress` must be", lambda c: c.files.upload(b"x", on_progress=5)),
    "progress, download": ("`on_progress` must be", lambda c: c.files.download("a", chat="c", on_progress=5)),
    "progress, wait": ("`on_progress` must be", lambda c: c.jobs.wait("j", chat="c", on_progress=5)),
    "progress, job": ("`on_progress` must be", lambda c: c.jobs.submit_and_wait("t", {}, on_progress=5)),
    "progress, artifacts": (
        "`on_progress` must be",
        lambda c: c.jobs.download_artifacts("j", chat="c", to="x", on_progress=5),
    ),
    "on_retry": ("`on_retry` must be", lambda c: c.with_options(on_retry=3)),
    "on_wait": ("`on_wait` must be", lambda c: c.with_options(on_wait="x")),
}  # fmt: skip
REFUSED: dict[str, tuple[str, Call]] = {
    **{f"no JSON: {name}": ("cannot be sent as JSON", call) for name, call in NO_JSON.items()},
    **{f"None: {name}": ("must be an id, or a record that has one, not None", call) for name, call in NO_ID.items()},
    **{f"seconds: {name}": ("must be a number of seconds", call) for name, call in SECONDS.items()},
    **{name: ("", call) for name, call in OTHERS.items()},
    **WHAT_TO_PASS,
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_value_that_cannot_be_sent_is_refused_before_anything_is(both: Networks, case: str) -> None:
    says, call = REFUSED[case]
    net = both()
    error = net.error(call)
    assert says in error.message
    assert "\n" not in error.message
    assert not net.requests
    if case.startswith("no JSON"):
        assert (error.code, error.method) == ("invalid_json", "POST")


@pytest.mark.parametrize("value", [None, math.inf, 1e300, 10**400])
def test_without_a_limit_is_a_limit_like_any(both: Networks, value: Any) -> None:
    net = both(answer(200, run()), answer(200, run()), answer(200, run("completed")))
    assert net.call(lambda c: c.runs.get(RUN_ID, timeout=value, deadline=value)).run_id == RUN_ID
    assert net.call(lambda c: c.runs.get(RUN_ID), timeout=value, deadline=value).run_id == RUN_ID
    assert net.call(lambda c: c.runs.wait(RUN_ID, timeout=value)).ended


@pytest.mark.parametrize("face", [AgentService, AsyncAgentService])
@pytest.mark.parametrize(
    "options",
    [
        {"timeout": httpx.Timeout(5)}, {"deadline": NAN}, {"max_retries": "2"}, {"headers": {"host": "x"}},
        {"on_retry": 3}, {"on_wait": "x"}, {"api_key": KEY.encode()},
    ],
    ids=str,
)  # fmt: skip
def test_a_constructor_checks_its_own(face: Any, options: dict[str, Any]) -> None:
    with pytest.raises(StefanBrainError):
        face(**{"api_key": KEY} | options)


def test_an_unknown_option_is_named() -> None:
    names = "'retries' is not an argument of this call. Its options are deadline, extra_body"
    with pytest.raises(TypeError, match=names):
        AgentService(KEY).runs.get(RUN_ID, retries=3)  # type: ignore[call-arg]
