"""What one account starts does not hold up another's run, and a cancel stops work."""

from __future__ import annotations

import json
import uuid
from typing import Any, Final

from agentsvc_nb.service.folder import DataFolder
from agentsvc_nb.service.keyring import open_beside
from agentsvc_nb.testing import RunningService, running_service
from tests.contract.conftest import Opened, Wire

JOBS: Final = 100
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
    with open_beside(DataFolder(service.data)) as database:
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
