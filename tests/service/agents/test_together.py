"""Calls that a model makes in one step, through the whole service: those that only read are made at the same time."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.testing import running_service
from tests.service.agents.serving import MODEL, Serving, language_service, loading
from tests.support.waiting import until
from tests.unit.agents.chat_server import Reply, chat_server
from tests.unit.service.site import Answer, Asked, Site, html
from tests.unit.service.site import serving as serving_pages

DONE = Reply(("Done.",))


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with serving_pages() as site:
        yield site


@pytest.fixture(scope="module")
def it(site: Site) -> Iterator[Serving]:
    with language_service(DONE, fetch_allow=site.authority) as it:
        yield it


def step(*calls: tuple[str, dict[str, Any]]) -> Reply:
    """One step of a model that makes these calls."""
    return Reply(calls=tuple((tool, json.dumps(given)) for tool, given in calls))


def results(it: Serving) -> list[str]:
    return [message["content"] for message in it.last() if message["role"] == "tool"]


def test_three_pages_are_read_at_the_same_time_and_told_in_their_order(site: Site, it: Serving) -> None:
    together = threading.Barrier(3, timeout=30)

    def page(asked: Asked) -> Answer:
        together.wait()  # each is answered once all three have been asked for
        return html(f"<p>This is {asked.path}</p>")

    site.pages = dict.fromkeys(("/1", "/2", "/3"), page)
    run = it.ask("Read them.", step(*(("read_page", {"url": site.url + path}) for path in site.pages)), DONE)
    assert run.output == "Done."
    assert not together.broken
    assert [call["input"]["url"][-2:] for call in it.events(run, "tool.call")] == ["/1", "/2", "/3"]
    assert [text.split("This is ")[1][:2] for text in results(it)] == ["/1", "/2", "/3"]


def test_a_call_that_writes_waits_for_those_before_it_and_those_after_it_for_that(site: Site, it: Serving) -> None:
    seen: list[str] = []

    def page(asked: Asked) -> Answer:
        seen.extend(file.path for file in it.client.files.list(chat))
        return html("<p>A page.</p>")

    chat = it.ask("Hello", DONE).chat
    site.pages = {"/": page}
    calls = step(
        ("read_page", {"url": site.url + "/"}),
        ("write_file", {"path": "a.txt", "text": "new"}),
        ("write_file", {"path": "a.txt", "text": "newer"}),
        ("read_file", {"path": "a.txt"}),
    )
    run = it.ask("Write it.", calls, DONE, chat=chat)
    assert run.output == "Done."
    assert seen == [], "the page was read first"
    assert results(it)[-1] == "newer"


def test_calls_of_one_step_wait_for_approval_together(site: Site) -> None:
    def mail(subject: str) -> tuple[str, dict[str, Any]]:
        return "send_email", {"to": ["ana@example.com"], "subject": subject, "text": "x"}

    settings = {"approve_effects": "yes"}
    with language_service(loading("mail"), step(mail("One"), mail("Two")), DONE, **settings) as it:
        run_id = it.client.runs.start("Mail twice.").run_id

        def waiting() -> list[dict[str, Any]]:
            events = it.client.runs.events(run_id, limit=1000).data
            return [event.payload for event in events if event.type == "approval.requested"]

        until(lambda: len(waiting()) == 2)
        for call in reversed(waiting()):
            it.client.runs.approve(run_id, call["call_id"])
        run = it.client.runs.wait(run_id, poll=0.05, timeout=60)
        assert (run.output, len(it.events(run, "tool.result"))) == ("Done.", 2)
        ids = [event.id for event in it.client.runs.iterate_events(run_id)]
        assert ids == list(range(1, len(ids) + 1))


def test_a_crash_repeats_only_the_calls_of_a_step_that_had_not_ended(site: Site) -> None:
    killed = threading.Event()

    def slow(asked: Asked) -> Answer:
        killed.wait(60)
        return html("<p>Slow.</p>")

    site.pages = {"/slow": slow, "/fast": html("<p>Fast.</p>")}
    site.asked.clear()
    both = step(*(("read_page", {"url": site.url + path}) for path in site.pages))
    with (
        chat_server(both, DONE) as server,
        running_service(MODEL, model_url=server.url, fetch_allow=site.authority) as service,
        AgentService(service.api_key, service.base_url) as client,
    ):
        run = client.runs.start("Read both.")
        until(lambda: any(event.type == "tool.result" for event in client.runs.events(run.run_id, limit=1000).data))
        service.kill()
        killed.set()
        service.start()
        ended = client.runs.wait(run.run_id, poll=0.05, timeout=60)
        assert (ended.status, ended.output) == ("completed", "Done.")
        assert sorted(asked.path for asked in site.asked) == ["/fast", "/slow", "/slow"]
        told = [message["content"] for message in server.asked[-1]["messages"] if message["role"] == "tool"]
        assert ["Slow." in told[0], "Fast." in told[1]] == [True, True]
