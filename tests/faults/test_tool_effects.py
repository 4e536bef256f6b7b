"""kill -9 between the effect of a real tool and its record: it happened once. Mails are counted by a real mail server,
files by their hashes (docs/decisions/0014-calls-are-kept.md)."""

from __future__ import annotations

import contextlib
import json
import os
import signal
from collections.abc import Callable, Iterator
from typing import Any, Final

import httpx
import pytest

from agentsvc_nb.tools.ads.creating import designs
from agentsvc_nb.tools.ads.models import ImageRequest
from agentsvc_nb.wire.runs import TERMINAL
from tests.faults.crashing_server import CrashingServer, crashing_server
from tests.faults.test_calls import last_result
from tests.support import databases
from tests.support.sampling import EVERY, sampled
from tests.support.waiting import until
from tests.unit.service.site import Answer, Site, as_json, html, serving
from tests.unit.tools.mailbox import Box, mail_server
from tests.unit.tools.test_tools_get_meta_ad import ad, png

MAIL: Final = {"to": ["ana@example.com"], "subject": "Hello", "text": "Hello.", "dry_run": False}
BRIEF: Final = {"brief": "Summer sale", "outputs": {"count": 2}}
DRAWN: Final = designs(ImageRequest.model_validate(BRIEF))[0].path
TABLE: Final = {"path": "t.csv", "text": "day,sold\n1,5\n2,7\n3,6\n"}


def call(tool: str, given: dict[str, Any]) -> str:
    return f"call {tool} {json.dumps(given)}"


def start(service: CrashingServer, script: str) -> dict[str, Any]:
    run: dict[str, Any] = service.post("/runs", {"message": script}).json()
    return run


def ended(service: CrashingServer, run: dict[str, Any]) -> list[dict[str, Any]]:
    """The events of a run that completes."""
    run_id = run["run_id"]
    until(lambda: service.get(f"/runs/{run_id}")["status"] in TERMINAL)
    assert service.get(f"/runs/{run_id}")["status"] == "completed"
    return service.events(run_id)


def files(service: CrashingServer, run: dict[str, Any]) -> list[tuple[str, str]]:
    """Path and SHA-256 of the files of the run's chat."""
    return [(one["path"], one["id"]) for one in service.get("/files", chat_id=run["chat"])["files"]]


@contextlib.contextmanager
def mailing() -> Iterator[tuple[CrashingServer, Box]]:
    """A service that may write to everybody at example.com, and the mail server that it was given."""
    with mail_server() as (box, address):
        given = {"smtp_url": address, "mail_from": "ads@shop.example", "mail_recipients": "@example.com"}
        with crashing_server(
            *(part for name, value in given.items() for part in ("--set", f"{name}={value}"))
        ) as service:
            yield service, box


def killing(service: CrashingServer) -> Callable[[], None]:
    return lambda: os.kill(service.pid, signal.SIGKILL)


@pytest.mark.parametrize("moment", sampled(["announced", "taken", "answered"], "taken"))
def test_a_mail_that_may_be_out_is_not_sent_again(moment: str) -> None:
    """Killed when the server has the recipients; when it has the mail, and nobody was told; when all is said, and
    nothing written."""
    with mailing() as (service, box):
        service.start("--point", "in calls.move 2" if moment == "answered" else "never never 0")
        if moment == "announced":
            box.announced = killing(service)
        if moment == "taken":
            box.arrived = killing(service)
        run, events = service.cut_off(call("send_email", MAIL))
        assert len(box.taken) == (0 if moment == "announced" else 1)
        result = last_result(events)
        assert result["is_error"] is True
        assert "not known" in result["content"][0]["text"]
        ((path, _),) = files(service, run)
        assert all(id_.startswith(f"<{path[5:-4]}") for id_ in box.ids()), "the copy that is kept is of that mail"


@pytest.mark.parametrize("point", ["in calls.move 1", "after calls.move 2"])
def test_a_mail_is_sent_once(point: str) -> None:
    """Killed before anything was sent, and when all was written: either way the run ends with a mail that is sent."""
    with mailing() as (service, box):
        service.start("--point", point)
        run, events = service.cut_off(call("send_email", MAIL))
        assert last_result(events)["is_error"] is False
        assert len(box.taken) == 1
        assert len(files(service, run)) == 1


def test_a_mail_of_a_direct_call_is_sent_once() -> None:
    """Nobody goes on with a call that was made over HTTP; who made it knows that it had no answer."""
    with mailing() as (service, box):
        service.start()
        box.arrived = killing(service)
        with pytest.raises(httpx.TransportError):
            service.post("/tools/send_email/invoke", {"input": MAIL, "chat": "new"})
        service.see_it_die()
        service.start()
        ended(service, start(service, "say on"))
        assert len(box.taken) == 1


DRAW: Final = call("create_images", {"request": BRIEF})
EDIT: Final = call("edit_image", {"request": {"path": DRAWN, "headline": "Winter"}})
WRITE: Final = call("write_file", TABLE)


@pytest.mark.parametrize(
    ("script", "point", "written"),
    [
        pytest.param(DRAW, "after files.put 1", 2, id="create_images, one of two"),
        pytest.param(f"{DRAW}\n{EDIT}", "in jobs.finish 2", 3, id="edit_image"),
        pytest.param(WRITE, "in calls.move 1", 1, id="write_file"),
    ][: None if EVERY else 1],
)
def test_a_file_is_there_once_and_is_the_same(script: str, point: str, written: int) -> None:
    with crashing_server() as service:
        service.start("--point", point)
        run, events = service.cut_off(script)
        assert last_result(events)["is_error"] is False, last_result(events)
        undisturbed = start(service, script)
        ended(service, undisturbed)
        assert len(files(service, run)) == written
        assert files(service, run) == files(service, undisturbed)


def test_what_an_ask_wrote_is_there_once() -> None:
    with crashing_server() as service:
        service.start("--point", "after files.put 1")
        body = {"input": {"message": "write a.txt hello\nsay done"}, "chat": "new"}
        with pytest.raises(httpx.TransportError):
            service.post("/tools/ask_stefanbrain/invoke", body, key="k")
        service.see_it_die()
        service.start()
        found = [service.post("/tools/ask_stefanbrain/invoke", body, key="k").json() for _ in range(2)]
        assert found[0]["chat"] == found[1]["chat"]
        assert [path for path, _ in files(service, found[0])] == ["a.txt"]
        assert databases.count(service.folder, "run") == 1


@pytest.fixture
def site() -> Iterator[Site]:
    with serving() as made:
        made.pages = {
            "/": html("<title>Tents</title><h1>Tents</h1><a href=/buy>Buy now</a>"),
            "/v21.0/ads_archive": as_json({"data": [ad(made, 1)]}),
            "/render_ad/": html('<img src=/p.png><script>{"original_image_url":"\\/p.png"}</script>'),
            "/p.png": Answer(png(1)),
        }
        yield made


@pytest.mark.parametrize(
    ("tool", "point", "table"),
    [
        ("review_funnel", "after landing_pages.add 1", "landing_page"),
        ("get_meta_ad", "after media.insert 1", "media"),
    ],
)
def test_what_is_kept_for_the_account_is_kept_once(tool: str, point: str, table: str, site: Site) -> None:
    given = {"meta_url": f"{site.url}/v21.0", "meta_token": "t", "fetch_allow": site.authority}
    inputs: dict[str, Any] = {
        "review_funnel": {"url": site.url},
        "get_meta_ad": {"search_terms": "x", "countries": ["DE"]},
    }
    with crashing_server(*(part for name, value in given.items() for part in ("--set", f"{name}={value}"))) as service:
        service.start("--point", point)
        _, events = service.cut_off(call(tool, inputs[tool]))
        assert last_result(events)["is_error"] is False, last_result(events)
        assert databases.count(service.folder, table) == 1
