"""An account sees nothing of another's (docs/api/errors.md "Status codes", docs/api/accounts.md "Authentication").

A self-hosted service has one account. The second here is a key whose row was moved to another one.
"""

from __future__ import annotations

import uuid
from typing import Any, Final

import pytest

from agentsvc_nb.wire.routes import ROUTES
from tests.service.api.conftest import Wire, code
from tests.service.api.right_requests import RIGHT
from tests.service.api.service_fixture import ServiceFixture, operate

HIDDEN: Final = {
    "runs.get": "run_not_found",
    "runs.sent": "run_not_found",
    "runs.events": "run_not_found",
    "runs.cancel": "run_not_found",
    "runs.resume": "run_not_found",
    "runs.approve": "run_not_found",
    "runs.answer": "run_not_found",
    "files.list": "chat_not_found",
    "files.search": "chat_not_found",
    "files.download": "chat_not_found",
    "files.rename": "chat_not_found",
    "files.versions": "chat_not_found",
    "files.restore": "chat_not_found",
    "jobs.status": "chat_not_found",
    "jobs.result": "chat_not_found",
    "jobs.cancel": "chat_not_found",
    "feedback.get": "feedback_not_found",
    "media.get": "media_not_found",
    "media.transcribe": "media_not_found",
    "labels.get": "landing_page_not_found",
    "labels.write": "landing_page_not_found",
    "chats.retire": "chat_not_found",
    "projects.update": "project_not_found",
}


@pytest.fixture(scope="module")
def stranger(stage: ServiceFixture) -> Wire:
    name, account = uuid.uuid4().hex, f"acct_{uuid.uuid4().hex}"
    secret = stage.service.create_key(name=name)
    move = "UPDATE api_key SET account = :account WHERE name = :name"
    assert operate(stage.service, lambda tx: tx.run(move, account=account, name=name)) == 1
    return stage.open(stage.service, secret)


def test_every_route_that_takes_an_id_is_here() -> None:
    """`{name}` is a tool's, and the catalog is everybody's; a browser's session has no other account."""
    keyed = {name for name, route in ROUTES.items() if route.access == "key"}
    assert {name for name in keyed if "{" in ROUTES[name].path.replace("{name}", "")} <= set(HIDDEN)


@pytest.mark.parametrize("name", HIDDEN)
def test_what_another_account_has_is_not_there(name: str, stage: ServiceFixture, stranger: Wire) -> None:
    right = RIGHT[name](stage)
    answer = right.send(stranger, name)
    assert (answer.status_code, code(answer)) == (404, HIDDEN[name])
    assert right.send(stage.wire, name).is_success, "for its own account it is"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/runs", {"message": "say x"}),
        ("/jobs", {"tool": "echo_job", "input": {"steps": 0}}),
        ("/tools/create_images/invoke", {"input": {"request": {"brief": "x"}}}),
        ("/tools/ask_stefanbrain/invoke", {"input": {"message": "say x"}}),
    ],
)
def test_a_start_cannot_name_what_another_account_has(
    path: str, body: dict[str, Any], stage: ServiceFixture, stranger: Wire
) -> None:
    project = stage.wire("POST", "/projects", json={"name": "ours"}).json()["id"]
    assert code(stranger("POST", path, json={**body, "chat": stage.wire.new_chat()})) == "chat_not_found"
    assert code(stranger("POST", path, json={**body, "project": project})) == "project_not_found"


def test_staged_files_of_another_account_cannot_be_attached(stage: ServiceFixture, stranger: Wire) -> None:
    staged = stage.wire("POST", "/files", files={"files": ("a.txt", b"secret")}).json()["files"][0]["id"]
    started = stranger("POST", "/runs", json={"message": "say x", "file_ids": [staged]})
    given = {"input": {"message": "say x", "file_ids": [staged]}}
    asked = stranger("POST", "/tools/ask_stefanbrain/invoke", json=given)
    assert [code(started), code(asked)] == ["upload_not_found", "upload_not_found"]


def test_files_cannot_be_put_into_a_chat_of_another_account(stage: ServiceFixture, stranger: Wire) -> None:
    chat = stage.wire.new_chat()
    answer = stranger("POST", "/files", params={"chat_id": chat}, files={"files": ("a.txt", b"x")})
    assert (answer.status_code, code(answer)) == (404, "chat_not_found")
    assert stage.wire("GET", "/files", params={"chat_id": chat}).json()["files"] == []


def test_a_job_of_another_account_is_not_found_in_ones_own_chat(stage: ServiceFixture, stranger: Wire) -> None:
    job, own = stage.job(steps=0), stranger.new_chat()
    for method, path in (("GET", ""), ("GET", "/result"), ("POST", "/cancel")):
        answer = stranger(method, f"/jobs/{job['job_id']}{path}", params={"chat": own})
        assert (answer.status_code, code(answer)) == (404, "job_not_found")


def test_lists_hold_only_ones_own(stage: ServiceFixture, stranger: Wire) -> None:
    for path, body in (("/projects", {"name": "ours"}), ("/feedback", {"summary": "ours"})):
        stage.wire("POST", path, json=body)
        assert stranger("GET", path).json()["data"] == []
        assert stage.wire("GET", path).json()["data"] != []


def test_sessions_and_idempotency_keys_of_two_accounts_do_not_meet(stage: ServiceFixture, stranger: Wire) -> None:
    label = uuid.uuid4().hex
    headers = {"Idempotency-Key": label}
    ours, theirs = (wire.start("say x", session=label, headers=headers) for wire in (stage.wire, stranger))
    assert ours["run_id"] != theirs["run_id"]
    assert ours["chat"] != theirs["chat"]
