"""What connections keep and lead through: stray answers, event loops that have ended, proxies, private certificates."""

from __future__ import annotations

import ssl
from pathlib import Path

import httpx
import pytest

from agentsvc_nb import AgentService, APIConnectionError
from tests.independent.faces import FACES
from tests.independent.mock import Fault, Mock, Reply, Seen, Wire
from tests.independent.records import KEY, service
from tests.oauth.connector import HOST, certificate


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Without proxies and certificates, but for those that the test sets."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    return monkeypatch


@pytest.mark.parametrize("face", ["blocking", "async"])
@pytest.mark.parametrize("variable", ["HTTP_PROXY", "ALL_PROXY"])
def test_a_proxy_is_asked_unless_no_proxy_names_the_host(
    environment: pytest.MonkeyPatch, variable: str, face: str
) -> None:
    with Mock(service) as host, Mock(service) as proxy:
        address = host.origin.replace("127.0.0.1", "0.0.0.0")  # this machine, too, by no exempt name
        environment.setenv(variable, proxy.origin)
        assert FACES[face](address, lambda client: client.models.list())
        assert [seen.target for seen in proxy.seen] == [f"{address}/api/developers/v1/models"]
        assert not host.seen
        environment.setenv("NO_PROXY", "far.test,0.0.0.0")
        assert FACES[face](address, lambda client: client.models.list())
        assert (len(proxy.seen), len(host.seen)) == (1, 1)


class TlsHost:
    """A service behind TLS with a certificate of its own, reached through a proxy."""

    def __init__(self, folder: Path) -> None:
        self.certificate = certificate(folder)
        self.seen: list[Seen] = []
        self._context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._context.load_cert_chain(self.certificate)

    def answer(self, seen: Seen) -> Fault:
        assert (seen.method, seen.target) == ("CONNECT", f"{HOST}:443")
        return Fault("tunnel", self._tunnel)

    def _tunnel(self, wire: Wire, seen: Seen, good: Reply) -> None:
        wire.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
        with self._context.wrap_socket(wire.sock, server_side=True) as inside:
            behind = Wire(wire.mock, inside, wire.number)
            while asked := behind.head():
                asked.body = behind.body(asked)
                self.seen.append(asked)
                behind.send(service(asked).whole)


@pytest.mark.parametrize("face", ["blocking", "async"])
def test_a_private_certificate_is_trusted_where_the_environment_says_so(
    environment: pytest.MonkeyPatch, tmp_path: Path, face: str
) -> None:
    host = TlsHost(tmp_path)
    with Mock(host.answer) as proxy:
        environment.setenv("HTTPS_PROXY", proxy.origin)
        with pytest.raises(APIConnectionError, match="CERTIFICATE_VERIFY_FAILED"):
            FACES[face](f"https://{HOST}", lambda client: client.models.list(), max_retries=0)
        assert not host.seen
        environment.setenv("SSL_CERT_FILE", str(host.certificate))
        assert FACES[face](f"https://{HOST}", lambda client: client.models.list())
        assert [seen.header("authorization") for seen in host.seen] == [f"Bearer {KEY}"]


def test_a_client_of_ones_own_has_a_proxy_and_certificates_of_its_own(
    environment: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    host = TlsHost(tmp_path)
    with Mock(host.answer) as proxy:
        trusted = ssl.create_default_context()
        trusted.load_verify_locations(host.certificate)
        with httpx.Client(verify=trusted, proxy=proxy.origin) as http:
            assert AgentService(KEY, f"https://{HOST}", http_client=http).models.list()
        assert len(host.seen) == 1
