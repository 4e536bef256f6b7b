"""What operations take in place of an id: any record that has it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, Protocol

from agentsvc_nb.client.errors import StefanBrainError, refused


class HasRun(Protocol):
    """A run, an answer, an event stream."""

    @property
    def run_id(self) -> str | None: ...


class HasChat(Protocol):
    """A run, an answer, a job, what a tool answered."""

    @property
    def chat(self) -> str | None: ...


class HasJob(Protocol):
    """A job, or the acceptance of one."""

    @property
    def job_id(self) -> str | None: ...


class HasCall(Protocol):
    """An event about a tool call."""

    @property
    def call_id(self) -> str: ...


class HasId(Protocol):
    """A record whose own id is meant: a project, a staged file, a report, a medium, a landing page."""

    @property
    def id(self) -> str: ...


class HasName(Protocol):
    """A tool of the catalog."""

    @property
    def name(self) -> str: ...


RunRef = str | HasRun
ChatRef = str | HasChat
JobRef = str | HasJob
CallRef = str | HasCall
IdRef = str | HasId
ToolRef = str | HasName

# Where a record has the id, by the name of the parameter.
_PLACES: Final[Mapping[str, tuple[str, ...]]] = {
    "run_id": ("run_id",),
    "job_id": ("job_id",),
    "call_id": ("call_id",),
    "chat": ("chat", "id"),
    "chat_id": ("chat", "id"),
    "project": ("project", "id"),
    "name": ("name",),
    "tool": ("name",),
    "path": ("path",),
}
_OWN: Final = ("id",)
_CODES: Final = {"run_id": "invalid_run_id", "chat": "invalid_chat", "project": "invalid_project"}


def identifier(name: str, given: Any) -> str:
    """The id that was `given` for the parameter `name`, as a text or in a record.

    Raises `StefanBrainError` for anything without one, such as None.
    """
    if isinstance(given, str):
        return given
    for place in _PLACES.get(name, _OWN):
        found = getattr(given, place, None)
        if isinstance(found, str):
            return found
    kind = "None" if given is None else f"a {type(given).__name__}"
    raise _refused(name, f"`{name}` must be an id, or a record that has one, not {kind}.")


def optional(name: str, given: Any) -> str | None:
    return None if given is None else identifier(name, given)


def identifiers(name: str, given: Iterable[Any] | None) -> list[str]:
    """The ids of a list. Raises `StefanBrainError` for what is none: the characters of a text are no ids."""
    if given is None:
        return []
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise StefanBrainError(f"`{name}` must be a list of ids, not {given!r:.80}.")
    return [identifier(name, each) for each in given]


def in_path(name: str, given: Any) -> str:
    """`identifier`, for a part of a path. Raises `StefanBrainError` also for one that would lead to another path."""
    found = identifier(name, given)
    if found in ("", ".", ".."):
        raise _refused(name, f"`{name}` must be an id, not {found!r}.")
    return found


def _refused(name: str, message: str) -> StefanBrainError:
    code = _CODES.get(name)
    return refused(code, message) if code else StefanBrainError(message)
