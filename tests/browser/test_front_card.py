"""Cards of runs and bars of jobs in a page that hosts one anywidget under a strict policy: by keyboard, and hostile."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from agentsvc_nb.client.approvals import WaitingCall
from agentsvc_nb.notebook.jobs.follower import JobResult
from agentsvc_nb.notebook.kernel.calls import KernelCall
from agentsvc_nb.notebook.widgets.card import BarsScreen, CardScreen, card_front
from agentsvc_nb.notebook.widgets.front import Front
from agentsvc_nb.wire.tools import Job, Progress
from tests.browser import axe
from tests.browser.anyhost import POLICY, Host, HostComm, hosting
from tests.browser.test_front import LISTED, RAW, nothing_ran, watched
from tests.browser.test_front_files import OTHERS
from tests.notebook import fronts
from tests.notebook.screens import Cell, Clock, Script
from tests.support.waiting import until

NARROW = 220
TABLE = "say\n\n| a channel | what it has cost | what it has earned |\n|---|--:|--:|\n| Search | 67,004 | 560,503 |"


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    with hosting() as opened:
        yield opened


@pytest.fixture(autouse=True)
def comms(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("comm.create_comm", HostComm)
    host.errors.clear()
    host.requests.clear()


def opened(host: Host, front: Front, policy: str = POLICY) -> Page:
    page = host.open(front, policy)
    watched(page)
    return page


def test_a_run_is_watched_answered_and_cancelled_by_keyboard(host: Host) -> None:
    decided: list[Any] = []
    cancelled: list[int] = []
    cell, clock, run = Cell(), Clock(), Script()

    def decide(call: WaitingCall, approved: bool, reason: str) -> None:
        decided.append((call.call_id, approved, reason))

    screen = CardScreen(cell, decide, clock)
    screen.cancels(lambda: cancelled.append(1))
    code = KernelCall("call_2", "run", "n = 1", "to count")
    run.say(TABLE)
    run.event("approval.requested", call_id="call_1", tool="send_email", input={"to": "ada@example.org"})
    run.view.kernel = [code]
    screen.draw(run.view)
    page = opened(host, fronts.front_of(cell.outputs[1]))
    page.set_viewport_size({"width": NARROW, "height": 900})
    card = page.get_by_role("group", name="Agent")
    expect(card.get_by_role("status")).to_have_text("running · waits for your approval")
    assert axe.violations(page, ".asvc") == []
    wide, room = page.locator(".asvc").evaluate("box => [box.scrollWidth, box.clientWidth]")
    assert wide <= room
    number = page.locator("td", has_text="560,503")
    assert number.evaluate("cell => cell.offsetHeight") < 40, "a number is not broken"
    mail = page.get_by_role("group", name="send_email waits")
    mail.get_by_label("Reason to refuse").press_sequentially("Not before Monday")
    mail.get_by_role("button", name="Refuse").press("Enter")
    until(lambda: decided == [("call_1", False, "Not before Monday")])
    kernel = page.get_by_role("group", name="run_in_kernel waits")
    kernel.get_by_role("button", name="Edit").press("Enter")
    page.keyboard.press("End")
    page.keyboard.type("0")
    kernel.get_by_role("button", name="Run as changed").press("Enter")
    until(lambda: (code.state, code.code) == ("approved", "n = 10"))
    card.get_by_role("button", name="Cancel").press("Space")
    expect(card.get_by_role("button", name="Cancelling")).to_be_focused()
    page.keyboard.press("Enter")
    until(lambda: cancelled == [1])
    screen.finish({"text/plain": "done", "text/html": "<p>it was <em>cancelled</em></p>"})
    expect(page.locator(".asvc em")).to_have_text("cancelled")
    expect(page.locator(".asvc")).to_be_focused()
    nothing_ran(host, page)
    page.close()


def test_jobs_have_a_bar_each_which_ends_as_the_result(host: Host) -> None:
    unwanted: list[str] = []
    known = Job(job_id="job_1", tool="create_images", status="running", progress=Progress(done=1, total=4))
    unknown = Job(job_id="job_2", tool="find_angles", status="running")
    screen = BarsScreen()
    screen.begin([known, unknown], unwanted.append)
    page = opened(host, screen.front)
    first, second = (page.get_by_role("group", name=name) for name in ("create_images", "find_angles"))
    expect(first.get_by_role("progressbar")).to_have_attribute("aria-valuenow", "25")
    assert second.get_by_role("progressbar").get_attribute("aria-valuenow") is None
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert axe.violations(page, ".asvc") == []
    first.get_by_role("button", name="Cancel").press("Enter")
    until(lambda: unwanted == ["job_1"])
    known.status = "cancelled"
    screen.draw([known, unknown], {"job_1": JobResult(known)}, 2.0)
    expect(page.locator(".asvc")).to_contain_text("■ cancelled · create_images")
    expect(page.get_by_role("button")).to_have_count(1)
    page.keyboard.press("Tab")
    expect(second.get_by_role("button")).to_be_focused()
    nothing_ran(host, page)
    page.close()


def test_whatever_is_in_the_parts_executes_and_fetches_nothing(host: Host) -> None:
    """As if a renderer of ours had failed, in a page that forbids nothing."""
    front = card_front()
    front.change({"more": "nothing yet"})
    page = opened(host, front, policy="")
    host.requests.clear()
    work = {"icon": "tool", "percent": 5, "cancelling": False}
    for number, evil in enumerate(RAW):
        call = {"shown": evil, "tool": evil, "yes": ["Approve", evil], "no": evil, "code": evil, "failed": evil}
        bar = {**work, "name": evil, "state": evil, "amounts": evil}
        choice = {"shown": evil, "buttons": [["a", evil, evil, ""]], "busy": False, "wrong": evil}
        parts = {"text": evil, "ran": evil, "asked/1": call, "more": evil, "choice": choice}
        front.change({**parts, "run": bar, f"job/{number}": bar})
        page.wait_for_function("count => document.querySelectorAll('.asvc-bars b').length === count", arg=number + 1)
        assert _foreign(page) == []
        front.change({"asked/1": None})
    for number, evil in enumerate(RAW):
        front.change({f"job/{number}": {"end": evil}})
    page.wait_for_function("count => document.querySelectorAll('.asvc-ended').length === count", arg=len(RAW))
    for evil in RAW:
        front.change({"closed": evil})
    page.wait_for_function("() => document.querySelector('.asvc-live').childElementCount === 1")
    assert _foreign(page) == []
    assert page.evaluate("window.executed") == []
    assert host.requests == []
    page.close()


def _foreign(page: Page) -> list[str]:
    """Return the elements that may not be there; links of answers may."""
    found: list[str] = page.locator(".asvc").locator(LISTED).evaluate_all(OTHERS)
    return [each for each in found if not each.startswith(('<a href="http', '<a href="mailto:'))]
