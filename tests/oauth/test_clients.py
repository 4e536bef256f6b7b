"""Who a connector is: its document, fetched through the guard, from a host with TLS."""

from __future__ import annotations

import asyncio
import json
import ssl
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentsvc_nb.service.mcp.oauth.clients import Client, ClientDocuments, Unusable, check_id
from agentsvc_nb.tools.support import fetching
from agentsvc_nb.tools.support.fetching import Fetcher
from agentsvc_nb.wire.limits import OAUTH_CLIENT_BYTES, OAUTH_CLIENT_KEPT_SECONDS
from tests.oauth.connector import HOST, certificate, tls_site
from tests.service.site import Answer, Site, as_json, redirect


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """The connector's host, whose certificate counts."""
    file = certificate(tmp_path)
    context = ssl.create_default_context(cafile=file)
    monkeypatch.setattr(fetching, "tls", lambda: context)
    with tls_site(file) as found:
        yield found


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def documents(site: Site, allowed: bool = True, clock: Callable[[], float] = time.monotonic) -> ClientDocuments:
    async def here(host: str, port: int) -> list[str]:
        return ["127.0.0.1" if host == HOST else host]

    return ClientDocuments(Fetcher((f"{HOST}:{site.port}",) if allowed else (), here), clock)


def address(site: Site, path: str = "/c.json") -> str:
    return f"https://{HOST}:{site.port}{path}"


def find(known: ClientDocuments, client_id: str) -> Client:
    return asyncio.run(known.find(client_id))


def document(site: Site, **changed: Any) -> Answer:
    given = {"client_id": address(site), "client_name": "Chat", "redirect_uris": ["https://chat.example/b"], **changed}
    return as_json({name: value for name, value in given.items() if value is not None})


def refused(known: ClientDocuments, client_id: str) -> str:
    with pytest.raises(Unusable) as caught:
        find(known, client_id)
    assert str(caught.value).endswith(".")
    return str(caught.value)


def test_it_says_who_it_is(site: Site) -> None:
    site.pages["/c.json"] = document(
        site, client_name="  Chat\nof  ours ", redirect_uris=["https://chat.example/b", 7, "x:y"]
    )
    found = find(documents(site), address(site))
    assert (found.host, found.name, found.redirect_uris) == (
        f"{HOST}:{site.port}",
        "Chat of ours",
        ("https://chat.example/b",),
    )
    (asked,) = site.asked
    assert asked.headers["Accept"] == "application/json"
    assert not {"Authorization", "Cookie"} & asked.headers.keys()


@pytest.mark.parametrize(
    "changed",
    [
        {"client_id": "https://chat.example/other.json"},
        {"client_id": None},
        {"client_name": None},
        {"client_name": " "},
        {"client_name": 7},
        {"redirect_uris": None},
        {"redirect_uris": "https://chat.example/b"},
        {"token_endpoint_auth_method": "client_secret_basic"},
        {"token_endpoint_auth_method": "private_key_jwt"},
        {"client_secret": "x"},
        {"grant_types": ["client_credentials"]},
        {"grant_types": "authorization_code"},
        {"response_types": ["token"]},
    ],
)
def test_what_does_not_fit_is_refused(site: Site, changed: dict[str, Any]) -> None:
    site.pages["/c.json"] = document(site, **changed)
    refused(documents(site), address(site))


@pytest.mark.parametrize(
    "changed",
    [
        {"token_endpoint_auth_method": "none"},
        {"grant_types": ["authorization_code", "refresh_token"], "response_types": ["code"]},
        {"logo_uri": "https://chat.example/logo.png", "scope": "all"},
    ],
)
def test_what_else_it_says_is_no_matter(site: Site, changed: dict[str, Any]) -> None:
    site.pages["/c.json"] = document(site, **changed)
    assert find(documents(site), address(site)).name == "Chat"


@pytest.mark.parametrize(
    "answer",
    [
        Answer(b"not here", 404),
        Answer(b"{}", 500, {"Content-Type": "application/json"}),
        Answer(b"{", 200, {"Content-Type": "application/json"}),
        Answer(b"[]", 200, {"Content-Type": "application/json"}),
        Answer(b"[" * 10_000, 200, {"Content-Type": "application/json"}),
        Answer(b"\xff\xfe", 200, {"Content-Type": "application/json"}),
    ],
)
def test_what_is_no_document_is_refused(site: Site, answer: Answer) -> None:
    site.pages["/c.json"] = answer
    refused(documents(site), address(site))


def test_what_is_called_no_json_is_refused(site: Site) -> None:
    """Such as what users of that host have put there."""
    body = document(site).body
    site.pages["/c.json"] = Answer(body, headers={"Content-Type": "text/plain"})
    assert "text/plain" in refused(documents(site), address(site))
    site.pages["/c.json"] = Answer(body, headers={"Content-Type": "application/cimd+json; charset=utf-8"})
    assert find(documents(site), address(site)).name == "Chat"


def test_a_large_one_is_refused(site: Site) -> None:
    site.pages["/c.json"] = document(site, client_uri="x" * OAUTH_CLIENT_BYTES)
    assert "larger than" in refused(documents(site), address(site))


def test_a_redirect_is_not_followed(site: Site) -> None:
    site.pages["/c.json"] = redirect("/d.json")
    site.pages["/d.json"] = document(site)
    assert "HTTP 302" in refused(documents(site), address(site))
    assert [asked.path for asked in site.asked] == ["/c.json"]


def test_a_private_address_is_refused_unless_the_operator_allows_it(site: Site) -> None:
    site.pages["/c.json"] = document(site)
    for client_id in (address(site), f"https://127.0.0.1:{site.port}/c.json", "https://169.254.169.254/c.json"):
        assert "public" in refused(documents(site, allowed=False), client_id)
    assert site.asked == []


def test_a_certificate_of_another_name_does_not_count(site: Site) -> None:
    site.pages["/c.json"] = document(site)

    async def here(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    known = ClientDocuments(Fetcher((f"other.example:{site.port}",), here))
    assert "could not be fetched" in refused(known, f"https://other.example:{site.port}/c.json")


@pytest.mark.parametrize(
    "client_id",
    [
        "",
        "a name",
        "http://chat.example/c.json",
        "https://chat.example",
        "https://chat.example/",
        "https://user@chat.example/c.json",
        "https://chat.example/c.json#x",
        "https://chat.example/a/../c.json",
        "https://chat.example/a/%2e%2E/c.json",
        "https://chat.example/./c.json",
        "https://chat.example/c d.json",
        "https://bücher.example/c.json",
        "https://[::1]/c.json",
        "https://chat.example/" + "c" * 2_000,
    ],
)
def test_what_is_no_address_of_a_document_is_not_fetched(client_id: str) -> None:
    with pytest.raises(Unusable):
        check_id(client_id)


@pytest.mark.parametrize(
    ("header", "kept"),
    [
        ("", 300),
        ("max-age=60", 60),
        ("public, max-age=999999999", OAUTH_CLIENT_KEPT_SECONDS),
        ("no-store", 0),
        ("max-age=60, no-cache", 0),
        ("max-age=0", 0),
    ],
)
def test_it_is_kept_for_a_while(site: Site, header: str, kept: int) -> None:
    clock = Clock()
    known = documents(site, clock=clock)
    made = document(site)
    site.pages["/c.json"] = Answer(made.body, headers={**made.headers, "Cache-Control": header})
    for seconds, times in ((0.0, 1), (max(kept - 1.0, 0.0), 1 if kept else 2), (float(kept), 2 if kept else 3)):
        clock.now = seconds
        find(known, address(site))
        assert len(site.asked) == times


def test_failures_are_not_kept_and_there_is_an_end_to_what_is(site: Site) -> None:
    known = documents(site)
    refused(known, address(site))
    for number in range(110):
        path = f"/{number}.json"
        site.pages[path] = Answer(
            json.dumps({"client_id": address(site, path), "client_name": "x", "redirect_uris": []}).encode(),
            headers={"Content-Type": "application/json"},
        )
        find(known, address(site, path))
    assert len(known._kept) == 100
    site.pages["/c.json"] = document(site)
    assert find(known, address(site)).name == "Chat"
