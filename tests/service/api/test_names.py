"""The names that a service answers to, and the origins that a browser's session counts for (docs/api/conventions.md
"Hosts and origins")."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from agentsvc_nb.testing import RunningService, running_service
from agentsvc_nb.wire.routes import MCP, V1
from tests.service.api.conftest import KEYS, code, signed_in
from tests.service.process.test_stop import answer as received
from tests.service.process.test_stop import connected

FOREIGN = ("evil.example", "localhost.evil.example", "127.0.0.1.nip.io", "", "[::2]")


@pytest.mark.rule("On loopback, a foreign `Host` is `403 foreign_host` on every route.")
def test_another_name_is_refused_on_every_route(service: RunningService) -> None:
    port = service.base_url.rpartition(":")[2]
    with httpx.Client(base_url=service.base_url, headers={"x-api-key": service.api_key}) as http:
        for path in (f"{V1}/tools", "/healthz", "/app", "/nothing", KEYS, MCP.path):
            for host in FOREIGN:
                answer = http.get(path, headers={"Host": host})
                assert (answer.status_code, code(answer)) == (403, "foreign_host")
            for host in (f"LOCALHOST:{port}", "127.0.0.1", f"[::1]:{port}"):
                assert http.get(path, headers={"Host": host}).status_code != 403


def asked(service: RunningService, head: str) -> tuple[int, str]:
    """The status and code that such a head is answered with; `GOOD` in it is the service's own host."""
    good = service.base_url.removeprefix("http://")
    with connected(service.base_url) as connection:
        connection.sendall(f"{head.replace('GOOD', good)}\r\nConnection: close\r\n\r\n".encode())
        status, _, body = received(connection)
    error = body.get("error")
    return status, str(error["code"]) if isinstance(error, dict) else ""


@pytest.mark.parametrize("hosts", ["Host: GOOD\r\nHost: evil.example", "X: none"])
def test_a_request_names_one_host(service: RunningService, hosts: str) -> None:
    assert asked(service, f"GET {V1}/tools HTTP/1.1\r\n{hosts}") == (400, "invalid_query")
    assert asked(service, "GET /healthz HTTP/1.0\r\nX: none") == (200, ""), "an old client needs none"


@pytest.mark.parametrize("host", ["GOOD, evil.example", "GOOD0", ":"])
def test_a_host_is_a_name_and_a_port(service: RunningService, host: str) -> None:
    assert asked(service, f"GET /healthz HTTP/1.1\r\nHost: {host}") == (403, "foreign_host")


@pytest.mark.parametrize(
    ("address", "host", "expected"),
    [
        ("http://GOOD/healthz", "GOOD", (200, "")),
        ("http://evil.example/healthz", "evil.example", (403, "foreign_host")),
        ("http://GOOD/healthz", "evil.example", (403, "foreign_host")),
        ("//evil.example/healthz", "GOOD", (404, "not_found")),
    ],
)
def test_of_an_address_with_a_host_only_the_path_counts(
    service: RunningService, address: str, host: str, expected: tuple[int, str]
) -> None:
    assert asked(service, f"GET {address} HTTP/1.1\r\nHost: {host}") == expected


@pytest.fixture(scope="module")
def named() -> Iterator[RunningService]:
    """A service behind a proxy."""
    hosts = "Agents.example.com., other.example:81, B\u00fccher.example"
    with running_service(hosts=hosts, origins="https://agents.example.com") as service:
        yield service


def test_a_name_for_a_proxy_is_answered_to(named: RunningService) -> None:
    for host, status in (
        ("agents.example.com:8443", 200),
        ("other.example:81", 200),
        ("xn--bcher-kva.example", 200),
        ("other.example:82", 403),
        ("example.com", 403),
    ):
        assert httpx.get(f"{named.base_url}/healthz", headers={"Host": host}).status_code == status


def test_an_origin_is_own_by_scheme_host_and_port(named: RunningService) -> None:
    """Never by what `Host` says, and before the session is looked at."""
    port = named.base_url.rpartition(":")[2]
    with signed_in(named) as browser:
        for own in (named.base_url, f"http://localhost:{port}", "https://agents.example.com"):
            assert browser.get(KEYS, headers={"Origin": own}).status_code == 200
    for host in ("agents.example.com", "localhost:1"):
        answer = httpx.get(named.base_url + KEYS, headers={"Origin": f"http://{host}", "Host": host})
        assert (answer.status_code, code(answer)) == (403, "foreign_origin")
    for origin in ("https://agents.example.com:8443", f"https://127.0.0.1:{port}", "null"):
        answer = httpx.get(named.base_url + KEYS, headers={"Origin": origin})
        assert (answer.status_code, code(answer)) == (403, "foreign_origin")


def test_two_services_of_one_machine_keep_each_others_sessions(service: RunningService, named: RunningService) -> None:
    with httpx.Client() as browser:
        for each in (service, named):
            assert browser.get(each.sign_in_url).status_code == 303
        assert [browser.get(each.base_url + KEYS).status_code for each in (service, named)] == [200, 200]
        assert browser.post(f"{named.base_url}/app/sign-out").status_code == 303
        assert [browser.get(each.base_url + KEYS).status_code for each in (service, named)] == [200, 401]
