"""Proxies and certificates of the environment, as everyday machines have them (docs/client.md)."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from agentsvc_nb import APIConnectionError, StefanBrainError
from agentsvc_nb.notebook.connection import connect
from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.notebook.state.journal import Journal
from agentsvc_nb.notebook.state.session import Session
from agentsvc_nb.wire.proxies import NetworkSettingError, connection_options, proxy_of, trusted_certificates
from tests.independent.faces import FACES
from tests.independent.mock import Fault, Mock, Reply, Seen, Wire, answer
from tests.independent.records import KEY, service

NAMES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE")
PROXY = "http://proxy.test:3128"
BROKEN = [
    {"ALL_PROXY": "socks5://127.0.0.1:1080"},
    {"ALL_PROXY": "socks://127.0.0.1:1080/"},
    {"HTTP_PROXY": "http://proxy company:3128", "HTTPS_PROXY": "http://[::1"},
    {"HTTP_PROXY": "http://", "HTTPS_PROXY": "nonsense:port"},
    {"NO_PROXY": "localhost,127.0.0.0/8,::1/128,fd00::/8,[fe80::]/10,*.corp:x,http://[,\u00e9..,a b"},
    {"SSL_CERT_FILE": "/nowhere/company.pem", "REQUESTS_CA_BUNDLE": "/nowhere/company.pem"},
    {"SSL_CERT_DIR": "/nowhere"},
]


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    return monkeypatch


def setting(environment: pytest.MonkeyPatch, variables: dict[str, str]) -> None:
    for name, value in variables.items():
        environment.setenv(name, value)


@pytest.mark.parametrize("face", ["blocking", "async"])
@pytest.mark.parametrize("variables", BROKEN, ids=lambda variables: ",".join(variables))
def test_loopback_needs_no_variable(environment: pytest.MonkeyPatch, variables: dict[str, str], face: str) -> None:
    setting(environment, variables)
    with Mock(service) as mock:
        for address in (mock.origin, mock.origin.replace("127.0.0.1", "localhost")):
            assert FACES[face](address, lambda client: client.models.list())


@pytest.mark.parametrize(
    ("variables", "url", "through"),
    [
        ({}, "https://far.test", None),
        ({"HTTPS_PROXY": PROXY}, "https://far.test", "HTTPS_PROXY"),
        ({"HTTPS_PROXY": PROXY}, "http://far.test", None),
        ({"HTTP_PROXY": "proxy.test:3128"}, "http://far.test", "HTTP_PROXY"),
        ({"ALL_PROXY": PROXY}, "https://far.test", "ALL_PROXY"),
        ({"ALL_PROXY": "socks5://x:1", "HTTPS_PROXY": PROXY}, "https://far.test", "HTTPS_PROXY"),
        ({"HTTPS_PROXY": "http://upper.test", "https_proxy": PROXY}, "https://far.test", "https_proxy"),
        *(({"ALL_PROXY": PROXY}, url, None) for url in ("http://localhost:1", "http://127.9.9.9", "http://[::1]:8787")),
        ({"ALL_PROXY": PROXY}, "https://app.localhost", None),
        ({"ALL_PROXY": PROXY, "NO_PROXY": "*"}, "https://far.test", None),
        *(
            ({"ALL_PROXY": PROXY, "NO_PROXY": f"a b,http://[,{entry}"}, url, None)
            for entry, url in (
                ("far.test", "https://far.test"),
                ("FAR.test", "https://deep.far.test./x"),
                (".far.test", "https://deep.far.test"),
                ("*.far.test", "https://deep.far.test"),
                ("far.test:8443", "https://far.test:8443"),
                ("far.test:443", "https://far.test"),
                ("https://far.test", "https://far.test"),
                ("all://far.test", "https://far.test"),
                ("10.0.0.0/8", "http://10.1.2.3:8787"),
                ("10.1.2.3", "http://10.1.2.3:8787"),
                ("fd00::/8", "http://[fd12::1]:8787"),
                ("[fd00::]/8", "http://[fd12::1]:8787"),
                ("fd12::1", "http://[fd12::1]:8787"),
                ("[fd12::1]:8787", "http://[fd12::1]:8787"),
            )
        ),
        *(
            ({"ALL_PROXY": PROXY, "NO_PROXY": entry}, url, "ALL_PROXY")
            for entry, url in (
                ("far.test", "https://nofar.test"),
                (".far.test", "https://far.test"),
                ("far.test:8443", "https://far.test"),
                ("http://far.test", "https://far.test"),
                ("10.0.0.0/8", "http://11.1.2.3"),
                ("fd00::/999", "http://[fd12::1]"),
                ("10.0.0.0/8", "http://[fd12::1]"),
                ("", "https://far.test"),
            )
        ),
    ],
)
def test_which_proxy_an_address_has(
    environment: pytest.MonkeyPatch, variables: dict[str, str], url: str, through: str | None
) -> None:
    setting(environment, variables)
    found = proxy_of(url)
    assert (found and found.variable) == through
    assert found is None or found.url == PROXY


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
    with pytest.raises(NetworkSettingError, match=said) as raised:
        connection_options("https://far.test")
    assert "hunter2" not in str(raised.value)
    for face in ("blocking", "async"):
        with pytest.raises(StefanBrainError, match=f"{said}.* Nothing was sent.") as failed:
            FACES[face]("https://far.test", lambda client: client.models.list())
        assert not isinstance(failed.value, APIConnectionError)
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


def test_a_proxy_that_is_away_is_named(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("ALL_PROXY", "http://127.0.0.1:9")
    with pytest.raises(APIConnectionError, match=r"through the proxy named by ALL_PROXY: .*refused"):
        FACES["blocking"]("http://far.test", lambda client: client.models.list(), max_retries=0)


def test_an_answer_of_the_service_through_a_proxy_stays_its_own(environment: pytest.MonkeyPatch) -> None:
    def away(seen: Seen) -> Reply:
        return answer({"error": {"code": "unavailable"}}, 503, x_request_id="req_1")

    with Mock(away) as proxy:
        environment.setenv("HTTP_PROXY", proxy.origin)
        with pytest.raises(StefanBrainError) as raised:
            FACES["blocking"]("http://far.test", lambda client: client.models.list(), max_retries=0)
        assert (raised.value.status, raised.value.request_id) == (503, "req_1")
        assert "far.test" in connect(session(), "http://far.test")


def test_certificates_of_a_file_and_of_a_folder(environment: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import certifi

    end = "-----END CERTIFICATE-----\n"
    (tmp_path / "one.pem").write_text(Path(certifi.where()).read_text().partition(end)[0] + end)
    environment.setenv("SSL_CERT_DIR", str(tmp_path))
    assert trusted_certificates() is not None
    environment.setenv("SSL_CERT_FILE", str(tmp_path / "one.pem"))
    context = trusted_certificates()
    assert context is not None
    assert len(context.get_ca_certs()) == 1
