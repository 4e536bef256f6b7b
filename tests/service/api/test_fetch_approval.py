"""While effects want approval, a run fetches no page that could carry data out (docs/privacy.md)."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.testing import RunningService, running_service
from tests.service.api.test_approval import ended, of, waiting
from tests.unit.service.site import Site, html, redirect, serving

PAGE = html("<title>Tents</title><h1>Tents</h1>")


@pytest.fixture(scope="module")
def sites() -> Iterator[tuple[Site, Site, Site]]:
    """A site whose pages may be fetched, one that nobody approved, and one that its own message names."""
    with serving() as approved, serving("127.0.0.2") as stranger, serving("127.0.0.3") as named:
        yield approved, stranger, named


@pytest.fixture(scope="module")
def service(sites: tuple[Site, Site, Site]) -> Iterator[RunningService]:
    hosts = {"fetch_allow": ",".join(site.authority for site in sites), "approved_hosts": sites[0].authority}
    with running_service(approve_effects="yes", **hosts) as service:
        yield service


@pytest.fixture
def client(service: RunningService, sites: tuple[Site, Site, Site]) -> Iterator[AgentService]:
    for site in sites:
        site.asked.clear()
        site.pages = {"/": PAGE}
    with AgentService(service.api_key, service.base_url) as client:
        yield client


def call(url: str) -> str:
    """A script that has the address only within JSON, as a model's call has: it is no word of the message."""
    return f"call review_funnel {json.dumps({'url': url}).replace('http:', chr(92) + 'u0068ttp:')}\nsay done"


@pytest.mark.rule("A run waits for approval before it fetches an address that the message lacks.")
def test_an_address_that_nobody_approved_waits(client: AgentService, sites: tuple[Site, Site, Site]) -> None:
    _, stranger, _ = sites
    run = client.runs.start(call(f"{stranger.url}/?q=the+secret"))
    asked = waiting(client, run.run_id)
    assert of(client, run.run_id, "approval.requested")[0]["input"] == {"url": f"{stranger.url}/?q=the+secret"}
    assert stranger.asked == []
    client.runs.refuse(run.run_id, asked, reason="Not there.")
    assert ended(client, run.run_id).output == "done"
    assert stranger.asked == []
    run = client.runs.start(call(f"{stranger.url}/"))
    client.runs.approve(run.run_id, waiting(client, run.run_id))
    ended(client, run.run_id)
    assert [asked.path for asked in stranger.asked] == ["/"]


def test_a_changed_address_is_fetched_and_no_other(client: AgentService, sites: tuple[Site, Site, Site]) -> None:
    """One that the operator forbids stays out of reach."""
    _, stranger, named = sites
    run = client.runs.start(call(f"{stranger.url}/?q=the+secret"))
    with pytest.raises(StefanBrainError) as further:
        client.runs.approve(run.run_id, waiting(client, run.run_id), lasts="run")
    assert further.value.code == "invalid_approval", "each address waits"
    client.runs.approve(run.run_id, waiting(client, run.run_id), input={"url": f"{named.url}/"})
    ended(client, run.run_id)
    assert (stranger.asked, [asked.path for asked in named.asked]) == ([], ["/"])
    run = client.runs.start(call(f"{stranger.url}/"))
    client.runs.approve(run.run_id, waiting(client, run.run_id), input={"url": "http://127.0.0.9/"})
    ended(client, run.run_id)
    [result] = of(client, run.run_id, "tool.result")
    assert result["is_error"] is True, "fetch_allow does not name it"


def test_an_approved_host_is_fetched_unasked(client: AgentService, sites: tuple[Site, Site, Site]) -> None:
    approved, _, _ = sites
    run = ended(client, client.runs.start(call(f"{approved.url}/?q=1")).run_id)
    assert of(client, run.run_id, "approval.requested") == []
    assert [asked.path for asked in approved.asked] == ["/?q=1"]


def test_an_address_that_the_message_has_is_fetched_unasked(
    client: AgentService, sites: tuple[Site, Site, Site]
) -> None:
    """That very address, and no other of its host: one with a word more, or less, is the model's."""
    *_, named = sites
    url = f"{named.url}/?offer=tents"
    run = ended(client, client.runs.start(f"{call(url)}\nsay Have a look at {url}.").run_id)
    assert of(client, run.run_id, "approval.requested") == []
    assert [asked.path for asked in named.asked] == ["/?offer=tents"]
    for other in (f"{url}&q=secret", url[:-1]):
        run = client.runs.start(f"{call(other)}\nsay Have a look at {url}.")
        waiting(client, run.run_id)
        client.runs.cancel(run.run_id)
        ended(client, run.run_id)
    assert len(named.asked) == 1


def test_an_approved_host_does_not_send_it_elsewhere(client: AgentService, sites: tuple[Site, Site, Site]) -> None:
    """Neither by a redirect, which is refused with a sentence, nor by a picture of its page, which is not weighed."""
    approved, stranger, _ = sites
    approved.pages["/go"] = redirect(f"{stranger.url}/?q=secret")
    run = ended(client, client.runs.start(call(f"{approved.url}/go")).run_id)
    (result,) = of(client, run.run_id, "tool.result")
    assert result["is_error"] is True
    assert "AGENTSVC_APPROVED_HOSTS" in result["content"][0]["text"]
    approved.pages["/page"] = html(f"<title>Tents</title><img src='{stranger.url}/a.png?q=secret'><img src='/b.png'>")
    ended(client, client.runs.start(call(f"{approved.url}/page")).run_id)
    assert [asked.path for asked in approved.asked] == ["/go", "/page", "/b.png"]
    assert stranger.asked == []
