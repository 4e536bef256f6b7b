"""Read ids from arguments: wherever an operation takes an id, it also accepts a record that has this id."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, Protocol

from agentsvc_nb.client.errors import StefanBrainError, error_for_code


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
"""The id of a run, or a record with this id: a run, an answer or an event stream."""
ChatRef = str | HasChat
"""The id of a chat, or a record with this id: a run, an answer, an event stream, a job or the result of a tool."""
JobRef = str | HasJob
"""The id of a job, or a record with this id: a job or a `JobAccepted`."""
CallRef = str | HasCall
"""The id of a tool call, or an event of this call."""
IdRef = str | HasId
"""The id of a project, staged file, report, medium or landing page, or the record itself."""
ToolRef = str | HasName
"""The name of a tool, or its description from the catalog."""

# For each parameter, the attributes of a record that may contain the id.
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
    """Return the id in `given`, the argument for the parameter `name`. `given` is the id or a record with the id.

    Raises `StefanBrainError` for a value without an id, such as None.
    """
    if isinstance(given, str):
        return given
    for attribute in _ATTRIBUTES.get(name, ("id",)):
        found = getattr(given, attribute, None)
        if isinstance(found, str):
            return found
    kind = "None" if given is None else f"a {type(given).__name__}"
    raise _refused(name, f"`{name}` must be an id or a record with an id, not {kind}.")


def optional(name: str, given: Any) -> str | None:
    return None if given is None else identifier(name, given)


def identifiers(name: str, given: Iterable[Any] | None) -> list[str]:
    """Return the ids in a list of ids and records. Raises `StefanBrainError` if `given` is not a list."""
    if given is None:
        return []
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise StefanBrainError(f"`{name}` must be a list of ids, not {given!r:.80}.")
    return [identifier(name, each) for each in given]


def in_path(name: str, given: Any) -> str:
    """Return the id in `given` for the path of a URL, as `identifier` does.

    Raises the errors of `identifier`, and `StefanBrainError` for an id that would lead to another path, such as "..".
    """
    found = identifier(name, given)
    if found in ("", ".", ".."):
        raise _refused(name, f"`{name}` must be an id, not {found!r}.")
    return found


def _refused(name: str, message: str) -> StefanBrainError:
    code = _CODES.get(name)
    return error_for_code(code, message) if code else StefanBrainError(message)
