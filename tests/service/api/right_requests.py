"""A right request of every route: what fills its path, and the options of the request."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import httpx

from agentsvc_nb.wire.routes import ROUTES
from tests.service.api.conftest import Wire
from tests.service.api.service_fixture import ServiceFixture
from tests.service.api.signing import ACCEPTED, KEYS

PICTURE: Final = {"request": {"kind": "static_ad", "brief": "x", "outputs": {"mode": "count", "count": 1}}}


@dataclass(frozen=True)
class Right:
    """`parts` of the path; `options` as httpx takes them."""

    parts: dict[str, str] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)

    def send(self, wire: Wire, name: str, method: str | None = None, **options: Any) -> httpx.Response:
        route = ROUTES[name]
        return wire.http.request(method or route.method, route.url(**self.parts), **{**self.options, **options})


def _ended_run(stage: ServiceFixture) -> Right:
    return Right({"run_id": stage.wire.finish("say x")["run_id"]})


def _failed_run(stage: ServiceFixture) -> Right:
    return Right({"run_id": stage.wire.finish("fail model_unavailable Away.")["run_id"]})


def _called(stage: ServiceFixture) -> Right:
    """A call that needed no approval is approved."""
    run_id, call = stage.called()
    return Right({"run_id": run_id, "call_id": call}, {"json": {"approved": True}})


def _answered(stage: ServiceFixture) -> Right:
    """A call that was answered is answered the same once more."""
    body = {"content": [{"type": "text", "text": "seven lamps"}]}
    run_id, call = stage.asked()
    path = f"/runs/{run_id}/calls/{call}/result"
    assert stage.wire("POST", path, json=body).is_success
    return Right({"run_id": run_id, "call_id": call}, {"json": body})


def _file(stage: ServiceFixture, **options: Any) -> Right:
    chat = stage.wire.finish("write a.txt words")["chat"]
    return Right(options={"params": {"chat_id": chat, "path": "a.txt", "q": "words"}, **options})


def _job(stage: ServiceFixture, *, ended: bool = True) -> Right:
    job = stage.job(steps=0)
    if ended:
        stage.ended(job)
    return Right({"job_id": job["job_id"]}, {"params": {"chat": job["chat"]}})


def _report(stage: ServiceFixture) -> Right:
    return Right({"id": stage.wire("POST", "/feedback", json={"summary": "fine"}).json()["id"]})


RIGHT: Final[dict[str, Callable[[ServiceFixture], Right]]] = {
    "runs.start": lambda s: Right(options={"json": {"message": "say x"}}),
    "runs.list": lambda s: Right(),
    "runs.get": _ended_run,
    "runs.sent": _ended_run,
    "runs.events": _ended_run,
    "runs.cancel": _ended_run,
    "runs.resume": _failed_run,
    "runs.approve": _called,
    "runs.answer": _answered,
    "models.list": lambda s: Right(),
    "files.upload": lambda s: Right(options={"files": {"files": ("a.txt", b"x")}}),
    "files.list": _file,
    "files.search": _file,
    "files.download": _file,
    "files.rename": lambda s: _file(s, json={"name": "Brief"}),
    "files.versions": _file,
    "files.restore": lambda s: _file(s, json={"version": 1}),
    "tools.list": lambda s: Right(),
    "tools.describe": lambda s: Right({"name": "create_images"}),
    "tools.invoke": lambda s: Right({"name": "ask_stefanbrain"}, {"json": {"input": {"message": "say x"}}}),
    "jobs.submit": lambda s: Right(options={"json": {"tool": "echo_job", "input": {"steps": 0}}}),
    "jobs.list": lambda s: Right(),
    "jobs.status": _job,
    "jobs.result": _job,
    "jobs.cancel": _job,
    "feedback.send": lambda s: Right(options={"json": {"summary": "fine"}}),
    "feedback.list": lambda s: Right(),
    "feedback.get": _report,
    "media.get": lambda s: Right({"media_id": s.media()}),
    "media.transcribe": lambda s: Right({"media_id": s.media()}),
    "labels.list": lambda s: Right(),
    "labels.get": lambda s: Right({"page_id": s.page()}),
    "labels.write": lambda s: Right(
        {"page_id": s.page()}, {"json": {"labels": {"urgency": "none"}, "expected_version": 1}}
    ),
    "projects.create": lambda s: Right(options={"json": {"name": "Spring"}}),
    "projects.update": lambda s: Right(
        {"project": s.wire("POST", "/projects", json={"name": "Spring"}).json()["id"]},
        {"json": {"instructions": "x"}},
    ),
    "projects.list": lambda s: Right(),
    "chats.retire": lambda s: Right({"chat": s.wire.new_chat()}),
    "terms.get": lambda s: Right(),
    "keys.create": lambda s: Right(options={"json": {"name": "made", **ACCEPTED}}),
    "keys.list": lambda s: Right(),
    "keys.delete": lambda s: Right({"id": s.browser("POST", KEYS, json={"name": "made", **ACCEPTED}).json()["id"]}),
    "service.health": lambda s: Right(),
    "service.openapi": lambda s: Right(),
}

FILLED: Final = {
    "call_id": (None, "", "call_none", "call_not_found"),
    "run_id": ("nonsense", "invalid_run_id", "00000000-0000-0000-0000-000000000000", "run_not_found"),
    "chat": ("nonsense", "invalid_chat", "chat_unknown", "chat_not_found"),
    "keys.delete": (None, None, "key_unknown", "key_not_found"),
    "id": ("nonsense", "invalid_feedback", "fb_unknown", "feedback_not_found"),
    "job_id": (None, None, "job_unknown", "job_not_found"),
    "name": (None, None, "unknown", "tool_not_found"),
    "project": ("nonsense", "invalid_project", "proj_unknown", "project_not_found"),
    "media_id": (None, None, "media_unknown", "media_not_found"),
    "page_id": (None, None, "page_unknown", "landing_page_not_found"),
}
"""By route, or by the name in a path: an ill-formed id with its code, where ids have a form, and an unknown one."""
