"""Every operation of the client: how it is called, what it sends, what it gives, and whether it may be sent again."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.unit.independent.faces import Call
from tests.unit.independent.mock import Seen
from tests.unit.independent.records import CHAT, CONTENT, KEY, OTHER_RUN, RUN

IDEM = "a-key:1.x_Y"
IN = {"chat": CHAT}
EVENTS = f"/runs/{RUN}/events"
BYTES = {"chat_id": CHAT, "path": "reports/prices.csv"}


@dataclass(frozen=True)
class Operation:
    name: str
    method: str
    path: str
    call: Call
    good: Callable[[Any], bool]
    again: bool = False  # sent again after a failure that passes
    key: str | None = None
    query: dict[str, str] = field(default_factory=dict)
    body: dict[str, Any] = field(default_factory=dict)
    bytes_: bool = False  # the answer is a file or a stream, not JSON
    paged: bool = False

    def is_mine(self, seen: Seen) -> bool:
        return (seen.method, seen.path) == (self.method, self.path)


def read(name: str, path: str, call: Call, good: Callable[[Any], bool], **more: Any) -> Operation:
    return Operation(name, "GET", path, call, good, again=True, **more)


def sent(name: str, path: str, call: Call, good: Callable[[Any], bool], **more: Any) -> Operation:
    return Operation(name, more.pop("method", "POST"), path, call, good, **more)


def keyed(name: str, path: str, call: Callable[..., Any], good: Callable[[Any], bool], **more: Any) -> list[Operation]:
    """An operation without an idempotency key, and with one, which lets it be sent again."""
    with_key = {"again": more.pop("key_again", True), "key": IDEM, **more}
    return [
        sent(name, path, lambda c: call(c), good, **more),
        sent(f"{name} with key", path, lambda c: call(c, idempotency_key=IDEM), good, **with_key),
    ]


def _queued(run: Any) -> bool:
    return bool(run.run_id == RUN and run.status == "queued" and not run.ended)


def _is_job(value: Any) -> bool:
    return bool(value.job_id == "job_1" and value.chat == CHAT)


def _from_two(events: Any) -> bool:
    return [event.id for event in events] == list(range(2, 9))


REPORT = {"category": "bug", "impact": "minor", "endpoint": "e", "error_code": "x", "request_id": "r"}
FULL = {"chat": CHAT, "project": "proj_1", "on_busy": "reject", "model": "m", "effort": "low", "max_steps": 3}
ASKED = {"file_ids": ["upload_1"], "image_urls": ["https://example.com/a.png"]}
OPERATIONS = [
    read("runs.get", f"/runs/{RUN}", lambda c: c.runs.get(RUN), lambda r: r.output == "Hello" and r.ended),
    read("runs.list", "/runs", lambda c: c.runs.list(chat=CHAT), lambda r: r[0].run_id == RUN, paged=True),
    read("runs.events", EVENTS, lambda c: c.runs.events(RUN, after=2, limit=3),
         lambda p: [e.id for e in p.data] == [3, 4, 5] and p.next_after == 5 and p.has_more, query={"limit": "3"}),
    read("runs.iterate_events", EVENTS, lambda c: c.runs.iterate_events(RUN, after=1), _from_two, paged=True),
    read("runs.attach", EVENTS, lambda c: c.runs.attach(RUN, after=1), _from_two, bytes_=True),
    read("runs.wait", f"/runs/{RUN}", lambda c: c.runs.wait(RUN), lambda r: r.output == "Hello"),
    read("runs.sent", f"/runs/{RUN}/sent", lambda c: c.runs.sent(RUN), lambda r: list(r) == []),
    read("files.list", "/files", lambda c: c.files.list(CHAT),
         lambda files: [f.path for f in files] == ["a/1.txt", "b/2.txt", "c/3.txt"], paged=True),
    read("files.search", "/files/search", lambda c: c.files.search('"a b" -c ä&=', chat=CHAT),
         lambda s: s.results[0].snippets[0][1].match, query={"chat_id": CHAT, "q": '"a b" -c ä&='}),
    read("files.download", "/files/download", lambda c: c.files.download("reports/prices.csv", chat=CHAT),
         lambda data: data == CONTENT, query=BYTES, bytes_=True),
    read("files.head", "/files/download", lambda c: c.files.head("reports/prices.csv", 20, chat=CHAT),
         lambda data: data == CONTENT[:20], query=BYTES, bytes_=True),
    read("tools.list", "/tools", lambda c: c.tools.list(), lambda t: t[0].name == "web_search"),
    read("tools.describe", "/tools/web_search", lambda c: c.tools.describe("web_search"), lambda t: t.name[0] == "w"),
    read("jobs.list", "/jobs", lambda c: c.jobs.list(), lambda j: j[0].job_id == "job_1", paged=True),
    read("jobs.status", "/jobs/job_1", lambda c: c.jobs.status("job_1", **IN), _is_job, query=IN),
    read("jobs.status by session", "/jobs/job_1", lambda c: c.jobs.status("job_1", project="proj_1", session="s 1"),
         _is_job, query={"project": "proj_1", "session": "s 1"}),
    read("jobs.result", "/jobs/job_1/result", lambda c: c.jobs.result("job_1", **IN),
         lambda j: j.kind == "files" and j.files[0].path == "reports/prices.csv", query=IN),
    read("jobs.wait", "/jobs/job_1", lambda c: c.jobs.wait("job_1", **IN), _is_job, query=IN),
    read("feedback.list", "/feedback", lambda c: c.feedback.list(status="open", limit=5), lambda f: f[0].id == "fb_1",
         query={"status": "open", "limit": "5"}),
    read("feedback.get", "/feedback/fb_1", lambda c: c.feedback.get("fb_1"), lambda f: f.status == "open"),
    read("media.get", "/media/media_1", lambda c: c.media.get("media_1"), lambda m: m.kind == "video"),
    read("labels.list", "/landing-pages/labels", lambda c: c.labels.list(), lambda x: x[0].values[0] == "dry"),
    read("labels.get", "/landing-pages/page_1", lambda c: c.labels.get("page_1"), lambda p: p.version == 3),
    read("projects.list", "/projects", lambda c: c.projects.list(), lambda p: p[0].id == "proj_1"),
    read("models.list", "/models", lambda c: c.models.list(), lambda m: m[0].id == "m" and m[0].available),
    sent("runs.cancel", f"/runs/{RUN}/cancel", lambda c: c.runs.cancel(RUN), lambda r: r.status == "cancelled",
         again=True),
    sent("jobs.cancel", "/jobs/job_1/cancel", lambda c: c.jobs.cancel("job_1", **IN), _is_job, query=IN, again=True),
    sent("files.upload", "/files", lambda c: c.files.upload(("a.txt", b"abc"), ("b.txt", b"def"), chat=CHAT),
         lambda f: f[0].id == "upload_1", query={"chat_id": CHAT}, again=True),
    sent("projects.update", "/projects/proj_1", lambda c: c.projects.update("proj_1", name="Autumn"),
         lambda p: p.name == "Autumn", method="PATCH", body={"name": "Autumn"}, again=True),
    sent("chats.retire", "/chats/chat_1", lambda c: c.chats.retire(CHAT), lambda r: r.retired, method="DELETE",
         again=True),
    sent("runs.approve", f"/runs/{RUN}/calls/call_1/approval", lambda c: c.runs.approve(RUN, "call_1"),
         lambda a: a.approved is True, body={"approved": True}),
    sent("runs.refuse", f"/runs/{RUN}/calls/call_1/approval", lambda c: c.runs.refuse(RUN, "call_1", reason="no"),
         lambda a: a.approved is False, body={"approved": False, "reason": "no"}),
    sent("feedback.send", "/feedback", lambda c: c.feedback.send("s", **REPORT), lambda f: f.id == "fb_1", body=REPORT),
    sent("media.transcribe", "/media/media_1/transcript", lambda c: c.media.transcribe("media_1"), _is_job),
    sent("labels.write", "/landing-pages/page_1/labels", lambda c: c.labels.write("page_1", {"tone": "dry"}, 3),
         lambda p: p.version == 4, method="PUT", body={"labels": {"tone": "dry"}, "expected_version": 3}),
    sent("projects.create", "/projects", lambda c: c.projects.create("Autumn"), lambda p: p.id == "proj_1",
         body={"name": "Autumn"}),
    *keyed("runs.start", "/runs", lambda c, **k: c.runs.start("Hi ä\u2028", **FULL, **k), _queued, body=FULL),
    *keyed("runs.start with files", "/runs", lambda c, **k: c.runs.start("Hi", files=[("a.txt", b"a")], **k), _queued),
    *keyed("runs.resume", f"/runs/{RUN}/resume", lambda c, **k: c.runs.resume(RUN, **k),
           lambda r: r.run_id == OTHER_RUN),
    *keyed("tools.invoke", "/tools/web_search/invoke",
           lambda c, **k: c.tools.invoke("web_search", {"query": "x"}, chat=CHAT, **k),
           lambda r: r.data == {"hits": []}, body={"input": {"query": "x"}, "chat": CHAT}),
    *keyed("ask", "/tools/ask_stefanbrain/invoke", lambda c, **k: c.ask("Hi", chat=CHAT, **ASKED, **k),
           lambda a: (a.answer, a.run_id, a.chat) == ("Hello", RUN, CHAT),
           body={"input": {"message": "Hi", **ASKED}, "chat": CHAT}),
    *keyed("jobs.submit", "/jobs", lambda c, **k: c.jobs.submit("create_images", {"request": {}}, chat=CHAT, **k),
           _is_job, body={"tool": "create_images", "input": {"request": {}}, "chat": CHAT}),
    *keyed("jobs.submit research_shortform", "/jobs", lambda c, **k: c.jobs.submit("research_shortform", {}, **k),
           _is_job, key_again=False),
    *keyed("jobs.submit_and_wait", "/jobs", lambda c, **k: c.jobs.submit_and_wait("create_images", {}, **k),
           lambda j: j.kind == "files"),
]  # fmt: skip
JSON_OPERATIONS = [operation for operation in OPERATIONS if not operation.bytes_]


def sent_rightly(operation: Operation, seen: Seen) -> None:
    """Check that a request is the operation's, carries the key, and says what the caller said."""
    assert operation.is_mine(seen), seen.target
    assert seen.header("authorization") == f"Bearer {KEY}"
    assert KEY not in seen.target
    assert seen.header("idempotency-key") == operation.key
    assert operation.query.items() <= seen.query.items(), seen.query
    if operation.body:
        assert operation.body.items() <= seen.json.items(), seen.json
        assert seen.header("content-type") == "application/json"
