"""Keys and where they go, ids and headers of any kind, and what no client is made of."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from agentsvc_nb import AgentService, AsyncAgentService, AuthenticationError, StefanBrainError
from tests.independent.checking import outcome
from tests.independent.faces import FACES, Case, Group, Pool, generated
from tests.independent.mock import PREFIX, Mock, problem
from tests.independent.records import CHAT, KEY, RUN, instead, service

FACE_CLASSES: tuple[type[Any], ...] = (AgentService, AsyncAgentService)

IDS = [
    "../keys", "..", ".", "", "a/b", "a?b=c", "a#b", "%2e%2e", "a%2Fb", "a b", "a\r\nX-Evil: 1", "a\x00", "\\..\\x",
    "ä",     "//evil.example/x", "http://evil.example/", "x" * 5_000, "a;b", "@evil.example",
]  # fmt: skip
BY_ID: dict[str, tuple[Callable[[Any, str], Any], str, int]] = {
    "runs.get": (lambda c, i: c.runs.get(i), "/runs/", 1),
    "runs.cancel": (lambda c, i: c.runs.cancel(i), "/runs/", 2),
    "runs.approve": (lambda c, i: c.runs.approve(RUN, i), f"/runs/{RUN}/calls/", 2),
    "tools.describe": (lambda c, i: c.tools.describe(i), "/tools/", 1),
    "tools.invoke": (lambda c, i: c.tools.invoke(i, {}), "/tools/", 2),
    "jobs.status": (lambda c, i: c.jobs.status(i, chat=CHAT), "/jobs/", 1),
    "feedback.get": (lambda c, i: c.feedback.get(i), "/feedback/", 1),
    "media.get": (lambda c, i: c.media.get(i), "/media/", 1),
    "labels.get": (lambda c, i: c.labels.get(i), "/landing-pages/", 1),
    "projects.update": (lambda c, i: c.projects.update(i, name="x"), "/projects/", 1),
    "chats.retire": (lambda c, i: c.chats.retire(i), "/chats/", 1),
}


def _id(face: str, operation: str, id_: str) -> None:
    """Whatever an id is, it stays one part of its address, and brings no header along."""
    call, before, parts = BY_ID[operation]
    with Mock(lambda seen: problem(404, "not_found")) as mock:
        result = outcome(mock, face, lambda c: call(c, id_), max_retries=0)
        assert isinstance(result.error, (StefanBrainError, ValueError, TypeError)), repr(result.error)
        for seen in mock.seen:
            path, _, query = seen.target.partition("?")
            assert path.startswith(PREFIX + before), seen.target
            rest = path.removeprefix(PREFIX + before).split("/")
            assert len(rest) == parts
            assert rest[0] not in ("", ".", "..")
            assert query in ("", f"chat={CHAT}")
            assert seen.header("x-evil") is None


def _bad_key(face: str, key: str) -> None:
    """What cannot be an idempotency key is refused, here or there, and never sent in another form."""
    with Mock(service) as mock:
        mock.answers = instead("POST", "/runs", lambda seen: problem(400, "invalid_idempotency_key"))
        error = outcome(mock, face, lambda c: c.runs.start("Hi", idempotency_key=key)).failure
        assert error.code == "invalid_idempotency_key"
        assert all(seen.header("idempotency-key") == key for seen in mock.seen)


def _headers(face: str, headers: dict[str, str], where: str) -> None:
    """Headers of the caller's own neither replace the key nor add lines."""
    with Mock(service) as mock:
        if where == "client":
            result = outcome(mock, face, lambda c: c.tools.list(), headers=headers)
        else:
            result = outcome(mock, face, lambda c: c.tools.list(headers=headers))
        assert result.error is None or isinstance(result.error, (StefanBrainError, ValueError, TypeError)), result.error
        for seen in mock.seen:
            assert [value for name, value in seen.headers if name.lower() == "authorization"] == [f"Bearer {KEY}"]
            assert seen.header("x-api-key") in (None, KEY)
            assert seen.header("x-evil") is None
            assert seen.method == "GET"


@pytest.mark.parametrize("face", FACE_CLASSES)
@pytest.mark.parametrize("key", [None, "", " ", "a\nb", "a\r\nX-Evil: 1", "ä", "\x00"])
def test_no_key(face: type[Any], key: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SERVICE_API_KEY", raising=False)
    with pytest.raises(AuthenticationError):
        face(key, "http://127.0.0.1:1")


@pytest.mark.parametrize("face", FACE_CLASSES)
@pytest.mark.parametrize(
    "url", ["", "ftp://x", "127.0.0.1:1", "http://", "file:///x", "http://x y", "http://x:99999", "x"]
)
def test_no_address(face: type[Any], url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AGENTSVC_BASE_URL", raising=False)
    if url:
        with pytest.raises(StefanBrainError):
            face(KEY, url)
    else:
        assert face(KEY, None).base_url == "http://127.0.0.1:8787"


def test_the_environments_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVICE_API_KEY", KEY)
    with Mock(service) as mock, AgentService(base_url=mock.origin) as client:
        assert client.tools.list()
        assert KEY not in repr(client)
        assert KEY not in str(vars(client)) or "_" in str(vars(client))


def test_the_history_has_no_key() -> None:
    with Mock(service) as mock, AgentService(KEY, mock.origin) as client:
        client.runs.start("Hi", files=[("a.txt", b"x")])
        client.runs.get(RUN)
        with pytest.raises(StefanBrainError):
            client.runs.get(RUN[:-1] + "0")
        assert len(client.history) == 3
        for attempt in client.history:
            assert KEY not in attempt.to_curl()
            assert KEY not in repr(attempt)
        assert KEY not in str(client.history.to_frame().to_dict())


def _cases() -> list[Case]:
    cases: list[Case] = []
    faces = list(FACES)

    def add(name: str, check: Callable[..., None], *rest: Any, face: str = "") -> None:
        face = face or faces[len(cases) % 3]
        cases.append(Case(f"{name}-{face}", partial(check, face, *rest)))

    for name in BY_ID:
        for number, id_ in enumerate(IDS):
            add(f"id {number}-{name}", _id, name, id_)
    for number, key in enumerate(("a b", "x" * 129, "ä", "a\r\nX-Evil: 1", "a,b", "a/b", " a", "\x00")):
        for face in faces:
            add(f"key {number}", _bad_key, key, face=face)
    for number, headers in enumerate((
        {"Authorization": "Bearer other"}, {"authorization": "other"}, {"AUTHORIZATION": ""}, {"x-api-key": "other"},
        {"X-Mine": "a\r\nX-Evil: 1"}, {"X-Mine\r\nX-Evil": "1"}, {"X-Mine: 1\r\nX-Evil": "1"}, {"Host": "evil.example"},
        {"Content-Length": "5"}, {"Transfer-Encoding": "chunked"},
    )):  # fmt: skip
        for where in ("client", "call"):
            for face in faces:
                add(f"headers {number}-{where}", _headers, headers, where, face=face)
    return cases


@generated(_cases())
def test_keys(group: Group, pool: Pool) -> None:
    pool.check(group)
