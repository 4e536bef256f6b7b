"""Following a run: its end, the interrupt, the second interrupt, the time limit, a stream that breaks."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from agentsvc_nb.notebook.ask import follower
from agentsvc_nb.notebook.ask.answer import CellAnswer
from agentsvc_nb.notebook.ask.follower import RunFollower
from agentsvc_nb.notebook.ask.request import AskRequest, prepare
from agentsvc_nb.notebook.display.render import Bundle
from agentsvc_nb.notebook.display.transcript import RunView
from agentsvc_nb.notebook.errors import AskError, RunFailed, RunStopped
from agentsvc_nb.notebook.state.journal import Journal
from agentsvc_nb.notebook.state.session import Session
from agentsvc_nb.wire.runs import Event, Run
from tests.support.waiting import until

RUN_ID = "11111111-1111-4111-8111-111111111111"


def _event(number: int, kind: str, **payload: object) -> Event:
    return Event(number, kind, "2026-11-21T06:00:00.000Z", dict(payload))


def _end(number: int, status: str = "completed") -> Event:
    return _event(number, "run.ended", run=Run(run_id=RUN_ID, status=status, output="said").model_dump())


class Client:
    """A client whose only run has these events; after them its stream waits until it is closed or the run cancelled.

    Args:
        answered: the start waits for it.
        confirms: whether a cancelled run says that it has stopped.
    """

    def __init__(
        self, *events: Event | Exception, answered: threading.Event | None = None, confirms: bool = True
    ) -> None:
        self.runs, self.files = self, self
        self.run = Run(run_id=RUN_ID, status="queued", chat="chat_1")
        self.events, self.answered, self.confirms = [*events], answered, confirms
        self.cancelled: list[str] = []
        self.closed, self._woken = threading.Event(), threading.Event()

    def start_and_stream(self, **_: Any) -> Client:
        if self.answered is not None:
            assert self.answered.wait(30)
        return self

    def cancel(self, run_id: str) -> None:
        self.cancelled.append(run_id)
        if self.confirms:
            self.events.append(_end(99, "cancelled"))
            self._woken.set()

    def list(self, chat: str) -> list[Any]:
        return []

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.closed.set()
        self._woken.set()

    def __iter__(self) -> Client:
        return self

    def __next__(self) -> Event:
        if not self.events:
            self._woken.wait(30)
        if not self.events:
            raise StopIteration
        event = self.events.pop(0)
        if isinstance(event, Exception):
            raise event
        if event.type == "run.ended":
            self._woken.set()
        return event


class Screen:
    """A screen at which Stop is pressed so many times, once the run is there or, with `early`, at once."""

    def __init__(self, presses: int = 0, early: bool = False) -> None:
        self.presses, self.early = presses, early
        self.finished: Bundle | None = None
        self.cleared = False

    def draw(self, view: RunView) -> None:
        if self.presses and (self.early or view.run_id):
            self.presses -= 1
            raise KeyboardInterrupt

    def finish(self, bundle: Bundle, metadata: object = None) -> None:
        self.finished = bundle

    def clear(self) -> None:
        self.cleared = True


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follower, "CANCEL_SECONDS", 1.0)


def _follower(
    client: Client, screen: Screen, closing: Callable[[], bool] = lambda: False, **options: Any
) -> RunFollower:
    session: Any = Session(None, environ={}, journal=Journal(None))
    session.client = lambda: client
    session.closing = closing
    request = AskRequest("say x", **options)
    return RunFollower(session, prepare(session, request), screen)


def _follow(client: Client, screen: Screen, **options: Any) -> CellAnswer:
    return _follower(client, screen, **options).follow()


def test_it_follows_to_the_end() -> None:
    client = Client(_event(1, "text.delta", text="said"), _end(2))
    answer = _follow(client, Screen())
    assert (answer.text, answer.status, client.cancelled) == ("said", "completed", [])
    assert all(thread.daemon for thread in threading.enumerate() if thread.name.startswith("agentsvc-feed"))


def test_the_first_interrupt_cancels_and_waits_for_the_last_word() -> None:
    client = Client()
    with pytest.raises(RunStopped, match="was cancelled") as stopped:
        _follow(client, Screen(presses=1))
    assert isinstance(stopped.value.answer, CellAnswer)
    assert (stopped.value.answer.status, client.cancelled) == ("cancelled", [RUN_ID])


def test_a_kernel_that_is_restarted_or_closed_leaves_the_run_going() -> None:
    client = Client()
    with pytest.raises(RunStopped, match="may still be running"):
        _follow(client, Screen(presses=1), closing=lambda: True)
    assert client.closed.wait(30)
    assert client.cancelled == []


def test_the_second_interrupt_leaves_at_once() -> None:
    client = Client(confirms=False)
    with pytest.raises(RunStopped, match="may still be running"):
        _follow(client, Screen(presses=2))
    until(lambda: client.cancelled == [RUN_ID])


def test_a_stop_that_is_not_confirmed_is_left() -> None:
    client = Client(confirms=False)
    with pytest.raises(RunStopped, match="may still be running"):
        _follow(client, Screen(presses=1))
    assert client.cancelled == [RUN_ID]


def test_a_run_whose_start_was_not_answered_yet_is_cancelled_when_it_is() -> None:
    answered = threading.Event()
    client = Client(answered=answered)
    screen = Screen(presses=1, early=True)
    with pytest.raises(RunStopped, match="before its run began"):
        _follow(client, screen)
    assert screen.cleared
    assert client.cancelled == []
    answered.set()
    until(lambda: client.cancelled == [RUN_ID])


def test_a_stream_that_breaks_while_stopping_is_no_error_of_its_own() -> None:
    client = Client(confirms=False)

    def lose(run_id: str) -> None:
        client.events.append(ConnectionError("gone"))
        client.close()

    client.cancel = lose  # type: ignore[method-assign]
    with pytest.raises(RunStopped, match="may still be running"):
        _follow(client, Screen(presses=1))


def test_after_the_time_given_the_run_is_left() -> None:
    client = Client()
    with pytest.raises(RunFailed, match=r"has not ended within 0\.3 s; it goes on"):
        _follow(client, Screen(), timeout=0.3)
    assert client.closed.wait(30)
    assert client.cancelled == []


def test_what_the_stream_raises_is_raised_here() -> None:
    with pytest.raises(ConnectionError, match="gone"):
        _follow(Client(ConnectionError("gone")), Screen())


def test_a_question_that_is_given_up_while_another_runs_is_never_sent() -> None:
    class Busy:
        run_id = RUN_ID

        def done(self) -> bool:
            return False

    client = Client()
    followed = _follower(client, Screen())
    followed.earlier = Busy()
    threading.Timer(0.3, followed.cancel).start()
    with pytest.raises(AskError, match="given up"):
        followed.follow()
    assert followed.view.run_id == ""
