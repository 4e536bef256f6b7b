"""Validation of values against an untrusted JSON Schema (draft 2020-12), in bounded work; nothing is fetched.

jsonschema-rs validates (docs/decisions/0032-schemas-in-bounded-work.md). It holds the interpreter's lock and can't be
stopped, so the work is weighed before (`weight`), and `patterns` searches for each `pattern`. Imported when needed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from agentsvc_nb.documents.schemas.patterns import SIZES, BadSchema, Matcher
from agentsvc_nb.documents.schemas.weight import ANY, Scales, Schema, TooMuchWork, subschemas
from agentsvc_nb.wire.text import label

if TYPE_CHECKING:
    import jsonschema_rs


__all__ = ["BadSchema", "Judge", "Misfit", "TooMuchWork", "said"]
Path = tuple[str | int, ...]
Format = Callable[[str], bool]
Formats = Mapping[str, Format | None]

WRITTEN_OUT_MAX: Final = 20_000
"""Steps of a schema by itself, each part of it applied once: a schema of 64 KB without references has fewer."""
STEPS_MAX: Final = 500_000
"""Steps of judging one value: they take half a second at most."""
CHOICE_MAX: Final = 10_000
"""Steps of a choice (`anyOf`) up to which a misfit is located: the validator makes an error for each of its parts, a
tenth of a millisecond each."""
MESSAGE_CHARS: Final = 200
_VALUE_CHARS: Final = 60
_PATH_CHARS: Final = 80
_VALUE: Final = "\x01"
"""Placeholder in the validator's messages for a value, which could be of any length."""
_ROOT: Final = "agentsvc:schema"
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_FORMATS: Final = (
    *("date", "date-time", "time", "duration", "email", "idn-email", "hostname", "idn-hostname", "ipv4", "ipv6"),
    *("uri", "uri-reference", "iri", "iri-reference", "uri-template", "json-pointer", "relative-json-pointer"),
    *("uuid", "regex"),
)
"""All formats that the validator knows."""


@dataclass(frozen=True, slots=True)
class Misfit:
    """Where a value does not fit its schema, and why. As text: `$.a[0]: "x" is not of type "integer"`."""

    path: Path
    message: str

    def __str__(self) -> str:
        return label(f"{_location(self.path)}: {self.message}", MESSAGE_CHARS)


class Judge:
    """Judges values by a schema. The schema may be recursive, as values are finite.

    Its methods raise `BadSchema` when the schema can't be used, and `TooMuchWork` when judging would take too long.

    Args:
        schema: of any dialect; it is read as draft 2020-12.
        formats: a check by the name of each `format` that is asserted (None: the validator's own check); other formats
            are annotations only, and all are without this argument.
        limit: the most steps that judging one value may take.

    Example: `Judge({"type": "object"}).misfit([])`
    """

    def __init__(
        self, schema: Schema, formats: Mapping[str, Format | None] | None = None, limit: int = STEPS_MAX
    ) -> None:
        # References are resolved from the root, so its own address has no meaning.
        self._root = {word: part for word, part in _encodable(schema).items() if word not in ("$schema", "$id")}
        self._formats = None if formats is None else _asserted(formats)
        self._limit, self._matcher = limit, Matcher()

    def check(self) -> None:
        """Raise `BadSchema` for faults of the schema that show without a value."""
        for part in subschemas(self._root):
            self._load(part)
        self._validator()

    def check_finite(self) -> None:
        """`check`; also raise `BadSchema` for a recursive schema, and `TooMuchWork` for one that is too large with its
        references written out."""
        weighing = Scales(self._root, self._matcher, WRITTEN_OUT_MAX).weigh(ANY)
        for part in weighing.parts:  # also parts that only a reference reaches
            self._load(part)
        self.check()

    def misfit(self, value: Any) -> Misfit | None:
        """The first place where the value does not fit, or None."""
        weighing = Scales(self._root, self._matcher, self._limit).weigh(value)
        self._matcher.begin()
        validator = self._validator()
        fits = validator.is_valid(value)
        error = _first_error(validator, value) if not fits and weighing.choice <= CHOICE_MAX else None
        self._look_at_patterns()
        if fits:
            return None
        if error is None:
            return Misfit((), "The value does not fit; there are too many alternatives to say where.")
        return Misfit(tuple(error.instance_path), said(error))

    def errors(self, value: Any, part: Schema | None = None) -> list[jsonschema_rs.ValidationError]:
        """All errors of the value by the schema, or by a part of it; `said` puts an error into words."""
        value, part = _encodable(value), _encodable(part)
        Scales(self._root, self._matcher, self._limit).weigh(value, part)
        self._matcher.begin()
        found = list(self._validator(part).iter_errors(value))
        self._look_at_patterns()
        return found

    def _load(self, part: Schema) -> None:
        if isinstance(pattern := part.get("pattern"), str):
            self._matcher.load(pattern)
        for name in part["patternProperties"] if isinstance(part.get("patternProperties"), Mapping) else ():
            if self._matcher.load(name).backtracks:
                raise BadSchema(f"must not look around or back in the names of patternProperties: {label(name, 80)!r}")

    def _look_at_patterns(self) -> None:
        """Raise `TooMuchWork` if a search was given up, as its pattern may have counted as found or as not found."""
        if self._matcher.exhausted:
            raise TooMuchWork(self._matcher.exhausted)

    def _validator(self, part: Schema | None = None) -> jsonschema_rs.Draft202012Validator:
        import jsonschema_rs as rs

        schema: dict[str, Any] = self._root
        registry = None
        try:
            if part is not None:
                schema, registry = self._beside(part)
            return rs.Draft202012Validator(
                schema,
                registry=registry,
                formats=self._formats,
                validate_formats=self._formats is not None,
                keywords={"pattern": _keyword(self._matcher)},
                pattern_options=rs.RegexOptions(size_limit=SIZES[-1]),
                mask=_VALUE,
                offline=True,
            )
        except rs.ValidationError as error:
            if isinstance(error.kind, rs.ValidationErrorKind.Referencing):
                raise BadSchema(
                    f"has a reference that is remote or leads nowhere: {label(error.message, 100)}"
                ) from None
            why = str(Misfit(tuple(error.instance_path), said(error)))
            raise BadSchema(f"is not a valid JSON Schema: {why}") from None
        except ValueError as error:  # nested too deeply, too large a number, ...
            raise BadSchema(f"is not a valid JSON Schema: {label(error, 100)}") from None

    def _beside(self, part: Schema) -> tuple[dict[str, Any], jsonschema_rs.Registry]:
        """A schema that refers to this part, and the registry in which the part's references lead into the whole."""
        import jsonschema_rs as rs

        kept = self._root.get("$defs")
        kept = kept if isinstance(kept, Mapping) else {}
        name = "part"
        while name in kept:
            name += "_"
        whole = {**self._root, "$defs": {**kept, name: part}}
        return {"$ref": f"{_ROOT}#/$defs/{name}"}, rs.Registry([(_ROOT, whole)], draft=rs.Draft202012)


def said(error: jsonschema_rs.ValidationError) -> str:
    """An error in the validator's words, with a short form of the value."""
    import jsonschema_rs as rs

    if isinstance(error.kind, rs.ValidationErrorKind.FalseSchema):
        return "nothing is allowed here"
    message = error.message
    return message.replace(_VALUE, _shown(error.instance)) if _VALUE in message else message


def _first_error(validator: jsonschema_rs.Draft202012Validator, value: Any) -> jsonschema_rs.ValidationError | None:
    import jsonschema_rs as rs

    try:
        validator.validate(value)
    except rs.ValidationError as error:
        return error
    return None


def _keyword(matcher: Matcher) -> type:
    """The class that checks `pattern` with the matcher, in place of the validator's own check."""

    class Pattern:
        def __init__(self, schema: Schema, pattern: Any, path: list[str | int]) -> None:
            self._pattern = pattern

        def validate(self, value: object) -> None:
            if isinstance(value, str) and not matcher.found(self._pattern, value):
                raise ValueError(f"{_shown(value)} does not match {label(self._pattern, _VALUE_CHARS)}")

    return Pattern


def _shown(value: object) -> str:
    if isinstance(value, str):
        value = value[:_VALUE_CHARS] + "…" if len(value) > _VALUE_CHARS else value
    elif isinstance(value, (list, Mapping)) and value:
        return "[…]" if isinstance(value, list) else "{…}"
    return label(json.dumps(value, ensure_ascii=False, default=str), _VALUE_CHARS + 3)


def _location(path: Path) -> str:
    said = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return label(f"${said}", _PATH_CHARS)


def _encodable(value: Any) -> Any:
    """The same JSON without lone surrogates, which the validator does not accept."""
    try:
        text = json.dumps(value, ensure_ascii=False)
        text.encode()
    except UnicodeEncodeError:
        return json.loads(_SURROGATE.sub("\ufffd", text))
    except RecursionError:
        raise BadSchema("is nested too deeply") from None
    return value


def _asserted(formats: Formats) -> dict[str, Format]:
    """The functions that the validator calls. It asserts every format that it knows unless it gets a function for it,
    so formats that are only annotations get one that accepts anything."""
    notes: dict[str, Format] = {name: lambda _: True for name in _FORMATS if name not in formats}
    return notes | {name: function for name, function in formats.items() if function is not None}
