"""Read ids from arguments. Operations accept an id, or a record that has one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, Protocol

from agentsvc_nb.client.errors import StefanBrainError, refused


class HasRun(Protocol):
    @property
    def run_id(self) -> str | None: ...


class HasChat(Protocol):
    @property
    def chat(self) -> str | None: ...


class HasJob(Protocol):
    @property
    def job_id(self) -> str | None: ...


class HasCall(Protocol):
    @property
    def call_id(self) -> str: ...


class HasId(Protocol):
    @property
    def id(self) -> str: ...


class HasName(Protocol):
    @property
    def name(self) -> str: ...


RunRef = str | HasRun
"""A run, an answer or an event stream."""
ChatRef = str | HasChat
"""A run, an answer, a job or the result of a tool."""
JobRef = str | HasJob
"""A job, or the `JobAccepted` of one."""
CallRef = str | HasCall
"""An event about a tool call."""
IdRef = str | HasId
"""A project, a staged file, a report, a medium or a landing page."""
ToolRef = str | HasName
"""A tool of the catalog."""

# The attributes of a record that may hold the id, by the name of the parameter.
_ATTRIBUTES: Final[Mapping[str, tuple[str, ...]]] = {
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
_CODES: Final = {"run_id": "invalid_run_id", "chat": "invalid_chat", "project": "invalid_project"}


def identifier(name: str, given: Any) -> str:
    """Return the id that was `given` for the parameter `name`, as text or in a record.

    Raises `StefanBrainError` for a value without an id, such as None.
    """
    if isinstance(given, str):
        return given
    for attribute in _ATTRIBUTES.get(name, ("id",)):
        found = getattr(given, attribute, None)
        if isinstance(found, str):
            return found
    kind = "None" if given is None else f"a {type(given).__name__}"
    raise _refused(name, f"`{name}` must be an id, or a record that has one, not {kind}.")


def optional(name: str, given: Any) -> str | None:
    return None if given is None else identifier(name, given)


def identifiers(name: str, given: Iterable[Any] | None) -> list[str]:
    """Return the ids of a list. Raises `StefanBrainError` for a value that is not a list."""
    if given is None:
        return []
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise StefanBrainError(f"`{name}` must be a list of ids, not {given!r:.80}.")
    return [identifier(name, each) for each in given]


def in_path(name: str, given: Any) -> str:
    """Return `identifier(name, given)`. Raises `StefanBrainError` also for an id that would lead to another path."""
    found = identifier(name, given)
    if found in ("", ".", ".."):
        raise _refused(name, f"`{name}` must be an id, not {found!r}.")
    return found


def _refused(name: str, message: str) -> StefanBrainError:
    code = _CODES.get(name)
    return refused(code, message) if code else StefanBrainError(message)
