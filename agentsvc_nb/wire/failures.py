"""Base models of all requests and responses, and the failure table: why a run or job failed."""

from __future__ import annotations

import json
import os
import threading
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from agentsvc_nb.wire.codes import Source

_BUILDING = threading.RLock()


def _forget_builders() -> None:
    """In a forked child: a thread of the parent that held the lock is not there to release it."""
    global _BUILDING
    _BUILDING = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_builders)


class Model(BaseModel):
    """An answer of the service. Unknown fields are kept: a service may send more than this version knows.

    Modules with many models do without `from __future__ import annotations`: pydantic would evaluate the text of each
    annotation as it is imported, a third of what making the classes takes.
    """

    model_config = ConfigDict(
        extra="allow",
        protected_namespaces=(),
        defer_build=True,  # built at first use: building all models would take half of the import time
        json_schema_serialization_defaults_required=True,  # the service sends every field
    )

    _request_id: ClassVar[str | None] = None
    """The `X-Request-Id` of the answer that this is, where the client read it from one; no field."""

    @classmethod
    def read(cls, data: bytes | str) -> Self:
        """Parse JSON. Raises `pydantic.ValidationError`, which names each field of a wrong type.

        `null` in a field that has a default is as if the field were not there.
        """
        build(cls)
        try:
            return cls._parse(data)
        except ValidationError as error:
            if (rest := _without_nulls(data, error)) is None:
                raise
            try:
                return cls._parse(rest)
            except ValidationError as other:
                lacks = any(detail["type"] == "missing" for detail in other.errors(include_url=False))
                raise error if lacks else other from None

    @classmethod
    def _parse(cls, data: bytes | str) -> Self:
        return cls.model_validate_json(data)


def _without_nulls(data: bytes | str, error: ValidationError) -> str | None:
    """The JSON without the nulls that could not be read, None if there are none.

    They are taken out when reading has failed, because looking for them in each answer would make all of them slower.
    """
    try:
        whole = json.loads(data)
    except (ValueError, RecursionError):
        return None
    dropped = [_drop_null(whole, detail["loc"]) for detail in error.errors(include_url=False, include_input=False)]
    return json.dumps(whole) if any(dropped) else None


def _drop_null(place: Any, path: tuple[int | str, ...]) -> bool:
    """Take the null at the end of `path` out of its object. False if there is none, as at the branch of a union."""
    for step in path:
        if isinstance(place, dict) and step in place:
            if place[step] is None:
                del place[step]
                return True
            place = place[step]
        elif isinstance(place, list) and isinstance(step, int) and step < len(place):
            place = place[step]
        else:
            return False
    return False


def build(model: type[BaseModel]) -> None:
    """Complete a deferred model, once, under a lock: before pydantic 2.14, building at first use is not thread-safe."""
    if not model.__pydantic_complete__:
        with _BUILDING:
            model.model_rebuild()


def build_all() -> None:
    """Complete all models that have been imported."""
    waiting: list[type[BaseModel]] = [Model, Request]
    while waiting:
        model = waiting.pop()
        waiting += model.__subclasses__()
        build(model)


class Request(BaseModel):
    """A request body. Unknown fields are ignored (docs/api/conventions.md "Values")."""

    model_config = ConfigDict(extra="ignore", defer_build=True)


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a run or job failed: a `code` that the service sets as `last_error` or as a tool's `error.code`."""

    code: str
    cause: str
    hint: str
    source: Source = "ours"
    resumable: bool = False
    """Whether a run that failed so can be resumed: the reason may pass."""


def resume_command(command: str, run_id: str, code: str | None, message: str | None) -> str | None:
    """Return the command that resumes a run which failed with this code and message; None if it can't be resumed.

    >>> resume_command("agentsvc runs resume", "last", "limit_reached", "Resume it with a higher `max_cents`.")
    'agentsvc runs resume last --max-cents N'
    """
    if code not in FAILURES or not FAILURES[code].resumable:
        return None
    return f"{command} {run_id}" + (" --max-cents N" if "`max_cents`" in (message or "") else "")


FAILURES: dict[str, Failure] = {
    row.code: row
    for row in (
        Failure("budget_limited", "The run reached 1,500 model steps; it is not billed.", "Ask for less.", "stated"),
        Failure(
            "limit_reached",
            "The run reached its `max_steps` or `max_cents`, or the wallet, the plan's pool or the key's budget has no "
            "room for its next call of a model or priced tool.",
            "See its message: resume the run, start it with a higher limit, add credit, raise the budget, or wait for "
            "its reset.",
            resumable=True,
        ),
        Failure("output_schema_mismatch", "The answer did not fit the schema.", "Simplify the schema, or ask again."),
        Failure(
            "output_too_long",
            "The answer has more than 4 MB; its beginning is the output.",
            "Ask for less, or for a file.",
        ),
        Failure(
            "model_required",
            "This needs a language model.",
            "Choose one: `agentsvc model`, in a notebook `%agentsvc model`.",
        ),
        Failure(
            "not_configured",
            "The model or the tool lacks a credential, an address, a package or the network.",
            "Set what its message names.",
        ),
        Failure(
            "model_unavailable",
            "The model's server can't be reached, is overloaded, or broke its answer off.",
            "See that it runs, and resume the run.",
            resumable=True,
        ),
        Failure("model_refused", "The model's server refused the call.", "Correct what its message names."),
        Failure(
            "content_filtered",
            "The provider's filter stopped the answer.",
            "Ask for something else, or in other words; in a new chat when it happens again.",
        ),
        Failure(
            "answer_refused",
            "The model refused to answer.",
            "See its message; ask for something else, or in other words.",
        ),
        Failure(
            "call_repeated",
            "The model called a tool six times with the same input, while nothing changed.",
            "Ask in other words, or choose a larger model.",
        ),
        Failure(
            "context_exceeded",
            "The question with what goes along is longer than the model holds.",
            "Ask for less, or set AGENTSVC_MODEL_CONTEXT to what the model's server was started with.",
        ),
        Failure("model_failed", "The model's answer could not be used.", "Ask again, or choose a larger model."),
        Failure(
            "invalid_tool_input",
            "The tool's input does not fit its schema.",
            "`tools.describe` says what it takes; in a notebook `%tools NAME`.",
        ),
        Failure("invalid_path", "A path leads out of the workspace.", "Use a relative path without `..`."),
        Failure(
            "file_protected",
            "A run was to change the user's rules for agents, such as `AGENTS.md`, or the summary of the chat.",
            "Change such a file yourself, by uploading it; have the run write to another.",
        ),
        Failure(
            "address_refused",
            "An address leads into a private network, to this machine, or is written so that it hides where.",
            "Give a public address; operators may allow others with AGENTSVC_FETCH_ALLOW.",
        ),
        Failure(
            "upstream_failed",
            "A service that a tool asks answered with an error, or not at all.",
            "See its message; check the tool's settings.",
        ),
        Failure(
            "recipient_refused",
            "A mail was to go to somebody whom the operator does not allow.",
            "Leave them out, or have them added to AGENTSVC_MAIL_RECIPIENTS.",
        ),
        Failure(
            "tool_changed",
            "A tool of another server is not what it was when the run began, and was not called.",
            "Look what the server says of it now, and start the run again.",
        ),
        Failure("transcript_failed", "The speech of a file could not be recognised.", "See its message."),
        Failure("fetch_failed", "A page or file could not be fetched.", "See its message; try again later."),
        Failure(
            "missing_glyphs",
            "No font on the service's machine draws all characters of a text of an ad.",
            "Install the font that its message names, or leave the characters out.",
        ),
        Failure("no_text", "The file has no text that can be read.", "Use a file with text."),
        Failure("query_failed", "The question to the tables is wrong.", "Correct what its message names."),
        Failure(
            "skill_not_found",
            "The project has no such skill, or the skill no such file.",
            "Use a name that was listed.",
        ),
        Failure("program_failed", "A program that the agent ran ended with an error.", "See its message."),
        Failure("too_much_work", "A query or a program took too long or too much memory.", "Ask for less."),
        Failure(
            "attempts_exhausted",
            "The work was restarted three times without progress.",
            "Resume the run; start a job again.",
            resumable=True,
        ),
        Failure("cancelled", "The work was cancelled.", "Start it again."),
        Failure("model_changed", "The service was started again with another model.", "Start it again."),
        Failure("not_approved", "Somebody refused the tool call.", "See the reason; ask for something else."),
        Failure(
            "client_gone",
            "The caller that was to execute a client tool sent no result in time; the run goes on.",
            "Keep the program that started the run following it.",
        ),
        Failure("client_error", "A client tool failed where the caller is; the run goes on.", "See its message."),
        Failure(
            "outcome_unknown",
            "The tool was cut off while it had an effect; whether it is out is not known.",
            "Look whether it is done before you ask again: it was not repeated.",
        ),
        Failure("agent_error", "The agent failed unexpectedly.", "See the service's log."),
    )
}
