"""Validation of a form's value, field by field, in bounded time; references of a schema are never fetched."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from agentsvc_nb.documents.schemas.checking import Judge, said
from agentsvc_nb.notebook.jobs.fields import Schema
from agentsvc_nb.wire.text import label

if TYPE_CHECKING:
    import jsonschema_rs


Path = tuple[str | int, ...]
MESSAGES_MAX: Final = 50
MESSAGE_CHARS: Final = 300
STEPS_MAX: Final = 10_000
"""The limit of validation steps, which block the kernel: about a second at worst."""
_ADDRESS: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S+")


@dataclass(frozen=True, slots=True)
class ChosenAlternative:
    """A chosen alternative of `anyOf` or `oneOf`: its index, its schema, and the value given."""

    number: int
    schema: Schema
    value: Any


class Checker:
    """Validates values against a schema. If it cannot, `fault` says why, and only the service validates.

    Example: `Checker(tool.input_schema).messages({"count": 0}, {})`
    """

    def __init__(self, schema: Schema) -> None:
        self.fault = ""
        self._judge: Judge | None = None
        try:
            judge = Judge(schema, _FORMATS, STEPS_MAX)
            judge.check()
            self._judge = judge
        except Exception as error:  # a schema of others may be too deep, invalid, have a broken pattern, ...
            why = f"the schema {_reason(error)}"
            self.fault = f"This tool's input can't be checked here ({why}): only the service can check it."

    def messages(self, value: Any, chosen: Mapping[Path, ChosenAlternative]) -> dict[Path, str]:
        """Return the first error of each invalid field, by its path; at most about `MESSAGES_MAX`.

        `chosen` has the chosen alternatives by path: only those are validated, even if another would fit.
        """
        found: dict[Path, str] = {}
        if self._judge is None:
            return found
        try:
            for error in self._judge.errors(value):
                for path, why in _field_errors(error, chosen):
                    found.setdefault(path, why)
                if len(found) >= MESSAGES_MAX:
                    break
            for path, one in chosen.items():
                for error in self._judge.errors(one.value, one.schema):
                    for inner, why in _field_errors(error, {}):
                        found.setdefault((*path, *inner), why)
        except Exception as error:  # too much work, numbers that are too long, ...
            self.fault = f"The input can't be checked here (the schema {_reason(error)}): only the service can."
        return found

    def fits(self, part: Schema, value: Any) -> bool:
        """Whether a value is valid against a part of the schema; False if that cannot be checked."""
        try:
            return self._judge is not None and not self._judge.errors(value, part)
        except Exception:  # as in `messages`
            return False


def _field_errors(
    error: jsonschema_rs.ValidationError, chosen: Mapping[Path, ChosenAlternative]
) -> Iterator[tuple[Path, str]]:
    import jsonschema_rs as rs

    path, kind = tuple(error.instance_path), error.kind
    if isinstance(kind, (rs.ValidationErrorKind.AnyOf, rs.ValidationErrorKind.OneOfNotValid)) and path in chosen:
        within = kind.context[chosen[path].number] if chosen[path].number < len(kind.context) else []
        for one in within:
            yield from _field_errors(one, chosen)
        if within:
            return
    if isinstance(kind, rs.ValidationErrorKind.Required):
        yield (*path, kind.property), "This is required."
    else:
        yield path, _error_text(error)


def _error_text(error: jsonschema_rs.ValidationError) -> str:
    given = error.instance
    if given == "" or (isinstance(given, str) and not given.strip() and error.kind.name == "pattern"):
        return "This must not be empty."
    if error.kind.name in ("anyOf", "oneOf"):
        return "This fits none of what it may be, or several where it must be one."
    return label(said(error), MESSAGE_CHARS)


def _reason(error: Exception) -> str:
    return label(str(error) or type(error).__name__, 100)


def _is_moment(value: str) -> bool:
    try:
        return datetime.datetime.fromisoformat(value).tzinfo is not None
    except ValueError:
        return False


_FORMATS: Final = {
    **dict.fromkeys(("date", "ipv4", "ipv6", "regex", "uuid")),
    "email": lambda value: "@" in value,
    "uri": lambda value: bool(_ADDRESS.fullmatch(value)),
    "date-time": _is_moment,
}
"""The checks of formats. None is the validator's own; the others replace checks that refuse values our tools take."""
