"""Proxies and certificates of the environment, as everyday machines have them (docs/client.md)."""

from __future__ import annotations

import json
import ssl
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from agentsvc_nb import APIConnectionError, StefanBrainError
from tests.support.certificates import HOST, certificate
from tests.unit.client.conftest import FACES, KEY, RUN_ID, run
from tests.unit.client.test_deadlines import Exchange, Server
from tests.unit.wire.test_proxies import BROKEN, environment, setting

__all__ = ["environment"]


def read(client: Any) -> Any:
    return client.runs.get(RUN_ID)


@pytest.mark.parametrize("face", FACES)
def test_loopback_needs_no_variable(environment: pytest.MonkeyPatch, face: str) -> None:
    with Server(lambda exchange: exchange.json(run())) as server:
        for variables in BROKEN:
            with environment.context() as context:
                setting(context, variables)
                for address in (server.origin, server.origin.replace("127.0.0.1", "localhost")):
                    assert FACES[face](address, read)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HTTPS_PROXY", "http://user:hunter2@proxy company"),
        ("HTTPS_PROXY", "http://proxy:99999"),
        ("ALL_PROXY", "socks5h://u:hunter2@127.0.0.1:1"),
        ("SSL_CERT_FILE", "/nowhere/c.pem"),
        ("SSL_CERT_DIR", "/nowhere:/no"),
    ],
)
def test_a_variable_at_fault_is_named(environment: pytest.MonkeyPatch, name: str, value: str) -> None:
    environment.setitem(sys.modules, "socksio", None)
    environment.setenv(name, value)
    with pytest.raises(StefanBrainError, match=f"^{name} .*Nothing was sent.") as failed:
        FACES["blocking"]("https://far.test", read)
    assert not isinstance(failed.value, APIConnectionError)
    assert "hunter2" not in str(failed.value)


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_refusal_of_the_proxy_names_its_variable(environment: pytest.MonkeyPatch, face: str, scheme: str) -> None:
    def refuse(exchange: Exchange) -> None:
        exchange.begin("text/plain", 407)
        exchange.close_connection = True

    variable = f"{scheme}_proxy".upper()
    with Server(refuse) as proxy:
        environment.setenv(variable, proxy.origin.replace("//", "//ada:secret@"))
        with pytest.raises(APIConnectionError, match=f"{variable}: 407") as caught:
            FACES[face](f"{scheme}://far.test", read, max_retries=0)
    assert not any(secret in str(caught.value) for secret in (KEY, "secret"))


@contextmanager
def tls_host(pem: Path) -> Iterator[tuple[Server, list[bytes]]]:
    """Run a proxy that leads to a service behind TLS; give it, and the requests that came to the service."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(pem)
    seen: list[bytes] = []

    def tunnel(exchange: Exchange) -> None:
        assert exchange.requestline.startswith(f"CONNECT {HOST}:443 ")
        exchange.close_connection = True
        exchange.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        with context.wrap_socket(exchange.connection, server_side=True) as inside:
            seen.append(inside.recv(65_536))
            body = json.dumps(run()).encode()
            inside.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(body) + body)

    with Server(tunnel) as proxy:
        yield proxy, seen


@pytest.mark.parametrize("face", FACES)
def test_a_private_certificate_is_trusted_where_the_environment_says_so(
    environment: pytest.MonkeyPatch, tmp_path: Path, face: str
) -> None:
    pem = certificate(tmp_path)
    with tls_host(pem) as (proxy, seen):
        environment.setenv("HTTPS_PROXY", proxy.origin)
        with pytest.raises(APIConnectionError, match="CERTIFICATE_VERIFY_FAILED"):
            FACES[face](f"https://{HOST}", read, max_retries=0)
        assert not seen
        environment.setenv("SSL_CERT_FILE", str(pem))
        assert FACES[face](f"https://{HOST}", read)
        assert f"bearer {KEY}".encode() in seen[0].replace(b"Bearer", b"bearer")
