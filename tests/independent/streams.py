"""Streams of a run's events, whole and otherwise, and all the ways to write one."""

import json
import time
from typing import Any

from tests.independent.faces import following
from tests.independent.mock import Fault, Mock, Reply, Seen, Wire
from tests.independent.records import ROUTES, RUN, instead, story, stream

STORY = story()
WHOLE = [each["id"] for each in STORY]
TEXT = "".join(each["payload"]["text"] for each in STORY if each["type"] == "text.delta")
ATTACHED = following(lambda client: client.runs.attach(RUN))
Way = Reply | Fault


def sse(body: bytes, kind: str = "text/event-stream") -> Reply:
    return Reply(200, body, {"Content-Type": kind})


def raw(body: bytes, size: int = 1 << 20, *, then: float = 0, pause: float = 0) -> Fault:
    """A stream whose bytes come so many at once, and which stays silent for a while at its end."""

    def act(wire: Wire, seen: Seen, good: Reply) -> None:
        wire.send(sse(b"").head())
        for i in range(0, len(body), size):
            wire.send(body[i : i + size])
            time.sleep(pause)
        wire.rest(then)

    return Fault("raw", act)


def streaming(*ways: Way) -> Mock:
    """A service whose streams are these, one after the other; the rest of it is as always."""
    left = list(ways)

    def events(seen: Seen) -> Way:
        if "event-stream" not in (seen.header("accept") or ""):
            return ROUTES["GET", f"/runs/{RUN}/events"](seen)
        return left.pop(0) if left else stream(seen, STORY)

    mock = Mock(instead("GET", f"/runs/{RUN}/events", events))
    mock.counts = lambda seen: "event-stream" in (seen.header("accept") or "")
    return mock


def said(**change: Any) -> bytes:
    """The story in another way of writing it."""
    end = change.get("end", "\n")
    text = change.get("first", "")
    for each in STORY:
        data = json.dumps(each, indent=change.get("indent"), ensure_ascii=change.get("ascii", True))
        lines = [f"id:{change.get('blank', ' ')}{each['id']}", *change.get("extra", [])]
        lines += [f"event: {each['type']}"] if change.get("event", True) else []
        lines += [f"data:{change.get('blank', ' ')}{line}" for line in data.split("\n")]
        if change.get("turned"):
            lines.reverse()
        text += "".join(line + end for line in [*lines, ""]) + change.get("between", "")
    return str(text).encode()


WRITINGS = {
    "LF": said(),
    "CRLF": said(end="\r\n"),
    "CR": said(end="\r"),
    "byte order mark": said(first="\ufeff"),
    "byte order mark and CRLF": said(first="\ufeff", end="\r\n"),
    "no blank after the colon": said(blank=""),
    "many data lines": said(indent=2),
    "many data lines in CR": said(indent=1, end="\r"),
    "many data lines in CRLF": said(indent=1, end="\r\n"),
    "comments": said(between=": ping\n\n:\n\n", extra=[": inside", ":"]),
    "comments in CRLF": said(between=": ping\r\n\r\n", extra=[":x"], end="\r\n"),
    "unknown fields": said(extra=["colour: red", "nothing", "data2: {}"]),
    "retry everywhere": said(extra=["retry: 5", "retry: soon", "retry: -1", "retry: " + "9" * 400, "retry"]),
    "no event field": said(event=False),
    "fields turned round": said(turned=True),
    "events without data": said(between="event: empty\n\nevent: empty\nretry: 1\n\n"),
    "blank lines": said(between="\n\n\n"),
    "UTF-8": said(ascii=False),
    "UTF-8 in CR": said(ascii=False, end="\r"),
}
