"""Validate values against untrusted JSON Schemas (draft 2020-12) in a child process with a deadline.

jsonschema-rs holds the interpreter's lock while it validates, and even a small schema can take any amount of time:
thirty definitions with two references each are a billion steps. So the service and the kernel never validate with an
untrusted schema in their own process, and the child has a deadline and a memory limit. This module also runs in the
child. Questions to the child and its answers are JSON. Nothing is fetched from the network.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import datetime
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from agentsvc_nb.documents.child_process import ChildPool, Limits, NoAnswer, NoChild, answer_questions
from agentsvc_nb.documents.json_reading import read
from agentsvc_nb.wire.limits import OUTPUT_CONFIG_BYTES
from agentsvc_nb.wire.text import label

if TYPE_CHECKING:
    import jsonschema_rs

Schema = Mapping[str, Any]
Path = tuple[str | int, ...]

LIMITS: Final = Limits(memory_bytes=2**30, file_bytes=0)
CHECK_SECONDS: Final = 5.0
QUEUE_SECONDS: Final = 5.0
"""The maximum time that a new run's schema waits for other checks. After that, the service refuses the run."""
FORM_SECONDS: Final = 1.0
"""The time limit for checking a form's value, because the kernel is blocked meanwhile."""
MESSAGE_CHARS: Final = 200
_ANSWER_BYTES: Final = 2_000_000
_ERRORS_MAX: Final = 1_000


class BadSchema(ValueError):
    """The schema can't be used. The message follows the schema's name in a sentence: "must not be recursive"."""


@dataclass(frozen=True, slots=True)
class SchemaError:
    """Says where and why a value does not fit its schema. As text: `$.a[0]: "x" is not of type "integer"`.

    Attributes:
        keyword: the schema keyword that the value violates, such as `required`.
        missing: the name of the missing property, if `keyword` is `required`.
        is_blank: True if the value is an empty text, or consists of blanks and does not match a `pattern`.
        alternatives: the errors of each alternative of `anyOf` or `oneOf`.
    """

    path: Path
    message: str
    keyword: str
    missing: str | None = None
    is_blank: bool = False
    alternatives: list[list[SchemaError]] = field(default_factory=list)

    def __str__(self) -> str:
        place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in self.path)
        return label(f"{label(f'${place}', 80)}: {self.message}", MESSAGE_CHARS)


class SchemaValidator:
    """Checks schemas and answers in child processes. Use it in one event loop, and call `close` at the end."""

    def __init__(self) -> None:
        self._pool = ChildPool(__name__, LIMITS)
        # Check one answer at a time, so that a child stays free for the schema of a new run.
        self._answers = asyncio.Semaphore(1)

    def close(self) -> None:
        self._pool.close()

    async def check_output_config(self, config: object) -> str | None:
        """Return a sentence that says why a run can't have this `output_config` (a JSON Schema), or None if it can.

        Raises `NoChild` if the service is too busy to check `config`.
        """
        if not isinstance(config, dict):
            return "output_config must be a JSON Schema object."
        if len(json.dumps(config)) > OUTPUT_CONFIG_BYTES:
            return "output_config is larger than 64 KiB."
        if config.get("type") != "object":
            return 'output_config must have "type": "object" at its root.'
        try:
            async with asyncio.timeout(QUEUE_SECONDS + CHECK_SECONDS):
                why = await self._ask({"fault": config})
            return None if why is None else f"output_config {why}."
        except NoChild:
            raise
        except TimeoutError:
            raise NoChild("the service was busy with other checks") from None
        except NoAnswer:
            return "output_config takes too long or needs too much memory to check. Make it and its patterns simpler."

    async def check_answer(self, text: str, config: Schema) -> str | None:
        """Return None if the answer `text` fits the schema `config`.

        Otherwise, return a sentence that says why it does not fit, or why that could not be checked.
        """
        try:
            async with self._answers:
                return await self._ask({"misfit": {"text": text, "config": config}})
        except NoChild:
            return "The service could not check the answer against its schema, because it could not start a process."
        except NoAnswer:
            return "The answer cannot be checked against its schema: the check takes too long or needs too much memory."

    async def _ask(self, question: Mapping[str, object]) -> str | None:
        answer: str | None = json.loads(
            await self._pool.ask(json.dumps(question).encode(), CHECK_SECONDS, _ANSWER_BYTES)
        )
        return answer


_forms: Final = ChildPool(__name__, LIMITS, count=1)
atexit.register(_forms.close)


def form_errors(schema: Schema, value: object) -> list[SchemaError]:
    """Return the errors in a form's value. Block at most `FORM_SECONDS`.

    Raises `BadSchema` if the schema is not valid, or if the check takes too long or cannot start.
    """
    question = json.dumps({"errors": {"schema": schema, "value": value}}, ensure_ascii=False)
    try:
        # Lone surrogates are not valid JSON, so replace them by question marks.
        answer = json.loads(_forms.ask_now(question.encode("utf-8", "replace"), FORM_SECONDS, _ANSWER_BYTES))
    except NoChild:
        raise BadSchema("cannot be checked, because the service could not start a process") from None
    except NoAnswer:
        raise BadSchema("takes too long or needs too much memory to check") from None
    if isinstance(answer, str):
        raise BadSchema(answer)
    return [_restore(error) for error in answer]


def _restore(error: dict[str, Any]) -> SchemaError:
    alternatives = [[_restore(one) for one in errors] for errors in error.pop("alternatives")]
    return SchemaError(tuple(error.pop("path")), alternatives=alternatives, **error)


def describe_misfit(text: str, config: Schema) -> str | None:
    """Return a sentence that says why `text` is not JSON or does not fit the schema `config`, or None if it fits.

    This runs in the current process. Call it only with trusted schemas, because others may take forever.
    """
    try:
        value = read(text)
    except ValueError as error:
        return f"The answer is not JSON: {error}."
    try:
        validator = _validator(config)
    except BadSchema as error:
        return f"The answer cannot be checked against its schema, which {error}."
    return None if validator.is_valid(value) else str(_describe(next(validator.iter_errors(value))))


# The code below runs in the child.

_MASK: Final = "\x01"
"""The placeholder for the value in the validator's messages, because the value itself may have any length."""
_ROOT: Final = "agentsvc:schema"
_BACKTRACKS_MAX: Final = 2**40
"""The maximum number of backtracks of a pattern. It is so high that the deadline comes first, because the validator
treats a search that reaches this maximum as "not found"."""
_NOT_SCHEMAS: Final = ("const", "enum", "default", "examples")
_FORMATS: Final = (
    *("date", "date-time", "time", "duration", "email", "idn-email", "hostname", "idn-hostname", "ipv4", "ipv6"),
    *("uri", "uri-reference", "iri", "iri-reference", "uri-template", "json-pointer", "relative-json-pointer"),
    *("uuid", "regex"),
)
"""The values of `format` that the validator knows."""
_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S+")


def _answer(question: bytearray) -> bytes:
    asked = json.loads(question)
    if "misfit" in asked:
        return json.dumps(describe_misfit(**asked["misfit"])).encode()
    try:
        if "errors" in asked:
            return json.dumps(_errors(**asked["errors"])).encode()
        _check_references(asked["fault"])
        _validator(asked["fault"]).is_valid({})  # takes too long if references at the root multiply
    except BadSchema as error:
        return json.dumps(str(error)).encode()
    return json.dumps(None).encode()


def _errors(schema: Schema, value: object) -> list[dict[str, Any]]:
    validator = _validator(schema, _form_formats())
    return [asdict(_describe(error)) for error in islice(validator.iter_errors(value), _ERRORS_MAX)]


def _validator(
    schema: Schema, formats: dict[str, Callable[[str], bool]] | None = None
) -> jsonschema_rs.Draft202012Validator:
    """Return a validator for a schema. It checks the keyword `format` only if `formats` is given."""
    import jsonschema_rs as rs

    # Remove the schema's own address, because references are resolved from its root.
    root = {word: value for word, value in schema.items() if word not in ("$schema", "$id")}
    try:
        return rs.Draft202012Validator(
            root,
            formats=formats,
            validate_formats=formats is not None,
            pattern_options=rs.FancyRegexOptions(backtrack_limit=_BACKTRACKS_MAX),
            mask=_MASK,
            offline=True,
        )
    except rs.ValidationError as error:
        if isinstance(error.kind, rs.ValidationErrorKind.Referencing):
            raise BadSchema(f"has a reference that is remote or has no target: {label(error.message, 100)}") from None
        raise BadSchema(f"is not a valid JSON Schema: {_describe(error)}") from None
    except ValueError as error:  # raised for a number that is too large, for example
        raise BadSchema(f"is not a valid JSON Schema: {label(error, 100)}") from None


def _check_references(schema: Schema) -> None:
    """Raise `BadSchema` if the schema has recursive or dynamic references (docs/api/runs.md "Structured output")."""
    import jsonschema_rs as rs

    try:
        resolver = rs.Registry([(_ROOT, dict(schema))], draft=rs.Draft202012).resolver(_ROOT)
    except (rs.ReferencingError, ValueError):  # it is not a schema: `_validator` reports that
        return
    followed, done = set[str](), set[str]()

    def walk(part: object) -> None:
        if isinstance(part, list):
            for item in part:
                walk(item)
        elif isinstance(part, dict):
            if "$dynamicRef" in part or "$recursiveRef" in part:
                raise BadSchema("must not use dynamic references")
            follow(part.get("$ref"))
            for word, item in part.items():
                if word not in _NOT_SCHEMAS:
                    walk(item)

    def follow(reference: object) -> None:
        if not isinstance(reference, str) or reference in done:
            return
        if reference in followed:
            raise BadSchema("must not be recursive")
        followed.add(reference)
        with contextlib.suppress(rs.ReferencingError):  # `_validator` reports it
            walk(resolver.lookup(reference).contents)
        followed.remove(reference)
        done.add(reference)

    walk(schema)


def _describe(error: jsonschema_rs.ValidationError) -> SchemaError:
    import jsonschema_rs as rs

    kind, value = error.kind, error.instance
    message = error.message.replace(_MASK, _show(value))
    if isinstance(kind, rs.ValidationErrorKind.FalseSchema):
        message = "no value is allowed here"
    return SchemaError(
        tuple(error.instance_path),
        label(message, 2 * MESSAGE_CHARS),
        kind.name,
        kind.property if isinstance(kind, rs.ValidationErrorKind.Required) else None,
        value == "" or (isinstance(value, str) and not value.strip() and kind.name == "pattern"),
        [[_describe(one) for one in errors] for errors in kind.context]
        if isinstance(kind, (rs.ValidationErrorKind.AnyOf, rs.ValidationErrorKind.OneOfNotValid))
        else [],
    )


def _show(value: object) -> str:
    if isinstance(value, str):
        value = value[:60] + "…" if len(value) > 60 else value
    elif isinstance(value, (list, dict)) and value:
        return "[…]" if isinstance(value, list) else "{…}"
    return label(json.dumps(value, ensure_ascii=False), 63)


def _form_formats() -> dict[str, Callable[[str], bool]]:
    """Return functions that replace the validator's own checks of `format` in forms, by format.

    For addresses and times, the functions accept more values than the validator, because our tools do so, too. For
    formats that forms ignore, they accept every value.
    """
    ignored: dict[str, Callable[[str], bool]] = {
        name: lambda _: True for name in _FORMATS if name not in ("date", "ipv4", "ipv6", "regex", "uuid")
    }
    return ignored | {
        "email": lambda value: "@" in value,
        "uri": lambda value: bool(_URI.fullmatch(value)),
        "date-time": _is_moment,
    }


def _is_moment(value: str) -> bool:
    try:
        return datetime.datetime.fromisoformat(value).tzinfo is not None
    except ValueError:
        return False


if __name__ == "__main__":
    answer_questions(_answer)
