"""Nothing is sent to a stranger on the embedded service's port: each connection is proved first
(docs/api/embedded.md)."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agentsvc_nb import AgentService, APIConnectionError, AsyncAgentService, embedded
from agentsvc_nb.cli import main
from agentsvc_nb.client.transport import health, network
from agentsvc_nb.embedded import Connection, EmbeddedError, find_or_start
from agentsvc_nb.service.folder import DataFolder, ReadyFile
from agentsvc_nb.wire import proof
from tests.support import strangers
from tests.support.strangers import Stranger, key_of, port_of

QUESTION = "say A secret question"
#: The program as a terminal finds it: by its name, or, where that is not on the path, as a module.
RESTART = r"(agentsvc|-m agentsvc_nb) restart"


@dataclass
class Moved:
    """The service's old address, where a stranger is now, and the service at its new one."""

    data: Path
    old_url: str
    before: ReadyFile
    """Of the service that had that port."""
    old_proof: strangers.Says
    stranger: Stranger
    chat: str
    leaked: list[bytes]
    """What the stranger got of a client that had been connected to the service before."""

    @property
    def now(self) -> Connection:
        return find_or_start(self.data)

    def says(self, how: str) -> strangers.Says:
        instance, real = self.before.instance, port_of(self.now.base_url)
        ways: dict[str, strangers.Says] = {
            "repeats": strangers.repeats(instance),
            "makes-it-up": strangers.repeats(instance, proof="0" * 64),
            "no-text": strangers.repeats(instance, proof=["é"]),
            "forges": strangers.forges(instance),
            "replays": self.old_proof,
            "relays": strangers.relays(real),
            "no-http": lambda request: b"SSH-2.0-OpenSSH_9.6\r\n\r\n\r\n",
            "redirects": lambda request: strangers.document({}, "302 Found"),
            "says-more": lambda request: (strangers.relays(real)(request) or b"") + b"x",
        }
        return ways[how]

    def revive(self) -> tuple[str, str]:
        found = embedded.revive(self.data)
        return found.base_url, found.api_key


@pytest.fixture(scope="module")
def moved_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Moved]:
    data = tmp_path_factory.mktemp("moved") / "data"
    with embedded.local(data, model="scripted") as client:
        chat = client.runs.start("write a.txt hello", sync=True).chat
        before = embedded.status(data)
        assert before is not None
        old_proof = strangers.replays(port_of(before.base_url))
        embedded.stop(data)
        stranger = Stranger(strangers.repeats(before.instance), port_of(before.base_url))
        assert client.runs.start(QUESTION, sync=True).output == "A secret question"
        assert client.base_url != before.base_url
    assert stranger.visits > 0
    yield Moved(data, before.base_url, before, old_proof, stranger, str(chat), stranger.leaks(key_of(data)))
    stranger.close()
    embedded.stop(data)


@pytest.fixture
def moved(moved_once: Moved) -> Moved:
    moved_once.stranger.received, moved_once.stranger.says = b"", moved_once.says("relays")
    return moved_once


Work = Callable[[Any, Moved], Any]


def _streamed(client: Any, moved: Moved) -> Any:
    async def streamed() -> str | None:
        async with await client.runs.start_and_stream(QUESTION) as stream:
            return (await stream.final_status()).output

    if isinstance(client, AsyncAgentService):
        return streamed()
    with client.runs.start_and_stream(QUESTION) as stream:
        return stream.final_status().output


WORKS: dict[str, Work] = {
    "a read": lambda client, moved: client.tools.list(),
    "a start": lambda client, moved: client.runs.start(QUESTION, sync=True),
    "a stream": _streamed,
    "an upload": lambda client, moved: client.files.upload(("plan.txt", b"A secret question" * 100_000)),
    "a download": lambda client, moved: client.files.download("a.txt", chat=moved.chat, to=moved.data.parent / "a.txt"),
}


def sync_face(moved: Moved, work: Work) -> Any:
    with AgentService(moved.now.api_key, moved.old_url, revive=moved.revive) as client:
        return work(client, moved)


def async_face(moved: Moved, work: Work) -> Any:
    async def run() -> Any:
        async with AsyncAgentService(moved.now.api_key, moved.old_url, revive=moved.revive) as client:
            done = work(client, moved)
            return await done if inspect.isawaitable(done) else done

    return asyncio.run(run())


FACES = pytest.mark.parametrize("face", [sync_face, async_face])


@pytest.mark.rule("A process that took the service's port gets no key, question or file.")
@pytest.mark.parametrize(
    ("face", "what"), [*((sync_face, what) for what in WORKS), (async_face, "a stream"), (async_face, "an upload")]
)
def test_a_stranger_is_sent_nothing_whatever_is_done(moved: Moved, face: Callable[..., Any], what: str) -> None:
    """A relay has the answer of the real service, at another port; the work is done by that one in the end."""
    done = face(moved, WORKS[what])
    assert done is not None
    assert moved.stranger.visits
    assert moved.stranger.leaks(moved.now.api_key) == []


@pytest.mark.parametrize(
    "how",
    ["repeats", "makes-it-up", "no-text", "forges", "replays", "no-http", "redirects", "says-more"],
)
def test_a_stranger_is_sent_nothing_whatever_it_says(moved: Moved, how: str) -> None:
    moved.stranger.says = moved.says(how)
    assert sync_face(moved, WORKS["a start"]).output == "A secret question"
    assert moved.stranger.visits
    assert moved.stranger.leaks(moved.now.api_key) == []


@FACES
def test_the_proof_is_not_waited_for_without_end(
    moved: Moved, face: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(network, "PROOF_SECONDS", 0.3)
    moved.stranger.says = strangers.silent
    assert face(moved, WORKS["a start"]).output == "A secret question"
    assert moved.stranger.leaks(moved.now.api_key) == []


def test_an_unproved_connection_is_one_sentence(moved: Moved) -> None:
    def revive() -> tuple[str, str]:
        return moved.old_url, moved.now.api_key

    with (
        AgentService(moved.now.api_key, moved.old_url, max_retries=0, revive=revive) as client,
        pytest.raises(APIConnectionError, match=r"did not prove that it is .*nothing was sent"),
    ):
        client.runs.start(QUESTION)


def test_an_ordinary_service_proves_nothing(moved: Moved) -> None:
    """Its address was chosen, with its key; strangers' tests of this module would pass with no key sent at all."""
    with AgentService("svc_sk_of-an-ordinary-one", moved.old_url) as client, pytest.raises(Exception, match="No"):
        client.tools.list()
    assert moved.stranger.visits == 0
    assert b"svc_sk_of-an-ordinary-one" in moved.stranger.received


def test_who_takes_the_port_after_the_proof_gets_nothing(moved: Moved) -> None:
    assert moved.leaked == []


@pytest.fixture
def shared(moved_once: Moved) -> Path:
    """The folder of an embedded service that runs."""
    return moved_once.data


def test_a_key_that_was_replaced_is_the_key_of_the_proof(shared: Path) -> None:
    """A client that has the old one opens a new connection: the service proves the new one, which it then reads."""
    with embedded.local(shared) as client:
        client.tools.list()
        before = key_of(shared)
        assert main(["keys", "revoke", "embedded", "--data", str(shared)]) == 0
        embedded.revive(shared)
        assert key_of(shared) != before
        client.close()
        assert client.tools.list()


def test_a_key_file_that_is_gone_is_made_again_by_a_client_and_told_to_a_new_one(shared: Path) -> None:
    with embedded.local(shared) as client:
        DataFolder(shared).key.unlink()
        with pytest.raises(EmbeddedError, match=rf"did not prove .*the key is missing.*{RESTART} --data"):
            find_or_start(shared)
        client.close()
        assert client.tools.list()
    assert find_or_start(shared).api_key == key_of(shared)


def test_a_proof_is_of_the_address_that_the_connection_came_to(shared: Path) -> None:
    """Not of what a relay writes into the request."""
    base_url = find_or_start(shared).base_url
    real, key, nonce = port_of(base_url), key_of(shared), "n" * 43
    lines = [f"GET /healthz?nonce={nonce} HTTP/1.1", "host: 127.0.0.1:1", "x-forwarded-host: 127.0.0.1:1"]
    heard = strangers.ask(
        "127.0.0.1", real, "\r\n".join([*lines, "x-forwarded-port: 1", "forwarded: host=127.0.0.1:1", "", ""]).encode()
    )
    said = json.loads(heard.partition(b"\r\n\r\n")[2])
    assert said["proof"] == proof.proof(key, nonce, said["instance"], f"127.0.0.1:{real}")


def test_the_embedded_service_is_asked_over_connections_of_its_clients_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any other would not be proved; a proxy would be at the other end."""
    import httpx

    monkeypatch.setenv("HTTP_PROXY", "http://proxy.test:3128")
    own = {"transport": httpx.HTTPTransport()}, {"http_client": httpx.Client()}
    for given in own:
        with pytest.raises(TypeError, match="Omit `revive`"):
            AgentService("svc_sk_x", revive=lambda: ("", ""), **given)
    far = "http://192.0.2.1:9"
    with AgentService("svc_sk_x", far, revive=lambda: (far, "svc_sk_x"), max_retries=0, deadline=1) as client:
        with pytest.raises(APIConnectionError) as raised:
            client.tools.list()
        assert "proxy" not in str(raised.value)


HEAD = b"HTTP/1.1 200 OK\r\ncontent-length: "


@pytest.mark.parametrize(
    "heard",
    [
        HEAD + b"2\r\n\r\n{}",
        HEAD + b'16\r\n\r\n{"instance": ""}',
        HEAD + b'18\r\n\r\n{"instance": "ab"}x',
        HEAD + b'18\r\ntransfer-encoding: chunked\r\n\r\n{"instance": "ab"}',
        HEAD + b'100\r\n\r\n{"instance": "ab"}',
        b"HTTP/1.1 201 OK\r\ncontent-length: 18\r\n\r\n" + b'{"instance": "ab"}',
        20_000 * b"x",
        b"",
    ],
)
def test_an_answer_that_leaves_a_doubt_is_none(heard: bytes) -> None:
    asked = health.Health("127.0.0.1", 9)
    with pytest.raises(health.UnverifiedPeer):
        assert asked.feed(heard) or asked.feed(b"") or "whole, and without a doubt"
