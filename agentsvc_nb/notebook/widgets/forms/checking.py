"""What is wrong with a value, by jsonschema, field by field; nothing is fetched that a schema refers to.

jsonschema is imported when it is needed (docs/decisions/0005-lazy-jsonschema.md).
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from agentsvc_nb.notebook.tools.schemas import Schema
from agentsvc_nb.notebook.widgets.forms.bounded import Judge
from agentsvc_nb.safe.text import label

if TYPE_CHECKING:
    import jsonschema

Path = tuple[str | int, ...]
MESSAGES_MAX: Final = 50
MESSAGE_CHARS: Final = 300
_ADDRESS: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S+")


@dataclass(frozen=True, slots=True)
class Chosen:
    """An alternative that was chosen: its place among them, its schema, and what was given."""

    number: int
    schema: Schema
    value: Any


class Checker:
    """Judges values by a schema. `fault` says why it can't, when it can't: then the service alone judges.

    Example: `Checker(tool.input_schema).messages({"count": 0}, {})`
    """

    def __init__(self, schema: Schema) -> None:
        import jsonschema

        self.fault = ""
        self._usable = True
        try:
            jsonschema.Draft202012Validator.check_schema(schema)
        except Exception as error:  # a schema is foreign: too deep, not a schema, a pattern that is none, ...
            self._usable = False
            self.fault = f"This tool's schema is not valid ({_reason(error)}): only the service can check the input."
        self._judge = Judge(schema, _formats())

    def messages(self, value: Any, chosen: Mapping[Path, Chosen]) -> dict[Path, str]:
        """What is wrong, by the path of the field; the first of each.

        `chosen` says which alternative was chosen where: that one alone is judged, though another may fit.
        """
        found: dict[Path, str] = {}
        if not self._usable:
            return found
        try:
            for error in self._judge.errors(value):
                for path, said in _told(error, chosen):
                    found.setdefault(path, said)
                if len(found) >= MESSAGES_MAX:
                    break
            for path, one in chosen.items():
                for error in self._judge.errors(one.value, one.schema):
                    for inner, said in _told(error, {}):
                        found.setdefault((*path, *inner), said)
        except Exception as error:  # as above: references that lead nowhere, patterns of another language, ...
            self.fault = f"The input can't be checked here ({_reason(error)}): only the service can."
        return found

    def fits(self, part: Schema, value: Any) -> bool:
        """Whether a value is right by a part of the schema."""
        try:
            return next(self._judge.errors(value, part), None) is None
        except Exception:  # as above
            return False


def _told(error: jsonschema.ValidationError, chosen: Mapping[Path, Chosen]) -> Iterator[tuple[Path, str]]:
    path = tuple(error.absolute_path)
    if error.validator in ("anyOf", "oneOf") and path in chosen:
        within = [one for one in error.context or () if one.relative_schema_path[0] == chosen[path].number]
        for one in within:
            yield from _told(one, chosen)
        if within:
            return
    if error.validator == "required":
        required, given = cast(list[str], error.validator_value), cast(dict[str, Any], error.instance)
        missing = [name for name in required if name not in given]
        yield from (((*path, name), "This is required.") for name in missing)
    else:
        yield path, _worded(error)


def _worded(error: jsonschema.ValidationError) -> str:
    if error.instance == "" or error.validator_value == r"\S":
        return "This must not be empty."
    if error.validator in ("anyOf", "oneOf"):
        return "This fits none of what it may be, or several where it must be one."
    return label(error.message, MESSAGE_CHARS)


def _reason(error: Exception) -> str:
    return label(getattr(error, "message", "") or type(error).__name__, 100)


def _formats() -> jsonschema.FormatChecker:
    """Of the formats of JSON Schema those that need no further package."""
    import jsonschema

    checker = jsonschema.FormatChecker(["date", "email", "ipv4", "ipv6", "regex", "uuid"])
    checker.checks("uri")(lambda value: not isinstance(value, str) or bool(_ADDRESS.fullmatch(value)))
    checker.checks("date-time", ValueError)(_is_moment)
    return checker


def _is_moment(value: object) -> bool:
    return not isinstance(value, str) or datetime.datetime.fromisoformat(value).tzinfo is not None
