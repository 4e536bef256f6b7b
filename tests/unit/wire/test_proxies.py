"""Which proxy of the environment an address has (docs/client.md)."""

from __future__ import annotations

import pytest

from agentsvc_nb.wire.proxies import proxy_of

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


@pytest.mark.parametrize(
    ("variables", "url", "through"),
    [
        ({}, "https://far.test", None),
        ({"HTTPS_PROXY": PROXY}, "https://far.test", "HTTPS_PROXY"),
        ({"HTTP_PROXY": "proxy.test:3128"}, "http://far.test", "HTTP_PROXY"),
        ({"ALL_PROXY": PROXY}, "https://far.test", "ALL_PROXY"),
        ({"HTTPS_PROXY": "http://upper.test", "https_proxy": PROXY}, "https://far.test", "https_proxy"),
        *(({"ALL_PROXY": PROXY}, url, None) for url in ("http://localhost:1", "http://127.9.9.9", "http://[::1]:8787")),
        ({"ALL_PROXY": PROXY, "NO_PROXY": "*"}, "https://far.test", None),
        *(
            ({"ALL_PROXY": PROXY, "NO_PROXY": f"a b,http://[,{entry}"}, url, None)
            for entry, url in (
                ("FAR.test", "https://deep.far.test./x"),
                ("far.test:8443", "https://far.test:8443"),
                ("https://far.test", "https://far.test"),
                ("10.0.0.0/8", "http://10.1.2.3:8787"),
                ("[fd00::]/8", "http://[fd12::1]:8787"),
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
