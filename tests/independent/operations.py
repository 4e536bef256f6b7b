"""Every operation of the client: how it is called, what it sends, what it gives, and whether it may be sent again."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.independent.faces import Call
from tests.independent.mock import Seen
from tests.independent.records import CHAT, CONTENT, KEY, OTHER_RUN, RUN

IDEM = "a-key:1.x_Y"


@dataclass(frozen=True)
class Operation:
    name: str
    call: Call
    method: str
    path: str
    good: Callable[[Any], bool]
    again: bool = False  # sent again after a failure that passes
    key: str | None = None
    query: dict[str, str] = field(default_factory=dict)
    body: dict[str, Any] = field(default_factory=dict)
    bytes_: bool = False  # the answer is a file or a stream, not JSON
    paged: bool = False
    waits: bool = False  # has a `timeout` for all of it
    quiet: bool = False  # tells of its repeats in another way than `on_retry`

    @property
    def multipart(self) -> bool:
        return "files.upload" in self.name or "with files" in self.name

    def is_mine(self, seen: Seen) -> bool:
        return (seen.method, seen.path) == (self.method, self.path)


def read(name: str, call: Call, path: str, good: Callable[[Any], bool], **more: Any) -> Operation:
    return Operation(name, call, "GET", path, good, again=True, **more)


def sent(name: str, call: Call, path: str, good: Callable[[Any], bool], **more: Any) -> Operation:
    return Operation(name, call, more.pop("method", "POST"), path, good, **more)


def keyed(
    name: str, call: Callable[[Any, dict[str, Any]], Any], path: str, good: Callable[[Any], bool], **more: Any
) -> list[Operation]:
    """An operation without an idempotency key, and with one, which lets it be sent again."""
    key_again = more.pop("key_again", True)
    with_key = {"idempotency_key": IDEM}
    return [
        sent(name, lambda c: call(c, {}), path, good, **more),
        sent(f"{name} with key", lambda c: call(c, with_key), path, good, again=key_again, key=IDEM, **more),
    ]


def _queued(run: Any) -> bool:
    return bool(run.run_id == RUN and run.status == "queued" and not run.ended)


def _is_job(value: Any) -> bool:
    return bool(value.job_id == "job_1" and value.chat == CHAT)


ATTACHED = [("a.txt", b"abc")]
IN = {"chat": CHAT}
READS = [
    read("runs.get", lambda c: c.runs.get(RUN), f"/runs/{RUN}", lambda r: r.output == "Hello" and r.ended),
    read("runs.list", lambda c: c.runs.list(chat=CHAT), "/runs", lambda r: r[0].run_id == RUN, paged=True),
    read(
        "runs.events",
        lambda c: c.runs.events(RUN, after=2, limit=3),
        f"/runs/{RUN}/events",
        lambda p: [e.id for e in p.data] == [3, 4, 5] and p.next_after == 5 and p.has_more,
        query={"after": "2", "limit": "3"},
    ),
    read(
        "runs.iterate_events",
        lambda c: c.runs.iterate_events(RUN, after=1),
        f"/runs/{RUN}/events",
        lambda events: [e.id for e in events] == list(range(2, 9)),
        query={"after": "1"},
        paged=True,
    ),
    read(
        "runs.attach",
        lambda c: c.runs.attach(RUN, after=1),
        f"/runs/{RUN}/events",
        lambda events: [e.id for e in events] == list(range(2, 9)),
        bytes_=True,
        quiet=True,
    ),
    read("runs.wait", lambda c: c.runs.wait(RUN), f"/runs/{RUN}", lambda r: r.output == "Hello", waits=True),
    read("runs.sent", lambda c: c.runs.sent(RUN), f"/runs/{RUN}/sent", lambda r: list(r) == []),
    read(
        "files.list",
        lambda c: c.files.list(CHAT),
        "/files",
        lambda files: [f.path for f in files] == ["a/1.txt", "b/2.txt", "c/3.txt"],
        query={"chat_id": CHAT},
        paged=True,
    ),
    read(
        "files.search",
        lambda c: c.files.search('"a b" -c ä&=', chat=CHAT),
        "/files/search",
        lambda s: s.results[0].snippets[0][1].match and s.results[0].path == "reports/prices.csv",
        query={"chat_id": CHAT, "q": '"a b" -c ä&='},
    ),
    read(
        "files.download",
        lambda c: c.files.download("reports/prices.csv", chat=CHAT),
        "/files/download",
        lambda data: data == CONTENT,
        query={"chat_id": CHAT, "path": "reports/prices.csv"},
        bytes_=True,
    ),
    read(
        "files.head",
        lambda c: c.files.head("reports/prices.csv", 20, chat=CHAT),
        "/files/download",
        lambda data: data == CONTENT[:20],
        query={"chat_id": CHAT, "path": "reports/prices.csv"},
        bytes_=True,
    ),
    read(
        "tools.list",
        lambda c: c.tools.list(),
        "/tools",
        lambda t: [x.name for x in t] == ["web_search", "create_images"],
    ),
    read(
        "tools.describe",
        lambda c: c.tools.describe("web_search"),
        "/tools/web_search",
        lambda t: t.name == "web_search",
    ),
    read("jobs.list", lambda c: c.jobs.list(), "/jobs", lambda j: j[0].job_id == "job_1", paged=True),
    read("jobs.status", lambda c: c.jobs.status("job_1", **IN), "/jobs/job_1", _is_job, query=IN),
    read(
        "jobs.status by session",
        lambda c: c.jobs.status("job_1", project="proj_1", session="s 1"),
        "/jobs/job_1",
        _is_job,
        query={"project": "proj_1", "session": "s 1"},
    ),
    read(
        "jobs.result",
        lambda c: c.jobs.result("job_1", **IN),
        "/jobs/job_1/result",
        lambda j: j.kind == "files" and j.files[0].path == "reports/prices.csv",
        query=IN,
    ),
    read("jobs.wait", lambda c: c.jobs.wait("job_1", **IN), "/jobs/job_1", _is_job, query=IN, waits=True),
    read(
        "feedback.list",
        lambda c: c.feedback.list(status="open", limit=5),
        "/feedback",
        lambda f: f[0].id == "fb_1",
        query={"status": "open", "limit": "5"},
    ),
    read("feedback.get", lambda c: c.feedback.get("fb_1"), "/feedback/fb_1", lambda f: f.status == "open"),
    read("media.get", lambda c: c.media.get("media_1"), "/media/media_1", lambda m: m.kind == "video"),
    read(
        "labels.list", lambda c: c.labels.list(), "/landing-pages/labels", lambda x: x[0].values == ["dry", "playful"]
    ),
    read("labels.get", lambda c: c.labels.get("page_1"), "/landing-pages/page_1", lambda p: p.version == 3),
    read("projects.list", lambda c: c.projects.list(), "/projects", lambda p: p[0].id == "proj_1"),
    read("models.list", lambda c: c.models.list(), "/models", lambda m: m[0].id == "m" and m[0].available),
]
SAFE = [
    sent(
        "runs.cancel",
        lambda c: c.runs.cancel(RUN),
        f"/runs/{RUN}/cancel",
        lambda r: r.status == "cancelled",
        again=True,
    ),
    sent("jobs.cancel", lambda c: c.jobs.cancel("job_1", **IN), "/jobs/job_1/cancel", _is_job, query=IN, again=True),
    sent(
        "files.upload",
        lambda c: c.files.upload(("a.txt", b"abc")),
        "/files",
        lambda f: f[0].id == "upload_1",
        again=True,
    ),
    sent(
        "files.upload to a chat",
        lambda c: c.files.upload(("a.txt", b"abc"), ("b.txt", b"def"), chat=CHAT),
        "/files",
        lambda f: f[0].id == "upload_1",
        query={"chat_id": CHAT},
        again=True,
    ),
    sent(
        "projects.update",
        lambda c: c.projects.update("proj_1", name="Autumn"),
        "/projects/proj_1",
        lambda p: p.name == "Autumn",
        method="PATCH",
        body={"name": "Autumn"},
        again=True,
    ),
    sent(
        "chats.retire",
        lambda c: c.chats.retire(CHAT),
        "/chats/chat_1",
        lambda r: r.retired,
        method="DELETE",
        again=True,
    ),
]
ONCE = [
    sent(
        "runs.approve",
        lambda c: c.runs.approve(RUN, "call_1"),
        f"/runs/{RUN}/calls/call_1/approval",
        lambda a: a.approved is True,
        body={"approved": True},
    ),
    sent(
        "runs.refuse",
        lambda c: c.runs.refuse(RUN, "call_1", reason="no"),
        f"/runs/{RUN}/calls/call_1/approval",
        lambda a: a.approved is False,
        body={"approved": False, "reason": "no"},
    ),
    sent(
        "feedback.send",
        lambda c: c.feedback.send("s", category="bug", impact="minor", endpoint="e", error_code="x", request_id="r"),
        "/feedback",
        lambda f: f.id == "fb_1" and f.guidance == "g",
        body={
            "summary": "s",
            "category": "bug",
            "impact": "minor",
            "endpoint": "e",
            "error_code": "x",
            "request_id": "r",
        },
    ),
    sent("media.transcribe", lambda c: c.media.transcribe("media_1"), "/media/media_1/transcript", _is_job),
    sent(
        "labels.write",
        lambda c: c.labels.write("page_1", {"tone": "dry"}, 3),
        "/landing-pages/page_1/labels",
        lambda p: p.version == 4,
        method="PUT",
        body={"labels": {"tone": "dry"}, "expected_version": 3},
    ),
    sent(
        "projects.create",
        lambda c: c.projects.create("Autumn"),
        "/projects",
        lambda p: p.id == "proj_1",
        body={"name": "Autumn"},
    ),
    sent(
        "runs.start with a key that is empty",
        lambda c: c.runs.start("Hi", idempotency_key=""),
        "/runs",
        _queued,
        body={"message": "Hi"},
    ),
]
KEYED = [
    *keyed(
        "runs.start",
        lambda c, k: c.runs.start(
            "Hi",
            chat=CHAT,
            project="proj_1",
            output_config={"type": "object"},
            on_busy="reject",
            model="m",
            effort="low",
            max_steps=3,
            max_cents=1.5,
            **k,
        ),
        "/runs",
        _queued,
        body={
            "message": "Hi",
            "chat": CHAT,
            "project": "proj_1",
            "output_config": {"type": "object"},
            "on_busy": "reject",
        }
        | {"model": "m", "effort": "low", "max_steps": 3, "max_cents": 1.5},
    ),
    *keyed("runs.start with files", lambda c, k: c.runs.start("Hi", files=ATTACHED, **k), "/runs", _queued),
    *keyed("runs.resume", lambda c, k: c.runs.resume(RUN, **k), f"/runs/{RUN}/resume", lambda r: r.run_id == OTHER_RUN),
    *keyed(
        "tools.invoke",
        lambda c, k: c.tools.invoke("web_search", {"query": "x"}, chat=CHAT, **k),
        "/tools/web_search/invoke",
        lambda r: r.data == {"hits": []},
        body={"input": {"query": "x"}, "chat": CHAT},
    ),
    *keyed(
        "tools.invoke edit_image",
        lambda c, k: c.tools.invoke("edit_image", {}, session="s", **k),
        "/tools/edit_image/invoke",
        _is_job,
        body={"input": {}, "session": "s"},
    ),
    *keyed(
        "ask",
        lambda c, k: c.ask("Hi", chat=CHAT, file_ids=["upload_1"], image_urls=["https://example.com/a.png"], **k),
        "/tools/ask_stefanbrain/invoke",
        lambda a: a.answer == "Hello" and a.run_id == RUN and a.chat == CHAT,
        body={
            "input": {"message": "Hi", "file_ids": ["upload_1"], "image_urls": ["https://example.com/a.png"]},
            "chat": CHAT,
        },
        waits=True,
    ),
    *keyed(
        "jobs.submit",
        lambda c, k: c.jobs.submit("create_images", {"request": {}}, chat=CHAT, **k),
        "/jobs",
        _is_job,
        body={"tool": "create_images", "input": {"request": {}}, "chat": CHAT},
    ),
    *keyed(
        "jobs.submit research_shortform",
        lambda c, k: c.jobs.submit("research_shortform", {}, **k),
        "/jobs",
        _is_job,
        key_again=False,
    ),
    *keyed(
        "jobs.submit_and_wait",
        lambda c, k: c.jobs.submit_and_wait("create_images", {}, **k),
        "/jobs",
        lambda j: j.kind == "files",
        waits=True,
    ),
]
OPERATIONS = [*READS, *SAFE, *ONCE, *KEYED]
JSON_OPERATIONS = [operation for operation in OPERATIONS if not operation.bytes_]


def sent_rightly(operation: Operation, seen: Seen) -> None:
    """A request is the operation's, carries the key, and says what the caller said."""
    assert operation.is_mine(seen), seen.target
    assert seen.header("authorization") == f"Bearer {KEY}"
    assert KEY not in seen.target
    assert seen.header("idempotency-key") == operation.key
    assert operation.query.items() <= seen.query.items(), seen.query
    if operation.body:
        assert operation.body.items() <= seen.json.items(), seen.json
        assert seen.header("content-type") == "application/json"
