"""Addresses of strangers: what is not public is refused before a byte is sent; size, time and redirects have limits."""

from __future__ import annotations

import asyncio
import gzip
import threading
from ipaddress import ip_network

import pytest

from agentsvc_nb.tools.port import WorkFailure
from agentsvc_nb.tools.support.fetching import Fetched, Fetcher, find_addresses, is_public
from tests.unit.service.site import Answer, Asked, Site, html, redirect, serving


def get(fetcher: Fetcher, url: str, **limits: float) -> Fetched:
    return asyncio.run(fetcher.get(url, **limits))  # type: ignore[arg-type]


def refusal(fetcher: Fetcher, url: str, **limits: float) -> WorkFailure:
    with pytest.raises(WorkFailure) as caught:
        get(fetcher, url, **limits)
    assert caught.value.message.endswith(".")
    return caught.value


REFUSED = {
    "loopback": "http://127.0.0.1{port}/",
    "loopback by name": "http://localhost{port}/",
    "this host": "http://0.0.0.0{port}/",
    "link-local": "http://169.254.169.254/latest/meta-data/",
    "decimal": "http://2130706433{port}/",
    "octal": "http://0177.0.0.1{port}/",
    "full-width digits": "http://１２７.0.0.1{port}/",
    "a dot at the end": "http://127.0.0.1.{port}/",
    "IPv6 loopback": "http://[::1]{port}/",
    "IPv4-mapped": "http://[::ffff:127.0.0.1]{port}/",
    "NAT64": "http://[64:ff9b::7f00:1]/",
    "6to4": "http://[2002:7f00:1::1]/",
    "Teredo": "http://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/",
    "a mail server's port": "http://93.184.215.14:25/",
    "file": "file:///etc/passwd",
    "a name and password": "http://user:secret@example.com/",
}


@pytest.mark.rule("Tools fetch public addresses only.")
@pytest.mark.parametrize("url", REFUSED.values(), ids=REFUSED.keys())
def test_what_is_not_public_is_refused_and_not_touched(url: str, site: Site) -> None:
    for port in (f":{site.port}", ""):
        assert refusal(Fetcher(), url.replace("{port}", port)).code == "address_refused"
    assert site.asked == []


@pytest.mark.rule("A redirect to a private address is refused.")
@pytest.mark.parametrize("to", ["http://127.0.0.1/", "http://[::1]/", "file:///etc/passwd", "http://2130706433/"])
def test_a_redirect_is_looked_at_like_the_first_address(to: str, site: Site) -> None:
    site.pages["/"] = redirect(to)
    assert refusal(Fetcher((site.authority,)), site.url).code == "address_refused"


def test_a_name_of_this_machine_is_refused_whatever_else_it_resolves_to() -> None:
    async def both(host: str, port: int) -> list[str]:
        return ["93.184.215.14", "127.0.0.1"]

    assert refusal(Fetcher((), both), "http://mixed.example/").code == "address_refused"


@pytest.mark.rule("A host name is resolved once per request.")
def test_a_name_that_changes_its_address_gains_nothing(site: Site) -> None:
    """It is resolved once, and the connection goes to what was looked at."""
    with serving("127.0.0.2") as other:
        asked: list[str] = []
        addresses = iter(["127.0.0.1", "127.0.0.2"])

        async def resolve(host: str, port: int) -> list[str]:
            asked.append(host)
            return [next(addresses)]

        site.pages["/"] = html("the first")
        found = get(Fetcher((f"turns.example:{site.port}",), resolve), f"http://turns.example:{site.port}/")
        assert (found.decode(), asked, other.asked) == ("the first", ["turns.example"], [])
        assert site.asked[0].headers["Host"] == f"turns.example:{site.port}"


def test_a_name_that_becomes_private_at_a_redirect_is_refused(site: Site) -> None:
    asked: list[int] = []

    async def resolve(host: str, port: int) -> list[str]:
        asked.append(port)
        return ["127.0.0.1"]

    site.pages["/"] = redirect("http://turns.example/")
    allowed = Fetcher((f"turns.example:{site.port}",), resolve)
    assert refusal(allowed, f"http://turns.example:{site.port}/").code == "address_refused"
    assert asked == [site.port, 80], "each address is looked up anew"


def test_redirects_are_followed_five_times(site: Site) -> None:
    for number in range(7):
        site.pages[f"/{number}"] = redirect(f"/{number + 1}")
    site.pages["/5"] = html("there")
    found = get(Fetcher((site.authority,)), f"{site.url}/0")
    assert (found.decode(), found.url, len(found.redirects)) == ("there", f"{site.url}/5", 5)
    site.pages["/5"] = redirect("/6")
    assert "redirects" in refusal(Fetcher((site.authority,)), f"{site.url}/0").message


def test_too_much_is_not_taken(site: Site) -> None:
    site.pages["/big"] = Answer(b"x" * 2_000)
    site.pages["/bomb"] = Answer(gzip.compress(bytes(50_000_000)), headers={"Content-Encoding": "gzip"})
    site.pages["/packed"] = Answer(gzip.compress(b"x" * 900), headers={"Content-Encoding": "gzip"})
    site.pages["/broken"] = Answer(b"no gzip", headers={"Content-Encoding": "gzip"})
    fetcher = Fetcher((site.authority,))
    assert "larger than 1,000 bytes" in refusal(fetcher, f"{site.url}/big", max_bytes=1_000).message
    assert "larger than" in refusal(fetcher, f"{site.url}/bomb", max_bytes=1_000_000).message
    found = get(fetcher, f"{site.url}/packed", max_bytes=1_000)
    assert (len(found.body), found.transferred < 100) == (900, True)
    assert "compressed content is damaged" in refusal(fetcher, f"{site.url}/broken").message


def test_what_does_not_come_is_given_up(site: Site) -> None:
    go_on = threading.Event()

    def stall(asked: Asked) -> Answer:
        go_on.wait(60)
        return Answer()

    site.pages["/"] = stall
    failure = refusal(Fetcher((site.authority,)), site.url, seconds=0.2)
    go_on.set()
    assert (failure.code, "longer than 0.2 s" in failure.message) == ("fetch_failed", True)


# https://www.iana.org/assignments/iana-ipv4-special-registry and iana-ipv6-special-registry, and ranges that were used
# for the like. Those of tunnels and of the nearest router (192.0.0.9) are refused, too, although they are reachable.
SPECIAL = (
    *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24"),
    *("192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24"),
    *("224.0.0.0/4", "240.0.0.0/4", "255.255.255.255/32"),
    *("::/128", "::1/128", "::/96", "::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64"),
    *("100:0:0:1::/64", "2001::/32", "2001:2::/48", "2001:10::/28", "2001:db8::/32", "2002::/16"),
    *("3fff::/20", "4000::/3", "5f00::/16", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8"),
)


def test_no_address_of_a_special_range_is_public_and_others_are() -> None:
    for network in map(ip_network, SPECIAL):
        places = {0, network.num_addresses // 3, network.num_addresses // 2, network.num_addresses - 1}
        assert not any(is_public(str(network[place])) for place in places), network
    for address in ("93.184.215.14", "192.0.1.1", "192.88.98.255", "2606:2800:21f:cb07:6820:80da:af6b:8b2c", "2a00::1"):
        assert is_public(address), address


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("看看 https://shop.example/a。谢谢", "https://shop.example/a"),
        ("https://a.example/、https://b.example/を見て", "https://a.example/"),
        ("https://zh.example/维基。百科 is one address", "https://zh.example/维基。百科"),
    ],
)
def test_an_address_ends_before_a_mark_of_any_language(text: str, named: str) -> None:
    assert named in find_addresses(text)
