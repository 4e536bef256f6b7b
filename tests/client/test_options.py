"""What a call may be given: patience, repeats, headers, hooks; and clients that share connections."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from agentsvc_nb.client.api import AgentService, AsyncAgentService
from agentsvc_nb.client.errors import APIConnectionError, JobTimeoutError, RateLimitError, StefanBrainError
from agentsvc_nb.client.options import RetryNotice, WaitNotice
from agentsvc_nb.client.transport.io import run_sync
from tests.client.conftest import KEY, RUN_ID, Network, answer, failure, run

Networks = Callable[..., Network]


def read_timeout(net: Network, at: int = 0) -> Any:
    return net.requests[at].extensions["timeout"]["read"]


# -- one call ------------------------------------------------------------------------------------------------------


def test_each_option_reaches_the_request(network: Networks) -> None:
    net = network(answer(200, run()), answer(200, run()))
    net.client.runs.get(RUN_ID)
    net.client.runs.get(RUN_ID, timeout=7, headers={"X-Team": "blue"})
    assert [read_timeout(net, at) for at in (0, 1)] == [60, 7]
    assert [request.headers.get("x-team") for request in net.requests] == [None, "blue"]


@pytest.mark.parametrize("name", ["Authorization", "x-api-key", "Cookie", "Host"])
def test_a_credential_is_no_header_of_the_callers(network: Networks, name: str) -> None:
    with pytest.raises(StefanBrainError, match="give the key as api_key"):
        network().client.runs.get(RUN_ID, headers={name: "x"})


def test_an_unknown_option_is_named() -> None:
    with pytest.raises(
        TypeError, match="'retries' is no argument of this call, and no option: those are deadline, extra_body"
    ):
        AgentService(KEY).runs.get(RUN_ID, retries=3)  # type: ignore[call-arg]


# -- the deadline --------------------------------------------------------------------------------------------------


def test_an_attempt_may_take_what_is_left(network: Networks) -> None:
    """The waits are 0.5 s, then 1 s, of a deadline of 3 s."""
    net = network(*[httpx.ReadError("reset")] * 3)
    with pytest.raises(APIConnectionError):
        net.client.runs.get(RUN_ID, deadline=3)
    assert [read_timeout(net, at) for at in range(3)] == [3, 2.5, 1.5]


def test_a_wait_that_would_pass_it_raises_the_last_error_at_once(network: Networks) -> None:
    net = network(failure("request_per_minute", 429, retry_after="20"))
    with pytest.raises(RateLimitError) as caught:
        net.client.runs.get(RUN_ID, deadline=19.5)
    assert (caught.value.retry_after_seconds, net.io.slept) == (20, [])


def test_nothing_is_sent_after_it(network: Networks) -> None:
    net = network()
    with pytest.raises(APIConnectionError, match="deadline passed") as caught:
        net.client.runs.get(RUN_ID, deadline=0)
    assert (caught.value.timed_out, caught.value.sent, net.requests) == (True, False, [])


def test_it_holds_for_a_whole_wait(network: Networks) -> None:
    running = answer(200, {"job_id": "j", "chat": "chat_1", "status": "running"})
    net = network(*[running] * 2)
    with pytest.raises(JobTimeoutError) as caught:
        net.client.jobs.wait("j", chat="chat_1", deadline=4)
    assert (caught.value.job_id, caught.value.chat, net.io.slept) == ("j", "chat_1", [2, 2])


def test_a_submit_without_an_answer_in_time_has_no_job_id(network: Networks) -> None:
    net = network(httpx.ReadTimeout(""))
    net.io.now = lambda: 5.0 * len(net.requests)  # type: ignore[method-assign]
    with pytest.raises(JobTimeoutError, match="may have started") as caught:
        net.client.jobs.submit_and_wait("echo_job", {}, chat="chat_1", timeout=5)
    assert (caught.value.job_id, caught.value.chat) == (None, "chat_1")


@contextmanager
def dripping(head: bytes = b"HTTP/1.1 200 OK\r\ncontent-length: 999\r\n\r\n") -> Iterator[tuple[str, threading.Event]]:
    """A server that answers with a byte every 20 ms, and never ends; the event is set once a client hung up."""
    left = threading.Event()

    def serve(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection, listener:
            connection.recv(65536)
            try:
                connection.sendall(head)
                while not left.wait(0.02):
                    connection.sendall(b" ")
            except OSError:
                left.set()

    listener = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=serve, args=(listener,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", left
    finally:
        left.set()
        thread.join()


def get_sync(base_url: str) -> None:
    with AgentService(KEY, base_url) as client:
        client.runs.get(RUN_ID, deadline=0.2)


def get_async(base_url: str) -> None:
    async def get() -> None:
        async with AsyncAgentService(KEY, base_url) as client:
            await client.runs.get(RUN_ID, deadline=0.2)

    asyncio.run(get())


def download_sync(base_url: str) -> None:
    with AgentService(KEY, base_url) as client:
        client.files.download("a.txt", chat="chat_1", deadline=0.2)


def download_async(base_url: str) -> None:
    async def get() -> None:
        async with AsyncAgentService(KEY, base_url) as client:
            await client.files.download("a.txt", chat="chat_1", deadline=0.2)

    asyncio.run(get())


@pytest.mark.parametrize("call", [get_sync, get_async, download_sync, download_async])
def test_an_answer_that_drips_is_cut(call: Callable[[str], None]) -> None:
    """Each byte comes well within the timeout of a read; the whole never would."""
    with dripping() as (base_url, left):
        with pytest.raises(APIConnectionError, match="deadline passed"):
            call(base_url)
        assert left.wait(10)


def test_a_silent_service_is_cut_and_named_so() -> None:
    match = "deadline passed"
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(APIConnectionError, match=match):
        get_sync(f"http://127.0.0.1:{silent.getsockname()[1]}")


# -- hooks ---------------------------------------------------------------------------------------------------------


def test_a_retry_is_told_before_it_is_waited_for(network: Networks) -> None:
    net = network(failure("brain_unavailable", 503), answer(200, run()))
    told: list[tuple[RetryNotice, int]] = []
    client = net.client.with_options(on_retry=lambda notice: told.append((notice, len(net.io.slept))))
    client.runs.get(RUN_ID)
    [(notice, slept)] = told
    assert (notice.operation, notice.attempt, notice.seconds, notice.error.code, slept) == (
        "runs.get",
        1,
        0.5,
        "brain_unavailable",
        0,
    )


def test_waits_are_told(network: Networks) -> None:
    states = ("running", "running", "succeeded")
    net = network(*[answer(200, {"job_id": "j", "chat": "chat_1", "status": status}) for status in states])
    told: list[WaitNotice] = []
    net.client.with_options(on_wait=told.append).jobs.wait("j", chat="chat_1")
    assert told == [WaitNotice("job", "j", "running", 2), WaitNotice("job", "j", "running", 3)]


def test_a_hook_that_raises_ends_the_call(network: Networks) -> None:
    def stop(notice: RetryNotice) -> None:
        raise KeyError(notice.operation)

    net = network(failure("brain_unavailable", 503))
    with pytest.raises(KeyError, match=r"files\.upload"):
        net.client.with_options(on_retry=stop).files.upload(("a", b""))


def test_a_hook_may_be_a_coroutine_function_of_the_async_client() -> None:
    answers = iter([failure("brain_unavailable", 503, retry_after="0"), answer(200, run())])
    told: list[str] = []

    async def tell(notice: RetryNotice) -> None:
        await asyncio.sleep(0)
        told.append(notice.operation)

    async def get() -> None:
        network = httpx.MockTransport(lambda request: next(answers))
        async with AsyncAgentService(KEY, transport=network, on_retry=tell) as client:
            await client.runs.get(RUN_ID)

    asyncio.run(get())
    assert told == ["runs.get"]


# -- with_options --------------------------------------------------------------------------------------------------


def test_with_options_shares_connections_and_changes_nothing_else() -> None:
    sent: list[httpx.Request] = []

    def service(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return answer(200, run())

    client = AgentService(KEY, transport=httpx.MockTransport(service), timeout=9)
    other = client.with_options(timeout=3, headers={"x-team": "blue"}).with_options(headers={"x-more": "1"})
    other.runs.get(RUN_ID)
    client.runs.get(RUN_ID)
    other.runs.get(RUN_ID, timeout=1)
    assert [request.extensions["timeout"]["read"] for request in sent] == [3, 9, 1]
    assert [request.headers.get("x-team") for request in sent] == ["blue", None, "blue"]
    assert sent[0].headers["x-more"] == "1"
    assert other._core.io is client._core.io
    assert type(other) is AgentService


def test_a_clients_deadline_starts_anew_with_each_call(network: Networks) -> None:
    net = network(answer(200, run()), answer(200, run()))
    client = net.client.with_options(deadline=5)
    client.runs.get(RUN_ID)
    run_sync(net.io.sleep(10))
    client.runs.get(RUN_ID, timeout=30)
    assert [read_timeout(net, at) for at in (0, 1)] == [5, 5]


def test_a_calls_deadline_stands_for_all_its_requests(network: Networks) -> None:
    """Also where the client has one of its own."""
    accepted = {"type": "tool_job", "family": "echo", "job_id": "j", "chat": "chat_1"}
    done = {"job_id": "j", "chat": "chat_1", "status": "succeeded"}
    net = network(answer(202, accepted), *[answer(200, {**done, "status": "running"})], *[answer(200, done)] * 2)
    client = net.client.with_options(deadline=5)
    client.jobs.submit_and_wait("echo_job", {})
    assert [read_timeout(net, at) for at in range(4)] == [5, 5, 3, 3]
