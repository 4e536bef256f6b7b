"""The names that a service answers to, and the origins that a browser's session counts for (docs/api/conventions.md
"Hosts and origins")."""

from __future__ import annotations

import httpx
import pytest

from agentsvc_nb.service.http.names import OwnNames
from agentsvc_nb.settings import Settings
from agentsvc_nb.testing import RunningService, running_service
from agentsvc_nb.wire.routes import MCP, V1
from tests.service.api.conftest import code
from tests.service.api.signing import KEYS, signed_in
from tests.service.process.test_stop import answer as received
from tests.service.process.test_stop import connected

FOREIGN = (
    "evil.example",
    "evil.example:8787",
    "localhost.evil.example",
    "127.0.0.1.nip.io",
    "",
    "[::2]",
    "x@localhost",
)


@pytest.mark.parametrize("path", [f"{V1}/tools", "/healthz", "/app", "/app/sign-in", "/nothing", KEYS, MCP.path])
def test_another_name_is_refused_on_every_route(service: RunningService, path: str) -> None:
    port = service.base_url.rpartition(":")[2]
    for host in FOREIGN:
        answer = httpx.get(service.base_url + path, headers={"Host": host, "x-api-key": service.api_key})
        assert (answer.status_code, code(answer)) == (403, "foreign_host")
    for host in ("localhost", f"LOCALHOST:{port}", "127.0.0.1", "127.0.0.1:9", "127.0.0.1:", f"[::1]:{port}", "[::1]"):
        answer = httpx.get(service.base_url + path, headers={"Host": host, "x-api-key": service.api_key})
        assert answer.status_code != 403


def asked(service: RunningService, head: str) -> tuple[int, str]:
    """The status and code that such a head is answered with; `GOOD` in it is the service's own host."""
    good = service.base_url.removeprefix("http://")
    with connected(service.base_url) as connection:
        connection.sendall(f"{head.replace('GOOD', good)}\r\nConnection: close\r\n\r\n".encode())
        status, _, body = received(connection)
    error = body.get("error")
    return status, str(error["code"]) if isinstance(error, dict) else ""


@pytest.mark.parametrize("path", ["/healthz", f"{V1}/tools", "/nothing"])
@pytest.mark.parametrize(
    "hosts",
    ["Host: GOOD\r\nHost: GOOD", "Host: GOOD\r\nHost: evil.example", "Host: evil.example\r\nHost: GOOD", "X: none"],
)
def test_a_request_names_one_host(service: RunningService, path: str, hosts: str) -> None:
    assert asked(service, f"GET {path} HTTP/1.1\r\n{hosts}") == (400, "invalid_query")


@pytest.mark.parametrize(
    "host",
    [
        "GOOD, evil.example",
        "GOOD evil",
        "GOOD/x",
        "GOOD0",
        ":",
        "localhost:-1",
        "localhost:+80",
        "127.0.0.1.:80",
    ],
)
def test_a_host_is_a_name_and_a_port(service: RunningService, host: str) -> None:
    assert asked(service, f"GET /healthz HTTP/1.1\r\nHost: {host}") == (403, "foreign_host")


@pytest.mark.parametrize(
    ("address", "host", "expected"),
    [
        ("http://GOOD/healthz", "GOOD", (200, "")),
        ("HTTP://LOCALHOST/healthz", "localhost", (200, "")),
        ("http://evil.example/healthz", "GOOD", (200, "")),
        ("http://evil.example/healthz", "evil.example", (403, "foreign_host")),
        ("http://GOOD/healthz", "evil.example", (403, "foreign_host")),
        ("//evil.example/healthz", "GOOD", (404, "not_found")),
    ],
)
def test_of_an_address_with_a_host_only_the_path_counts(
    service: RunningService, address: str, host: str, expected: tuple[int, str]
) -> None:
    assert asked(service, f"GET {address} HTTP/1.1\r\nHost: {host}") == expected


def test_an_old_client_needs_no_host(service: RunningService) -> None:
    assert asked(service, "GET /healthz HTTP/1.0\r\nX: none") == (200, "")


def test_a_name_for_a_proxy_is_answered_to() -> None:
    with running_service(
        hosts="Agents.example.com., other.example:81, Bücher.example", public_url="https://public.example"
    ) as service:
        allowed = {
            "agents.example.com": 200,
            "agents.example.com:8443": 200,
            "public.example": 200,
            "other.example:81": 200,
            "xn--bcher-kva.example": 200,
            "other.example": 403,
            "other.example:82": 403,
            "example.com": 403,
        }
        for host, status in allowed.items():
            assert httpx.get(f"{service.base_url}/healthz", headers={"Host": host}).status_code == status, host


def test_an_origin_is_own_by_scheme_host_and_port() -> None:
    """Never by what `Host` says, and before the session is looked at."""
    with running_service(hosts="agents.example.com", origins="https://agents.example.com") as service:
        port = service.base_url.rpartition(":")[2]
        with signed_in(service) as browser:
            for own in (service.base_url, f"http://localhost:{port}", "https://agents.example.com"):
                assert browser.get(KEYS, headers={"Origin": own}).status_code == 200
        for host in ("agents.example.com", "agents.example.com:8443", "localhost:1"):
            headers = {"Origin": f"http://{host}", "Host": host}
            answer = httpx.get(service.base_url + KEYS, headers=headers)
            assert (answer.status_code, code(answer)) == (403, "foreign_origin")
        for origin in ("https://agents.example.com:8443", f"https://127.0.0.1:{port}", "null"):
            answer = httpx.get(service.base_url + KEYS, headers={"Origin": origin})
            assert (answer.status_code, code(answer)) == (403, "foreign_origin")


def test_two_services_of_one_machine_keep_each_others_sessions(service: RunningService) -> None:
    with running_service() as other, httpx.Client() as browser:
        for each in (service, other):
            assert browser.get(each.sign_in_url).status_code == 303
        assert [browser.get(each.base_url + KEYS).status_code for each in (service, other)] == [200, 200]
        assert browser.post(f"{other.base_url}/app/sign-out").status_code == 303
        assert [browser.get(each.base_url + KEYS).status_code for each in (service, other)] == [200, 401]


def test_a_service_that_others_reach_answers_to_any_name() -> None:
    names = OwnNames.of(Settings.from_env({}), "http://127.0.0.1:80", on_loopback=False)
    assert names.has_host(b"ada.local:80")
    assert names.has_origin("http://127.0.0.1")
    assert not names.has_origin("http://ada.local")
