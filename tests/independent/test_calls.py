"""Calls of more than one request: asks that take long, jobs and runs that are waited for, functions that are called."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

from agentsvc_nb import ChatBusyError, JobFailedError, JobTimeoutError, ToolResultError
from tests.independent.checking import Outcome, outcome
from tests.independent.faces import FACES, Call, Case, Group, Pool, following, generated
from tests.independent.mock import Fault, Mock, Reply, Seen, answer, problem
from tests.independent.operations import IDEM
from tests.independent.records import (
    CALL,
    CHAT,
    OTHER_RUN,
    RUN,
    accepted,
    event,
    job,
    listing,
    run,
    service,
    stream,
    tool_result,
    turn,
)

Way = Reply | Fault
ASK = "/tools/ask_stefanbrain/invoke"
LOST = Fault("lost", lambda wire, seen, good: wire.reset())
SILENT = Fault("silent", lambda wire, seen, good: wire.rest(10))


def changed(changes: Mapping[tuple[str, str], Sequence[Way]]) -> Mock:
    """The service with other answers here and there, one after the other; the last one stays."""
    left = {place: list(ways) for place, ways in changes.items()}

    def answers(seen: Seen) -> Way:
        ways = left.get((seen.method, seen.path))
        if ways is None:
            return service(seen)
        return ways.pop(0) if len(ways) > 1 else ways[0]

    return Mock(answers)


def _long_ask(*jobs: Way, result: Way | None = None) -> Mock:
    done = result or answer(job(family="mcp_ask", kind="inline", data=turn()))
    handle = answer(accepted("ask_stefanbrain", family="mcp_ask"), 202)
    places: dict[tuple[str, str], Sequence[Way]] = {
        ("POST", ASK): [handle],
        ("GET", "/jobs/job_1"): list(jobs),
        ("GET", "/jobs/job_1/result"): [done],
    }
    return changed(places)


def _asks_of(mock: Mock) -> list[Seen]:
    """What was posted; that a function is being executed is said as often as one likes."""
    return [seen for seen in mock.seen if seen.method == "POST" and seen.body != b'{"pending":true}']


def _asked(face: str, statuses: list[str]) -> None:
    """A handle is looked at until the turn has ended."""
    with _long_ask(*[answer(job(status, family="mcp_ask")) for status in statuses]) as mock:
        value = outcome(mock, face, lambda c: c.ask("Hi")).value
        assert (value.answer, value.run_id, value.chat) == ("Hello", RUN, CHAT)
        looks = [seen for seen in mock.seen if seen.path == "/jobs/job_1"]
        assert len(looks) >= len(statuses)
        assert all(seen.query.get("chat") == CHAT for seen in looks)
        assert len(_asks_of(mock)) == 1


def _ask_failed(face: str, status: str) -> None:
    error = {"code": "attempts_exhausted", "message": "It failed."}
    ended = answer(job(status, family="mcp_ask", is_error=True, error=error))
    with _long_ask(ended, result=ended) as mock:
        failure = outcome(mock, face, lambda c: c.ask("Hi")).failure
        assert type(failure) is JobFailedError
        assert failure.job.status == status


def _ask_in_time(face: str, first: Way, job_id: str | None, chat: str | None) -> None:
    """The time for all is over: the handle, if there was one."""
    running = answer(job("running"))
    places: dict[tuple[str, str], Sequence[Way]] = {
        ("POST", ASK): [first],
        ("POST", "/jobs"): [first],
        ("GET", "/jobs/job_1"): [running],
    }
    for call in (
        lambda c: c.ask("Hi", timeout=0.5),
        lambda c: c.jobs.submit_and_wait("create_images", {}, timeout=0.5),
    ):
        with changed(places) as mock:
            failure = outcome(mock, face, call).failure
            assert type(failure) is JobTimeoutError, repr(failure)
            assert (failure.job_id, failure.chat) == (job_id, chat)
            assert len(_asks_of(mock)) == 1


def _is_error(face: str, call: Call, path: str) -> None:
    """A tool that failed is raised, with the whole answer, and not asked again."""
    result = tool_result("t", is_error=True, error={"code": "not_configured", "message": "Set X."}, data=turn())
    with changed({("POST", path): [answer(result)]}) as mock:
        error = outcome(mock, face, call).failure
        assert type(error) is ToolResultError
        assert (error.status, error.code) == (200, "not_configured")
        assert error.body["content"] == result["content"]
        assert error.body["data"] == turn()
        assert "Set X." in str(error)
        assert len(mock.seen) == 1


BUSY = problem(409, "agent_run_rejected", "invalid_request_error", top={"activeRunId": OTHER_RUN})


def _busy(face: str) -> None:
    with changed({("POST", ASK): [BUSY]}) as mock:
        error = outcome(mock, face, lambda c: c.ask("Hi", chat=CHAT, idempotency_key=IDEM)).failure
        assert type(error) is ChatBusyError
        assert error.active_run_id == OTHER_RUN
        assert len(mock.seen) == 1


def _busy_waited(face: str, call: Call, path: str) -> None:
    """`on_busy="wait"`: the other turn's end is waited for, then it is asked again. The wire never says `wait`."""
    good = answer(run("queued"), 202) if path == "/runs" else answer(tool_result(data=turn()))
    places: dict[tuple[str, str], list[Way]] = {("POST", path): [BUSY, BUSY, good]}
    places["GET", f"/runs/{OTHER_RUN}"] = [answer(run("running", run_id=OTHER_RUN)), answer(run(run_id=OTHER_RUN))]
    places["GET", f"/runs/{OTHER_RUN}/events"] = [
        Reply(200, b"", {"Content-Type": "text/event-stream"}),
        answer(listing(next_after=0, has_more=False, status="completed")),
    ]
    with changed(places) as mock:
        result = outcome(mock, face, call)
        assert result.value, result.error
        assert len(_asks_of(mock)) == 3
        assert all('"wait"' not in seen.body.decode() for seen in _asks_of(mock))


def _job_waited(face: str, statuses: list[str], poll: float | None) -> None:
    """Looks as often as the service recommends, also at a status that nobody knows yet."""
    told: list[str] = []
    looks = [answer(job(status, recommended_poll_after_ms=150)) for status in statuses]
    with changed({("GET", "/jobs/job_1"): [*looks, answer(job())]}) as mock:

        def call(client: Any) -> Any:
            return client.jobs.wait("job_1", chat=CHAT, poll=poll, on_progress=lambda job: told.append(job.status))

        value = outcome(mock, face, call).value
        assert value.status == "succeeded"
        assert told == [*statuses, "succeeded"]
        times = [seen.at for seen in mock.seen]
        assert all(b - a >= (poll or 0.15) - 0.03 for a, b in pairwise(times))


def _job_ends(face: str, status: str) -> None:
    error = {"code": "c", "message": "m"} if status == "failed" else None
    with changed({("GET", "/jobs/job_1"): [answer(job("running")), answer(job(status, error=error))]}) as mock:
        failure = outcome(mock, face, lambda c: c.jobs.wait("job_1", chat=CHAT)).failure
        assert type(failure) is JobFailedError
        assert (failure.job.job_id, failure.job.status) == ("job_1", status)
        read = outcome(mock, face, lambda c: c.jobs.status("job_1", chat=CHAT))
        assert read.value.status == status


def _job_through(face: str, between: list[Way]) -> None:
    """What passes is passed over while a job is waited for."""
    ways = [answer(job("running")), *between, answer(job("running")), *between, answer(job())]
    with changed({("GET", "/jobs/job_1"): ways}) as mock:
        result = outcome(mock, face, lambda c: c.jobs.wait("job_1", chat=CHAT))
        assert result.value, result.error
        assert result.value.status == "succeeded"


def _job_gone(face: str, reply: Reply, code: str) -> None:
    with changed({("GET", "/jobs/job_1"): [answer(job("running")), reply]}) as mock:
        assert outcome(mock, face, lambda c: c.jobs.wait("job_1", chat=CHAT)).failure.code == code
        assert len(mock.seen) == 2


def _run_in_time(face: str) -> None:
    """A run that goes on beyond the time is not cancelled."""
    with changed({("GET", f"/runs/{RUN}"): [answer(run("running"))], ("GET", f"/runs/{RUN}/events"): [SILENT]}) as mock:
        failure = outcome(mock, face, lambda c: c.runs.wait(RUN, timeout=0.6)).failure
        assert type(failure) is JobTimeoutError
        assert all(seen.method == "GET" for seen in mock.seen)


def _ended_badly(face: str, status: str) -> None:
    record = run(status, last_error="budget_limited", output=None)
    with changed({("GET", f"/runs/{RUN}"): [answer(record)]}) as mock:
        value = outcome(mock, face, lambda c: c.runs.wait(RUN)).value
        assert (value.status, value.last_error, value.output) == (status, "budget_limited", None)


ASKING = {"call_id": "call_1", "tool": "look_up", "input": {"word": "lamp"}}


def _calling(*more: dict[str, Any]) -> list[dict[str, Any]]:
    waiting = event(4, "client_call.waiting", **ASKING, expires_at="2099-01-01T00:00:00.000Z")
    return [
        event(1, "run.status", status="queued", client_tools=["look_up"]),
        event(2, "run.status", status="running"),
        event(3, "tool.call", **ASKING, client=True),
        waiting,
        *more,
        event(5 + len(more), "run.ended", run=run(client_tools=["look_up"])),
    ]


def _tools(events: list[dict[str, Any]], names: list[str] | None = None, results: list[Way] | None = None) -> Mock:
    """A service whose run calls a function; what it makes of the function's answers is given."""
    record = answer(run("queued", client_tools=["look_up"] if names is None else names), 202)
    path = f"/runs/{RUN}/calls/call_1/result"
    mock = changed({("POST", "/runs"): [record], ("POST", path): results or [answer(CALL)]})
    answers = mock.answers

    def answers_of_tools(seen: Seen) -> Way:
        if "event-stream" in (seen.header("accept") or ""):
            return stream(seen, events)
        pending = seen.path == path and seen.json.get("pending")
        return (
            answer(CALL | {"accepted": False, "expires_at": "2099-01-01T00:00:00.000Z"}) if pending else answers(seen)
        )

    mock.answers = answers_of_tools
    return mock


def _called(face: str, more: list[dict[str, Any]], results: list[Way] | None, times: int | None) -> None:
    """A function is executed once for a call, and its answer told again when it is asked for again."""
    calls: list[str] = []

    def look_up(word: str) -> str:
        """Look a word up."""
        calls.append(word)
        return f"{word}: found"

    with _tools(_calling(*more), results=results) as mock:
        result = outcome(mock, face, following(lambda c: c.runs.start_and_stream("Hi", client_tools=[look_up])))
        assert result.value, result.error
        assert calls == ["lamp"]
        start, *told = _asks_of(mock)
        (offered,) = start.json["client_tools"]
        assert (offered["name"], offered["description"]) == ("look_up", "Look a word up.")
        assert offered["input_schema"]["properties"]["word"]["type"] == "string"
        assert {seen.path for seen in told} == {f"/runs/{RUN}/calls/call_1/result"}
        assert len(told) == times if times else told
        assert len({seen.body for seen in told}) == 1
        assert "lamp: found" in told[0].body.decode()


def _raising(face: str) -> None:
    """What a function raises is told to the agent, and the run goes on."""

    def look_up(word: str) -> str:
        """Look a word up."""
        raise ValueError(f"no {word}")

    with _tools(_calling()) as mock:
        result = outcome(mock, face, following(lambda c: c.runs.start_and_stream("Hi", client_tools=[look_up])))
        assert result.value, result.error
        assert _asks_of(mock)[1].json["is_error"] is True


def _not_mine(face: str) -> None:
    """Whoever only follows a run executes nothing for it."""
    with _tools(_calling()) as mock:
        result = outcome(mock, face, following(lambda c: c.runs.attach(RUN)))
        assert [each.type for each in result.value.events].count("client_call.waiting") == 1
        assert not _asks_of(mock)


def _older_service(face: str, names: list[str]) -> None:
    """A new run that lacks the functions is cancelled, and that is told."""

    def look_up(word: str) -> str:
        """Look a word up."""
        return word

    with _tools(_calling(), names=names) as mock:
        result: Outcome = outcome(
            mock, face, following(lambda c: c.runs.start_and_stream("Hi", client_tools=[look_up]))
        )
        assert result.failure
        assert [seen.path for seen in _asks_of(mock)] == ["/runs", f"/runs/{RUN}/cancel"]


def _cases() -> list[Case]:
    cases: list[Case] = []

    def add(name: str, check: Callable[..., None], *rest: Any, fault: str = "") -> None:
        cases.extend(Case(f"{name}-{face}", partial(check, face, *rest), fault) for face in FACES)

    for statuses in (
        ["succeeded"],
        ["queued", "running", "succeeded"],
        ["running", "a_state_of_the_future", "succeeded"],
    ):
        add(f"asked {len(statuses)} {statuses[-2:]}", _asked, statuses)
    for status in ("failed", "cancelled"):
        add(f"ask {status}", _ask_failed, status)
        add(f"job {status}", _job_ends, status)
        add(f"run {status}", _ended_badly, status)
    add("in time with a handle", _ask_in_time, answer(accepted(), 202), "job_1", CHAT)
    add("in time without an answer", _ask_in_time, SILENT, None, None)
    add(
        "tool error",
        _is_error,
        lambda c: c.tools.invoke("web_search", {}, idempotency_key=IDEM),
        "/tools/web_search/invoke",
    )
    add("ask error", _is_error, lambda c: c.ask("Hi", idempotency_key=IDEM), ASK)
    add("busy", _busy)
    add("busy, ask waits", _busy_waited, lambda c: c.ask("Hi", chat=CHAT, on_busy="wait"), ASK)
    add("busy, start waits", _busy_waited, lambda c: c.runs.start("Hi", chat=CHAT, on_busy="wait"), "/runs")
    for poll in (None, 0.3):
        add(f"job waited {poll}", _job_waited, ["queued", "running", "cancelling", "a_state_of_the_future"], poll)
    away, slow = problem(503, "brain_unavailable"), problem(429, "user_throttled", headers={"Retry-After": "0"})
    for name, between in {"503": [away], "429": [slow], "lost": [LOST], "both": [LOST, away]}.items():
        add(f"job through {name}", _job_through, between)
    add("job is gone", _job_gone, problem(404, "job_not_found"), "job_not_found")
    add("key is gone", _job_gone, problem(401, "unauthorized"), "unauthorized")
    add("run in time", _run_in_time)
    asked_again = event(5, "client_call.waiting", **ASKING, expires_at="2099-01-01T00:00:00.000Z")
    resumed = event(5, "run.resumed", attempt=2, discard_after=2)
    anew = [resumed, event(6, "tool.call", **ASKING, client=True), {**asked_again, "id": 7}]
    add("called", _called, [], None, 1)
    add("called for and asked again", _called, [asked_again], None, None)
    add("called and asked again after a crash", _called, anew, None, None)
    good = answer(CALL)
    add("called, the answer was lost", _called, [], [LOST, good], 2)
    add("called, the service was away", _called, [], [away, good], 2)
    add("called, nobody waits any more", _called, [], [problem(409, "call_not_waiting")], 1)
    add("a function that raises", _raising)
    add("not mine", _not_mine)
    add("an older service", _older_service, [])
    add("another function", _older_service, ["something_else"])
    return cases


@generated(_cases())
def test_calls(group: Group, pool: Pool) -> None:
    pool.check(group)
