"""serve.log: one line for what changes something or fails, and never a secret."""

from __future__ import annotations

import asyncio
import http.client
import json
import logging
from collections.abc import Iterator
from urllib.parse import parse_qs, quote, urlsplit

import pytest

from agentsvc_nb.client.api import AgentService
from agentsvc_nb.service.folder import LOG_MAX_BYTES, ReadyFile
from agentsvc_nb.service.logs import JsonLine, Tally
from agentsvc_nb.testing import RunningService, running_service
from tests.support.waiting import PATIENCE_SECONDS, until

API = "/api/developers/v1"


@pytest.fixture(scope="module")
def logged() -> Iterator[RunningService]:
    """A service whose log is that of this module."""
    with running_service() as running:
        yield running


def lines(service: RunningService) -> list[str]:
    return (service.data / "serve.log").read_text().splitlines()


def with_path(service: RunningService, path: str) -> list[str]:
    """The lines on requests of this path."""
    return [line for line in lines(service) if f'path="{path}"' in line]


def ask(service: RunningService, method: str, target: str, **headers: str) -> tuple[int, str]:
    """Status and request id of the answer."""
    connection = http.client.HTTPConnection(urlsplit(service.base_url).netloc, timeout=PATIENCE_SECONDS)
    connection.request(method, target, headers={name.replace("_", "-"): value for name, value in headers.items()})
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status, answer.headers["X-Request-Id"]


def test_a_change_is_a_line_with_its_request_id(logged: RunningService) -> None:
    """Method, path, status, time, key and the id that the answer carries; what only reads and works is no line."""
    status, request_id = ask(logged, "POST", f"{API}/files?chat_id=chat_x", Authorization=f"Bearer {logged.api_key}")
    line = until(lambda: with_path(logged, f"{API}/files"))[0]
    assert status == 400
    assert f'method=POST path="{API}/files" status=400 ms=' in line
    assert f"request={request_id} key=key_" in line
    assert "chat_x" not in line, "the query"
    ask(logged, "GET", "/healthz")
    ask(logged, "POST", f"{API}/files", Authorization=f"Bearer {logged.api_key}")
    until(lambda: len(with_path(logged, f"{API}/files")) == 2)
    assert not with_path(logged, "/healthz")


def test_a_run_and_a_job_that_fail_are_lines(logged: RunningService) -> None:
    with AgentService(logged.api_key, logged.base_url) as client:
        run = client.runs.start("fail tool_broke Something private.", sync=True)
        job = client.jobs.submit("echo_job", {"steps": 1, "seconds": 0, "files": {}, "fail": True})
        until(lambda: any(f"job={job.job_id}" in line and "code=" in line for line in lines(logged)))
    line = until(lambda: [line for line in lines(logged) if f"run={run.run_id}" in line])[0]
    assert "code=tool_broke" in line
    assert "private" not in "".join(lines(logged)), "what was said is the user's"


def test_nothing_in_a_path_can_forge_a_line(logged: RunningService) -> None:
    """Line breaks, escape sequences and signs that turn the direction of reading are written as their numbers."""
    evil = '/x"\r\ntime=now level=error message=forged \x1b[2J\u2028\u202e\x85\x7f'
    before = len(lines(logged))
    assert ask(logged, "GET", quote(evil))[0] == 404
    last = until(lambda: [line for line in lines(logged)[before:] if "forged" in line])
    assert len(last) == 1
    assert last[0].startswith("time=2")
    assert last[0].isprintable()
    assert r"\"\r\ntime=now" in last[0]
    assert r"\u001b[2J\u2028\u202e\u0085\u007f" in last[0]


@pytest.mark.rule("The log contains no key, cookie, token, query or body.")
def test_no_secret_is_ever_in_the_log(logged: RunningService) -> None:
    """Keys, cookie and sign-in token, right and wrong, in headers, in queries, in paths and in bodies."""
    ready = ReadyFile.read(logged.data / "ready.json")
    assert ready is not None
    token = parse_qs(urlsplit(ready.sign_in_url).query)["token"][0]
    member = logged.create_key(member=True)
    secrets = [token, member, logged.api_key, "svc_sk_" + "w" * 43, "wrong-token-0123456789", "cookie-0123456789"]
    for secret in secrets:
        for method in ("GET", "POST"):
            ask(logged, method, f"/app/sign-in?token={secret}", Cookie=f"session={secret}")
            ask(logged, method, f"{API}/files?chat_id={secret}", Authorization=f"Bearer {secret}")
            ask(logged, method, f"{API}/nothing?key={secret}", x_api_key=secret, Cookie=f"agentsvc={secret}")
    for secret in (member, logged.api_key):
        ask(logged, "GET", f"{API}/runs/{secret}", x_api_key=logged.api_key)
        with AgentService(secret, logged.base_url) as client:
            run = client.runs.start(f"fail {secret} {secret}", sync=True)
        assert run.status == "failed"
        until(lambda name=f"run={run.run_id}": any(name in line for line in lines(logged)))  # type: ignore[misc]
    written = "\n".join(lines(logged))
    assert f"{API}/runs/svc_sk_[hidden]" in written, "the requests were logged"
    for secret in secrets:
        assert secret not in written
        assert secret[10:] not in written


def test_a_line_as_json_says_the_same() -> None:
    record = logging.LogRecord("a.b", logging.WARNING, "", 1, 'told "%s"\n', ("svc_sk_abc-1",), None)
    record.fields = {"run": "r1", "ms": 4.1, "path": "/ä\n", "key": None}
    line = JsonLine().format(record)
    assert "\n" not in line
    read = json.loads(line)
    assert read.pop("time").endswith("Z")
    named = {"level": "warning", "logger": "a.b", "message": 'told "svc_sk_[hidden]"\n'}
    assert read == {**named, "run": "r1", "ms": 4.1, "path": "/ä\n", "key": None}


def test_a_log_that_grew_large_goes_on_in_a_new_file(logged: RunningService) -> None:
    """While the service runs, and with nothing lost; the file before is kept, once."""
    log, before = logged.data / "serve.log", logged.data / "serve.log.1"
    for number in (1, 2):
        with log.open("ab") as file:
            file.write(b"x" * LOG_MAX_BYTES + b"\n")
        _, last = ask(logged, "POST", f"{API}/files", x_api_key=logged.api_key)
        until(lambda: log.exists() and log.stat().st_size < LOG_MAX_BYTES)
        assert last in before.read_text(), f"round {number}"
        _, first = ask(logged, "POST", f"{API}/files", x_api_key=logged.api_key)
        assert until(lambda: lines(logged))[0].count(first) == 1, "it begins with what came next"


def test_what_anybody_can_have_logged_is_counted(caplog: pytest.LogCaptureFixture) -> None:
    """The first at once, then their number, and after a silence the next at once."""
    caplog.set_level(logging.INFO)

    def told() -> list[object]:
        return [getattr(record, "fields", {}).get("more", "first") for record in caplog.records]

    async def later() -> None:
        """Wait for a timer that begins after the one of the tally, with its seconds."""
        over = asyncio.Event()
        asyncio.get_running_loop().call_later(0.05, over.set)
        await over.wait()

    async def note() -> None:
        tally = Tally(logging.getLogger("agentsvc_nb.test"), seconds=0.05)
        for _ in range(1_000):
            tally.note("401", "request", status=401)
        assert told() == ["first"]
        await later()
        assert told() == ["first", 999]
        await later()
        tally.note("401", "request", status=401)

    asyncio.run(note())
    assert told() == ["first", 999, "first"]
