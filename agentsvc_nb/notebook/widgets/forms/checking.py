"""Validation of a form's value, field by field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from agentsvc_nb.documents.schemas import Path, SchemaError, form_errors
from agentsvc_nb.notebook.jobs.fields import Schema
from agentsvc_nb.wire.text import label

MESSAGES_MAX: Final = 50
MESSAGE_CHARS: Final = 300


@dataclass(frozen=True, slots=True)
class ChosenAlternative:
    """A chosen alternative of `anyOf` or `oneOf`: its index, its schema, and the value given."""

    number: int
    schema: Schema
    value: Any


class Checker:
    """Validates values against a schema, in a child process. If it cannot, `fault` says why, and only the service
    validates.

    Example: `Checker(tool.input_schema).messages({"count": 0}, {})`
    """

    def __init__(self, schema: Schema) -> None:
        self.fault = ""
        self._schema = schema
        try:
            form_errors(schema, {})
        except Exception as error:  # the schema of somebody else may be invalid or no JSON at all
            self.fault = f"This tool's input can't be checked here (the schema {_reason(error)}): only the service can."

    def messages(self, value: Any, chosen: Mapping[Path, ChosenAlternative]) -> dict[Path, str]:
        """Return the first error of each invalid field, by its path; at most about `MESSAGES_MAX`.

        `chosen` has the chosen alternatives by path: only those are validated, even if another would fit.
        """
        found: dict[Path, str] = {}
        if self.fault:
            return found
        try:
            for error in form_errors(self._schema, value):
                for path, why in _field_errors(error, chosen):
                    found.setdefault(path, why)
                if len(found) >= MESSAGES_MAX:
                    break
            for path, one in chosen.items():
                for error in form_errors(self._schema, one.value, one.schema):
                    for inner, why in _field_errors(error, {}):
                        found.setdefault((*path, *inner), why)
        except Exception as error:  # too long a check, numbers that are too long, ...
            self.fault = f"The input can't be checked here (the schema {_reason(error)}): only the service can."
        return found

    def fits(self, part: Schema, value: Any) -> bool:
        """Return True if a value is valid against a part of the schema; False also if that cannot be checked."""
        try:
            return not self.fault and not form_errors(self._schema, value, part)
        except Exception as error:  # as in `messages`
            self.fault = f"The input can't be checked here (the schema {_reason(error)}): only the service can."
            return False


def _field_errors(error: SchemaError, chosen: Mapping[Path, ChosenAlternative]) -> Iterator[tuple[Path, str]]:
    number = chosen[error.path].number if error.path in chosen else len(error.alternatives)
    if number < len(error.alternatives) and error.alternatives[number]:
        for one in error.alternatives[number]:
            yield from _field_errors(one, chosen)
    elif error.missing is not None:
        yield (*error.path, error.missing), "This is required."
    elif error.is_blank:
        yield error.path, "This must not be empty."
    elif error.keyword in ("anyOf", "oneOf"):
        yield error.path, "This fits none of what it may be, or several where it must be one."
    else:
        yield error.path, label(error.message, MESSAGE_CHARS)


def _reason(error: Exception) -> str:
    return label(str(error) or type(error).__name__, 100)
