"""A chat takes one turn at a time: wait for it, in order."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.notebook.runs.follow import StartControl, Stream

if TYPE_CHECKING:
    from agentsvc_nb.client.api import AgentService
    from agentsvc_nb.notebook.state.session import Ahead

LOOK_SECONDS: Final = 0.5
"""Between two looks at the run that holds the chat; reading a run costs nothing (docs/api/events.md)."""


def in_turn(start: Callable[[], Stream], client: AgentService, door: StartControl) -> Stream:
    """What `start` gives, tried again whenever the run that holds the chat has ended.

    Raises `AskError` once it is given up, and what `start` is refused with for other reasons.
    """
    while not door.given_up.is_set():
        try:
            return start()
        except StefanBrainError as error:
            if error.code != "agent_run_rejected":
                raise
            holder = error.active_run_id or ""
        door.waits_for(holder)
        while not door.given_up.wait(LOOK_SECONDS) and not _ended(client, holder):
            pass
    raise given_up()


def after(ahead: Ahead, door: StartControl) -> None:
    """Wait for a question of this kernel: asked in the order of the cells, whoever the service would take first.

    Raises `AskError` once it is given up.
    """
    while not ahead.done():
        door.waits_for(ahead.run_id)
        if door.given_up.wait(LOOK_SECONDS):
            raise given_up()


def given_up() -> AskError:
    error = AskError("The question was given up while its chat was busy; nothing was started.")
    error.refused = True
    return error


def _ended(client: AgentService, run_id: str) -> bool:
    """Also for a run that this key cannot see: then the start itself is tried again."""
    try:
        return not run_id or client.runs.get(run_id).ended
    except StefanBrainError as error:
        if error.status == 404:
            return True
        raise
