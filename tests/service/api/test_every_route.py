"""Every row of `wire/routes.py`, over real HTTP (docs/api/conventions.md "Routes", docs/api/accounts.md "Scopes")."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import httpx
import pytest

from agentsvc_nb.service.http import openapi
from agentsvc_nb.wire.resources import SCOPES, Scope
from agentsvc_nb.wire.routes import ROUTES, Route
from tests.service.api.conftest import ACCEPTED, KEYS, Wire, code
from tests.service.api.service_fixture import ServiceFixture

PICTURE: Final = {"request": {"kind": "static_ad", "brief": "Headline: x", "outputs": {"mode": "count", "count": 1}}}


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
    "runs.undo": _ended_run,
    "runs.raise_limit": lambda s: Right(
        {"run_id": s.wire.start("wait 5", max_cents=1)["run_id"]}, {"json": {"max_cents": 2}}
    ),
    "runs.approve": _called,
    "runs.standing_approvals": lambda s: Right(),
    "runs.revoke_approval": lambda s: Right({"approval_id": s.standing()}),
    "runs.answer": _answered,
    "usage.today": lambda s: Right(),
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
    "approval_id": (None, None, "standing_unknown", "standing_approval_not_found"),
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

METHODS: Final = {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
KEYED: Final = [route for route in ROUTES.values() if route.access == "key"]
WITH_PARTS: Final = [name for name, route in ROUTES.items() if "{" in route.path]


def ask(wire: Wire, route: Route, method: str = "") -> httpx.Response:
    """A request of the route that says nothing right: what is checked first answers it."""
    path = route.url(**dict.fromkeys(re.findall(r"{(\w+)}", route.path), "x"))
    return wire.http.request(method or route.method, path)


def answered(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, code(answer)


def test_each_route_that_is_built_has_a_right_request() -> None:
    assert set(ROUTES) <= set(RIGHT)


@pytest.mark.rule("Every route answers a valid request with all fields of its model.")
@pytest.mark.parametrize("name", ROUTES)
def test_a_right_request_is_answered(name: str, stage: ServiceFixture) -> None:
    route, right, wire = ROUTES[name], RIGHT[name](stage), stage.caller(name)
    answer = right.send(wire, name)
    assert answer.is_success, answer.text
    assert answer.headers["x-request-id"].startswith("req_")
    if route.answer is not None:
        assert answer.headers["content-type"] == "application/json"
        assert not set(route.answer.model_fields) - set(answer.json()), "every field of the model is there"
        assert route.answer.model_validate_json(answer.text)
    if route.method == "GET":
        head = right.send(wire, name, "HEAD")
        assert (head.status_code, head.content) == (answer.status_code, b"")
        # Of another length where work went on meanwhile.
        assert head.headers["content-type"] == answer.headers["content-type"]
        assert int(head.headers["content-length"]) > 0


@pytest.mark.parametrize("name", [route.name for route in KEYED if route.body is not None])
def test_the_example_of_a_body_is_accepted(name: str, stage: ServiceFixture) -> None:
    operation = json.loads(openapi.text())["paths"][ROUTES[name].path][ROUTES[name].method.lower()]
    example = operation["requestBody"]["content"]["application/json"]["example"]
    right = RIGHT[name](stage)
    if name == "runs.answer":  # the call of `right` was answered, with something else
        run_id, call_id = stage.asked()
        right.parts.update(run_id=run_id, call_id=call_id)
    params = right.options.get("params", {})
    answer = stage.wire.http.request(ROUTES[name].method, ROUTES[name].url(**right.parts), json=example, params=params)
    assert answer.is_success, answer.text


@pytest.mark.rule("Every route answers a missing, malformed or unknown key with the same 401.")
def test_a_route_wants_a_key(stage: ServiceFixture) -> None:
    for secret in ("", "svc_sk_unknown", "svc_oat_unknown", stage.service.api_key[:-1]):
        wire = stage.open(stage.service, secret)
        for route in KEYED:
            assert answered(ask(wire, route)) == (401, "unauthorized"), route.name


@pytest.mark.rule("A scope opens the routes in its table; any other route answers `api_key_scope_forbidden`.")
@pytest.mark.parametrize("scope", SCOPES)
def test_a_scope_opens_its_routes_and_no_others(scope: Scope, stage: ServiceFixture) -> None:
    wire = stage.keyed(scopes=(scope,))
    for route in KEYED:
        refused = '"api_key_scope_forbidden"' in (answer := ask(wire, route)).text
        assert refused == (scope not in route.scopes), route.name
        assert not refused or answer.status_code == 403


@pytest.mark.rule("An OAuth member token opens every route.")
def test_a_member_token_opens_every_route(stage: ServiceFixture) -> None:
    member = stage.keyed(member=True)
    for route in KEYED:
        assert ask(member, route).status_code not in (401, 403), route.name


def test_another_method_is_refused_with_those_that_are_right(stage: ServiceFixture) -> None:
    for route in ROUTES.values():
        allowed = {one.method for one in ROUTES.values() if one.path == route.path}
        allowed |= {"HEAD"} if "GET" in allowed else set()
        answer = ask(stage.wire, route, min(METHODS - allowed))
        assert answered(answer) == (405, "method_not_allowed"), route.name
        assert set(answer.headers["allow"].split(", ")) == allowed


@pytest.mark.rule("An ill-formed id is a 400 and an unknown id a 404, with the code of the route.")
@pytest.mark.parametrize("name", WITH_PARTS)
def test_an_id_that_is_wrong_or_unknown_is_named(name: str, stage: ServiceFixture) -> None:
    right = RIGHT[name](stage)
    for part, good in list(right.parts.items()):
        wrong, wrong_code, unknown, unknown_code = FILLED.get(name) or FILLED[part]
        for text, expected, status in ((wrong, wrong_code, 400), (unknown, unknown_code, 404)):
            if text is not None:
                right.parts[part] = text
                assert answered(right.send(stage.caller(name), name)) == (status, expected)
        right.parts[part] = good


@pytest.mark.rule("Reads of runs, jobs and events do not count toward request limits.")
def test_a_request_counts_where_the_table_says_so(stage: ServiceFixture) -> None:
    """What does not count is answered though the day's requests are spent."""
    wire = stage.account(stage.other(rate_per_day=2))
    assert [wire("GET", "/tools").status_code for _ in range(3)] == [200, 200, 429]
    for route in KEYED:
        assert ('"request_per_day"' in ask(wire, route).text) == route.limited, route.name


# -- another account -----------------------------------------------------------------------------------------------


HIDDEN: Final = {
    **dict.fromkeys(("runs.get", "runs.sent", "runs.events", "runs.cancel", "runs.resume", "runs.undo"), "run"),
    **dict.fromkeys(("runs.raise_limit", "runs.approve", "runs.answer"), "run"),
    **{f"files.{name}": "chat" for name in ("list", "search", "download", "rename", "versions", "restore")},
    **dict.fromkeys(("jobs.status", "jobs.result", "jobs.cancel", "chats.retire"), "chat"),
    "feedback.get": "feedback",
    **dict.fromkeys(("media.get", "media.transcribe"), "media"),
    **dict.fromkeys(("labels.get", "labels.write"), "landing_page"),
    "projects.update": "project",
    "runs.revoke_approval": "standing_approval",
}
"""By route, what is not found."""


@pytest.fixture(scope="module")
def stranger(stage: ServiceFixture) -> Wire:
    return stage.account(stage.service)


def test_every_route_that_takes_an_id_is_here() -> None:
    """`{name}` is a tool's, and the catalog is everybody's; a browser's session has no other account."""
    assert {route.name for route in KEYED if "{" in route.path.replace("{name}", "")} <= set(HIDDEN)


@pytest.mark.parametrize("name", HIDDEN)
def test_what_another_account_has_is_not_there(name: str, stage: ServiceFixture, stranger: Wire) -> None:
    right = RIGHT[name](stage)
    assert answered(right.send(stranger, name)) == (404, f"{HIDDEN[name]}_not_found")
    assert right.send(stage.wire, name).is_success, "for its own account it is"


@pytest.mark.rule("A start cannot refer to a chat, project or upload of another account.")
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/runs", {"message": "say x"}),
        ("/jobs", {"tool": "echo_job", "input": {"steps": 0}}),
        ("/tools/create_images/invoke", {"input": {"request": {"brief": "Headline: x"}}}),
        ("/tools/ask_stefanbrain/invoke", {"input": {"message": "say x"}}),
    ],
)
def test_a_start_cannot_name_what_another_account_has(
    path: str, body: dict[str, Any], stage: ServiceFixture, stranger: Wire
) -> None:
    project = stage.wire("POST", "/projects", json={"name": "ours"}).json()["id"]
    assert code(stranger("POST", path, json={**body, "chat": stage.wire.new_chat()})) == "chat_not_found"
    assert code(stranger("POST", path, json={**body, "project": project})) == "project_not_found"


def test_files_of_another_account_are_neither_attached_nor_added_to(stage: ServiceFixture, stranger: Wire) -> None:
    staged = stage.wire("POST", "/files", files={"files": ("a.txt", b"secret")}).json()["files"][0]["id"]
    given = {"message": "say x", "file_ids": [staged]}
    assert code(stranger("POST", "/runs", json=given)) == "upload_not_found"
    assert code(stranger("POST", "/tools/ask_stefanbrain/invoke", json={"input": given})) == "upload_not_found"
    chat = stage.wire.new_chat()
    answer = stranger("POST", "/files", params={"chat_id": chat}, files={"files": ("a.txt", b"x")})
    assert answered(answer) == (404, "chat_not_found")
    assert stage.wire("GET", "/files", params={"chat_id": chat}).json()["files"] == []


@pytest.mark.rule("Job lookups do not find jobs of another account.")
def test_a_job_of_another_account_is_not_found_in_ones_own_chat(stage: ServiceFixture, stranger: Wire) -> None:
    job, own = stage.job(steps=0), stranger.new_chat()
    for method, path in (("GET", ""), ("GET", "/result"), ("POST", "/cancel")):
        answer = stranger(method, f"/jobs/{job['job_id']}{path}", params={"chat": own})
        assert answered(answer) == (404, "job_not_found")


def test_lists_keys_and_sessions_of_two_accounts_do_not_meet(
    stage: ServiceFixture, stranger: Wire, fresh_key: str
) -> None:
    for path, body in (("/projects", {"name": "ours"}), ("/feedback", {"summary": "ours"})):
        stage.wire("POST", path, json=body)
        assert stranger("GET", path).json()["data"] == []
    headers = {"Idempotency-Key": fresh_key}
    ours, theirs = (
        wire.start("say x", session=fresh_key, headers=headers) for wire in (stage.wire, stage.account(stage.service))
    )
    assert ours["run_id"] != theirs["run_id"]
    assert ours["chat"] != theirs["chat"]
    assert ours["run_id"] not in stranger("GET", "/runs").text
