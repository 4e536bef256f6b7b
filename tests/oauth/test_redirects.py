"""Redirect URIs: exactly those that a connector has named, but for the port on loopback."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from agentsvc_nb.service.mcp.oauth import redirects

PATHS = st.from_regex(r"\A(?:/[a-z0-9._~%=&+-]{0,8}){0,3}(?:\?[a-z=&0-9]{1,10})?\Z")
PORTS = st.integers(1, 65_535)
LOOPBACKS = st.sampled_from(["localhost", "127.0.0.1", "[::1]"])
HOSTS = st.from_regex(r"\A[a-z0-9]{1,8}(?:\.[a-z]{2,6}){1,2}\Z")
PUBLIC = st.builds(lambda host, path: f"https://{host}{path}", HOSTS, PATHS)
LOCAL = st.builds(lambda host, port, path: f"http://{host}:{port}{path}", LOOPBACKS, PORTS, PATHS)
ANY = st.one_of(PUBLIC, LOCAL, st.text(max_size=40), st.builds("http://{}".format, st.text(max_size=30)))
TWISTS = [
    "",
    "/",
    "?",
    "?x",
    "#",
    "#x",
    "x",
    ".",
    "%2f",
    "/..",
    "\\",
    "\n",
    " ",
    "\t",
    "@evil.example",
    ":1",
    "/%00",
    "é",
]


@given(PUBLIC)
def test_a_named_one_is_taken(uri: str) -> None:
    assert redirects.is_registered(uri, ["https://another.example/", uri])


@given(PUBLIC, st.sampled_from(TWISTS[1:]))
def test_whatever_is_added_it_is_another(uri: str, twist: str) -> None:
    assert not redirects.is_registered(uri + twist, [uri])


@given(uri=ANY, registered=st.lists(ANY, max_size=4))
def test_what_is_taken_is_named_but_for_a_port_on_loopback(uri: str, registered: list[str]) -> None:
    if redirects.is_registered(uri, registered) and uri not in registered:
        parts = urlsplit(uri)
        assert parts.scheme == "http"
        assert parts.hostname in ("localhost", "127.0.0.1", "::1")
        same = [urlsplit(one) for one in registered if one.startswith("http://")]
        assert any((one.hostname, one.path, one.query) == (parts.hostname, parts.path, parts.query) for one in same)


@given(LOOPBACKS, PORTS, PORTS, PATHS)
def test_any_port_of_loopback_is_taken(host: str, one: int, other: int, path: str) -> None:
    assert redirects.is_registered(f"http://{host}:{one}{path}", [f"http://{host}:{other}{path}"])
    assert redirects.is_registered(f"http://{host}:{one}{path}", [f"http://{host}{path}"])


@given(LOOPBACKS, LOOPBACKS, PATHS, PATHS)
def test_host_and_path_of_loopback_count(host: str, other: str, path: str, elsewhere: str) -> None:
    assume((host, path) != (other, elsewhere))
    assert not redirects.is_registered(f"http://{host}:1{path}", [f"http://{other}:1{elsewhere}"])


@given(HOSTS, PORTS, PORTS, PATHS)
def test_the_port_of_any_other_host_counts(host: str, one: int, other: int, path: str) -> None:
    assume(one != other)
    assert not redirects.is_registered(f"https://{host}:{one}{path}", [f"https://{host}:{other}{path}"])


@given(st.one_of(PUBLIC, LOCAL))
def test_the_user_is_shown_the_host_that_a_browser_goes_to(uri: str) -> None:
    parts = urlsplit(uri)
    assert redirects.host(uri) == parts.netloc
    assert redirects.place(uri) in (f"{parts.scheme}://{parts.netloc}", "http:")


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "chat.example/back",
        "//chat.example/back",
        "http://chat.example/back",
        "http://127.0.0.2/back",
        "http://localhost.evil.example/back",
        "http://localhost:1@evil.example/back",
        "http://127.0.0.1\\@evil.example/",
        "http://[::2]/back",
        "https://user@chat.example/back",
        "https://chat.example/back#fragment",
        "https://chat.example/a b",
        "https://chat.example/\r\nSet-Cookie: a=b",
        "https://chat.example;script-src/",
        "https://*.example/back",
        "https:/chat.example/back",
        "https:chat.example",
        "HTTPS://chat.example/back",
        "https://bücher.example/back",
        "javascript:alert(1)",
        "data:text/html,x",
        "cursor://anysphere/back",
        "https://chat.example/" + "x" * 2_000,
    ],
)
def test_nobody_is_sent_there(uri: str) -> None:
    assert not redirects.is_allowed(uri)
    assert not redirects.is_registered(uri, [uri])
