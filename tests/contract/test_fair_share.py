"""What one account starts does not hold up another's run, and a cancel stops work."""

from __future__ import annotations

import asyncio
import contextlib
import json
import selectors
import uuid
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from agentsvc_nb.documents.children import fairness
from agentsvc_nb.documents.children.fairness import FairThreads
from agentsvc_nb.service.app import create_app
from agentsvc_nb.service.keyring import open_beside
from agentsvc_nb.service.runner.storage import SystemClock
from agentsvc_nb.service.usecases import accounts
from agentsvc_nb.settings import Settings
from agentsvc_nb.testing import RunningService, running_service
from agentsvc_nb.wire.routes.route import V1
from tests.contract.conftest import Opened, Wire
from tests.contract.test_unread import asked
from tests.service.test_stop import connected

JOBS: Final = 100
REQUESTS: Final = 700
PICTURES: Final = {
    "tool": "create_images",
    "input": {"request": {"kind": "static_ad", "brief": "Sale", "outputs": {"mode": "count", "count": 20}}},
    "chat": "new",
}
REVIEW: Final = "call review_copy " + json.dumps({"text": "Buy tea now."})
"""A run whose tool works in a thread."""


def key_of_another_account(service: RunningService) -> str:
    """A self-hosted service has one account. The second here is a key whose row was moved to another one."""
    name = uuid.uuid4().hex
    secret = service.create_key(name=name)
    with open_beside(service.folder) as database:
        move = "UPDATE api_key SET account = :account WHERE name = :name"
        database.write_now(lambda tx: tx.run(move, account=f"acct_{name}", name=name))
    return secret


def drawn(wire: Wire, jobs: list[dict[str, Any]]) -> int:
    """The pictures that the jobs have drawn so far."""
    found = [wire("GET", f"/jobs/{job['job_id']}", params={"chat": job["chat"]}).json() for job in jobs]
    return sum(int(job["progress"]["done"]) // 3 for job in found)


def test_a_hundred_jobs_of_one_account_do_not_hold_up_anothers_run(opened: Opened) -> None:
    with running_service() as service:
        many, few = opened(service), opened(service, key_of_another_account(service))
        assert few.finish(REVIEW)["status"] == "completed"  # what it imports is there
        jobs = [many("POST", "/jobs", json=PICTURES).json() for _ in range(JOBS)]
        before = drawn(many, jobs)
        assert few.finish(REVIEW)["status"] == "completed"
        assert drawn(many, jobs) - before < JOBS, "it waited for less than one picture of each job"


def test_a_thousand_requests_at_once_do_not_hold_up_another_callers(service: RunningService) -> None:
    """All of the first caller's were answered before the other's."""
    few, many = service.create_key(name="few"), service.create_key(name="many")
    for key in (few, many):
        assert httpx.get(f"{service.base_url}{V1}/tools", headers={"x-api-key": key}).status_code == 200
    with contextlib.ExitStack() as stack:
        flood = []
        for _ in range(REQUESTS):
            flood.append(stack.enter_context(connected(service.base_url)))
            flood[-1].sendall(asked("/feedback", many))
        one = stack.enter_context(connected(service.base_url))
        one.sendall(asked("/feedback", few))
        assert one.recv(15) == b"HTTP/1.1 200 OK"
        readable = selectors.DefaultSelector()
        for each in flood:
            readable.register(each, selectors.EVENT_READ)
        assert len(readable.select(0)) < REQUESTS * 0.9, "most of the others were still to be answered"


def test_what_a_key_and_a_session_do_counts_to_their_account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was done on the pages counted to nobody's."""
    counted: list[str] = []
    asked = ContextVar("asked", default=False)
    submit = FairThreads.submit

    def noted(self: FairThreads, *work: Any, **named: Any) -> Any:
        if asked.get():  # the service has work of its own, too
            counted.append(fairness.account.get())
        return submit(self, *work, **named)

    app = create_app(Settings(tmp_path, model="scripted"), instance="test", sign_in_token="token")

    async def browse() -> None:
        transport = httpx.ASGITransport(app)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url="http://service.test") as browser,
        ):
            create = partial(accounts.create_key, clock=SystemClock(), name="k")
            _, secret = await app.state.service.services.use_case.write(create)
            key = {"x-api-key": secret}
            answer = await browser.post(f"{V1}/runs", json={"message": "say it", "sync": True}, headers=key)
            chat = answer.json()["chat"]
            await browser.get("/app/sign-in?token=token")
            upload = {"files": ("a.txt", b"tea")}
            asked.set(True)
            for ask in (
                lambda: browser.post(f"{V1}/files", files=upload, headers=key),
                lambda: browser.get(f"/app/chats/{chat}"),
            ):
                with monkeypatch.context() as patch:
                    patch.setattr(FairThreads, "submit", noted)
                    assert (await ask()).status_code == 200
                assert counted
                assert {counted.pop() for _ in range(len(counted))} == {accounts.ACCOUNT}

    asyncio.run(browse())
