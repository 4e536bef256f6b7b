"""A connector: its document on a host with TLS, and what it sends."""

from __future__ import annotations

import base64
import contextlib
import datetime
import hashlib
import os
import secrets
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from unittest import mock
from urllib.parse import parse_qsl, urlencode, urlsplit

import httpx
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from agentsvc_nb.testing import RunningService, running_service
from agentsvc_nb.wire.routes import AUTHORIZE, MCP, TOKEN
from tests.service.site import Site, as_json, serving

HOST: Final = "chat.example"
BACK: Final = "https://chat.example/back"
LOCAL: Final = "http://127.0.0.1/back"
HOSTS: Final = Path(__file__).parent / "hosts"


def certificate(folder: Path) -> Path:
    """A file with a certificate for the test's hosts and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(HOST)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file = folder / "host.pem"
    file.write_bytes(made.public_bytes(serialization.Encoding.PEM) + private)
    return file


@contextlib.contextmanager
def tls_site(file: Path) -> Iterator[Site]:
    """A web server with that certificate."""
    with serving() as site:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(file)
        site.server.socket = context.wrap_socket(site.server.socket, server_side=True)
        yield site


@dataclass
class Connector:
    """One that a service may be signed in to: its document stands at `client_id`."""

    site: Site
    service: RunningService
    verifier: str = field(default_factory=lambda: secrets.token_urlsafe(48))

    @property
    def client_id(self) -> str:
        return f"https://{HOST}:{self.site.port}/connector.json"

    def describe(self, path: str = "/connector.json", headers: Mapping[str, str] = {}, **more: Any) -> str:
        """Put a document there; its address."""
        client_id = f"https://{HOST}:{self.site.port}{path}"
        document = {"client_id": client_id, "client_name": "Chat <b>& more</b>", "redirect_uris": [BACK, LOCAL], **more}
        answer = as_json({name: value for name, value in document.items() if value is not None})
        answer.headers.update(headers)
        self.site.pages[path] = answer
        return client_id

    @property
    def resource(self) -> str:
        return self.service.base_url + MCP.path

    def asks(self, **changed: str | None) -> str:
        """The path of an authorization request; None leaves a parameter out."""
        return f"{AUTHORIZE.path}?{urlencode(self.parameters(**changed))}"

    def parameters(self, **changed: str | None) -> dict[str, str]:
        given: dict[str, str | None] = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": BACK,
            "state": "a b+c/ü&d",
            "scope": "mcp runs",
            "resource": self.resource,
            "code_challenge": challenge(self.verifier),
            "code_challenge_method": "S256",
            **changed,
        }
        return {name: value for name, value in given.items() if value is not None}

    def allowed(self, browser: httpx.Client, choices: Mapping[str, str] = {}, **changed: str | None) -> dict[str, str]:
        """What comes back when the user presses a button: Allow, unless the choices say otherwise."""
        form = {**self.parameters(**changed), "verdict": "allow", "scope_runs": "yes", **choices}
        return answered(browser.post(AUTHORIZE.path, data=form))

    def redeems(self, code: str, **changed: str | None) -> httpx.Response:
        """The answer to the code."""
        given: dict[str, str | None] = {
            "grant_type": "authorization_code",
            "code": code,
            "client_id": self.client_id,
            "redirect_uri": BACK,
            "code_verifier": self.verifier,
            "resource": self.resource,
            **changed,
        }
        form = {name: value for name, value in given.items() if value is not None}
        return httpx.post(self.service.base_url + TOKEN.path, data=form, timeout=60)

    def token(self, browser: httpx.Client, choices: Mapping[str, str] = {}) -> str:
        """A token, by all steps."""
        answer = self.redeems(self.allowed(browser, choices)["code"])
        assert answer.status_code == 200, answer.text
        found: str = answer.json()["access_token"]
        return found


def answered(answer: httpx.Response, to: str = BACK) -> dict[str, str]:
    """The parameters with which a browser is sent back to the connector."""
    assert answer.status_code == 303, answer.text
    where = urlsplit(answer.headers["location"])
    assert f"{where.scheme}://{where.netloc}{where.path}" == to
    pairs = parse_qsl(where.query)
    assert len(dict(pairs)) == len(pairs), "each once"
    return dict(pairs)


def press(browser: httpx.Client, url: str, verdict: str) -> httpx.Response:
    """The answer to a button of the page at `url`."""
    assert browser.get(url).status_code == 200
    return browser.post(AUTHORIZE.path, data={**dict(httpx.URL(url).params), "verdict": verdict})


def challenge(verifier: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()


@contextlib.contextmanager
def connected(folder: Path, **settings: object) -> Iterator[Connector]:
    """A connector, and a service that finds its host and may go there."""
    file = certificate(folder)
    path = os.pathsep.join(filter(None, [str(HOSTS), os.environ.get("PYTHONPATH")]))
    with tls_site(file) as site, contextlib.ExitStack() as running:
        allowed = {"fetch_allow": f"{HOST}:{site.port}", **settings}
        with mock.patch.dict(os.environ, PYTHONPATH=path, TEST_CERTIFICATE=str(file)):  # the service's alone
            service = running.enter_context(running_service("scripted", **allowed))
        made = Connector(site, service)
        made.describe()
        yield made
