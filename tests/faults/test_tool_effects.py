"""kill -9 between the effect of a real tool and its record: it happened once. Mails are counted by a real mail server,
files by their hashes (docs/decisions/07)."""

from __future__ import annotations

import json
import os
import signal
from typing import Any, Final

import pytest

from tests.faults.crashing_server import CrashingServer, crashing_server
from tests.faults.test_calls import last_result
from tests.support import databases
from tests.unit.service.site import html, serving
from tests.unit.tools.mailbox import mail_server

MAIL: Final = {"to": ["ana@example.com"], "subject": "Hello", "text": "Hello.", "dry_run": False}
BRIEF: Final = {"brief": "Headline: Summer sale", "outputs": {"count": 2}}


def call(tool: str, given: dict[str, Any]) -> str:
    return f"call {tool} {json.dumps(given)}"


def with_settings(**given: str) -> list[str]:
    return [part for name, value in given.items() for part in ("--set", f"{name}={value}")]


def files(service: CrashingServer, run: dict[str, Any]) -> list[tuple[str, str]]:
    """Path and SHA-256 of the files of the run's chat."""
    return [(one["path"], one["id"]) for one in service.get("/files", chat_id=run["chat"])["files"]]


@pytest.mark.rule("`send_email` does not repeat a mail that may have been sent.")
@pytest.mark.parametrize(
    ("moment", "mails", "known"),
    [
        ("in calls.move 1", 1, True),  # before anything was sent
        ("arrived", 1, False),  # the server has the mail, and nobody was told
        ("after calls.move 2", 1, True),  # all is written
    ],
)
def test_a_mail_that_may_be_out_is_not_sent_again(moment: str, mails: int, known: bool) -> None:
    with mail_server() as (box, address):
        given = {"smtp_url": address, "mail_from": "ads@shop.example", "mail_recipients": "@example.com"}
        with crashing_server(*with_settings(**given)) as service:
            service.start(*([] if moment == "arrived" else ["--point", moment]))
            if moment == "arrived":
                box.arrived = lambda: os.kill(service.pid, signal.SIGKILL)
            run, events = service.cut_off(call("send_email", MAIL))
            result = last_result(events)
            assert (len(box.taken), not result["is_error"]) == (mails, known)
            assert ("may have had an effect" in result["content"][0]["text"]) is not known
            ((path, _),) = files(service, run)
            assert all(id_.startswith(f"<{path[5:-4]}") for id_ in box.ids()), "the copy that is kept is of that mail"


def test_a_file_is_there_once_and_is_the_same() -> None:
    with crashing_server() as service:
        service.start("--point", "after files.put 1")
        run, events = service.cut_off(call("create_images", {"request": BRIEF}))
        assert last_result(events)["is_error"] is False
        undisturbed = service.post("/runs", {"message": call("create_images", {"request": BRIEF})}).json()
        service.ended(undisturbed["run_id"])
        assert len(files(service, run)) == 2
        assert files(service, run) == files(service, undisturbed)


def test_what_is_kept_for_the_account_is_kept_once() -> None:
    with serving() as site:
        site.pages = {"/": html("<title>Tents</title><h1>Tents</h1><a href=/buy>Buy now</a>")}
        with crashing_server(*with_settings(fetch_allow=site.authority)) as service:
            service.start("--point", "after landing_pages.add 1")
            _, events = service.cut_off(call("review_funnel", {"url": site.url}))
            assert last_result(events)["is_error"] is False, last_result(events)
            assert databases.count(service.folder, "landing_page") == 1
