"""Proxies and certificates of the environment, as everyday machines have them (docs/client.md)."""

from __future__ import annotations

import ssl
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from agentsvc_nb import AgentService, APIConnectionError, StefanBrainError
from agentsvc_nb.notebook.connection import connect
from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.notebook.state.journal import Journal
from agentsvc_nb.notebook.state.session import Session
from tests.support.certificates import HOST, certificate
from tests.unit.independent.faces import FACES, outcome
from tests.unit.independent.mock import Fault, Mock, Reply, Seen, Wire, answer
from tests.unit.independent.records import KEY, RUN, run, service
from tests.unit.wire.test_proxies import BROKEN, environment, setting

__all__ = ["environment"]


@pytest.mark.parametrize("face", ["blocking", "async"])
@pytest.mark.parametrize("variables", BROKEN, ids=lambda variables: ",".join(variables))
def test_loopback_needs_no_variable(environment: pytest.MonkeyPatch, variables: dict[str, str], face: str) -> None:
    setting(environment, variables)
    with Mock(service) as mock:
        for address in (mock.origin, mock.origin.replace("127.0.0.1", "localhost")):
            assert FACES[face](address, lambda client: client.models.list())


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("HTTPS_PROXY", "http://user:hunter2@proxy company", "HTTPS_PROXY is not the address of a proxy. Set it to"),
        ("HTTPS_PROXY", "http://[::1", "HTTPS_PROXY is not the address of a proxy"),
        ("https_proxy", "http://", "https_proxy is not the address of a proxy"),
        ("HTTPS_PROXY", "proxy:hunter2", "HTTPS_PROXY is not the address of a proxy"),
        ("HTTPS_PROXY", "http://proxy:99999", "HTTPS_PROXY is not the address of a proxy"),
        ("ALL_PROXY", "socks://127.0.0.1:1080/", r"ALL_PROXY names a proxy of an unknown kind \(socks://\). Set it to"),
        (
            "ALL_PROXY",
            "socks5h://u:hunter2@127.0.0.1:1",
            "ALL_PROXY names a SOCKS proxy, which needs a package. Install it",
        ),
        ("SSL_CERT_FILE", "/nowhere/c.pem", r"SSL_CERT_FILE names '/nowhere/c.pem', where no certificates can be read"),
        ("SSL_CERT_FILE", __file__, "SSL_CERT_FILE names .*, where no certificates can be read"),
        ("SSL_CERT_DIR", "/nowhere:/no", "SSL_CERT_DIR names '/nowhere:/no', where no certificates can be read"),
    ],
)
def test_a_variable_at_fault_is_named(environment: pytest.MonkeyPatch, name: str, value: str, said: str) -> None:
    environment.setitem(sys.modules, "socksio", None)
    environment.setenv(name, value)
    for face in ("blocking", "async"):
        with pytest.raises(StefanBrainError, match=f"{said}.* Nothing was sent.") as failed:
            FACES[face]("https://far.test", lambda client: client.models.list())
        assert not isinstance(failed.value, APIConnectionError)
        assert "hunter2" not in str(failed.value)
    with pytest.raises(AskError, match=f"{said}.* The connection is left as it was."):
        connect(session(), "https://far.test")


def session() -> Session:
    return Session(environ={"SERVICE_API_KEY": KEY}, journal=Journal(None))


def refusing(status: int) -> Any:
    """A proxy that answers itself, to a tunnel and to a request."""

    def refuse(wire: Wire, seen: Seen, good: Reply) -> None:
        wire.send(b"HTTP/1.1 %d Refused\r\ncontent-length: 9\r\n\r\nnot here\n" % status)

    return lambda seen: Fault("refused", refuse)


@pytest.mark.parametrize("status", [407, 502, 503, 504])
@pytest.mark.parametrize(("variable", "url"), [("HTTP_PROXY", "http://far.test"), ("HTTPS_PROXY", "https://far.test")])
def test_an_answer_of_the_proxy_is_no_connection(
    environment: pytest.MonkeyPatch, status: int, variable: str, url: str
) -> None:
    said = f"no connection to the service through the proxy named by {variable}: {status}"
    with Mock(refusing(status)) as proxy:
        environment.setenv(variable, proxy.origin)
        for face in ("blocking", "async"):
            with pytest.raises(APIConnectionError, match=said):
                FACES[face](url, lambda client: client.models.list(), max_retries=0)
        with pytest.raises(AskError, match=f"Nothing answers at {url}; the connection is left as it was. .*{said}"):
            connect(session(), url)


def test_an_answer_of_the_service_through_a_proxy_stays_its_own(environment: pytest.MonkeyPatch) -> None:
    def away(seen: Seen) -> Reply:
        return answer({"error": {"code": "unavailable"}}, 503, x_request_id="req_1")

    with Mock(away) as proxy:
        environment.setenv("HTTP_PROXY", proxy.origin)
        with pytest.raises(StefanBrainError) as raised:
            FACES["blocking"]("http://far.test", lambda client: client.models.list(), max_retries=0)
        assert (raised.value.status, raised.value.request_id) == (503, "req_1")
        assert "far.test" in connect(session(), "http://far.test")


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


# -- what connections keep ---------------------------------------------------------------------------------------------


def two_at_once(wire: Wire, seen: Seen, good: Reply) -> None:
    wire.send(good.whole + answer(run(run_id="stray")).whole)


@pytest.mark.parametrize("face", ["blocking", "async"])
@pytest.mark.parametrize("starts", [False, True], ids=["a read", "a start"])
def test_an_answer_that_nobody_asked_for_is_not_that_of_the_next_call(face: str, starts: bool) -> None:
    def call(client: Any) -> Any:
        return client.runs.start("hello") if starts else client.runs.get(RUN)

    async def call_after_another(client: Any) -> Any:
        await client.models.list()
        return await call(client)

    with Mock(service, [Fault("two at once", two_at_once, keeps=True)]) as mock:
        after = call_after_another if face == "async" else lambda client: (client.models.list(), call(client))[1]
        result = outcome(mock, face, after)
    if starts:
        assert isinstance(result.failure, APIConnectionError)
        assert "belongs to no request" in str(result.error)
        assert "may have started" in str(result.error)
    else:
        assert (result.value.run_id, len(result.notices)) == (RUN, 1)
