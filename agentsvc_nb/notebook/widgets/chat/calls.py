"""What a chat asks of the service beside its turns. What goes wrong comes back as words: nobody would see it raised."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.notebook.failures import AskError, told
from agentsvc_nb.notebook.memory.session import Session


def stop(session: Session, run_id: str) -> str:
    """Stop a run."""
    return _wrong(session, lambda: session.client().runs.cancel(run_id))


def paths(session: Session, chat: str, count: int) -> list[str]:
    """The first files of a chat; none when they can't be had: the next message will tell what is wrong."""
    found: list[str] = []
    _wrong(session, lambda: found.extend(file.path for file in islice(session.client().files.list(chat), count)))
    return found


def holder(failure: BaseException | None) -> str:
    """The run that holds the chat, when that is why nothing was started."""
    error = failure.error if isinstance(failure, AskError) else None
    return (error.active_run_id or "") if error is not None else ""


def _wrong(session: Session, act: Callable[[], object]) -> str:
    try:
        act()
    except (StefanBrainError, AskError) as error:
        shown = told(error, session.base_url) if isinstance(error, StefanBrainError) else error
        return f"{shown} {shown.hint}".strip()
    return ""
