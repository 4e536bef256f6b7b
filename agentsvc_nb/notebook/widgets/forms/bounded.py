"""jsonschema's validator in bounded time: a schema is foreign, and what is judged here holds up the kernel.

Patterns are searched for by pydantic's engine, which does not backtrack; our own tools judge by the same. Python's `re`
may look for `(a+)+$` for ever, and nothing interrupts it. What pydantic's does not know is left to the service.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Final

from agentsvc_nb.notebook.tools.schemas import Schema

if TYPE_CHECKING:
    import jsonschema
    from pydantic import TypeAdapter

STEPS_MAX: Final = 20_000
"""In one judgement: thirty definitions, each naming the next one twice, would make a thousand million."""
_ENTRIES_A_STEP: Final = 50
"""Of a long list in a schema: so many names are looked through in the time of a step."""
_DIALECT: Final = "$schema"
"""In any part it would have jsonschema go on with a validator of its own."""
_BY_PATTERN: Final = "patternProperties"


class Unjudged(Exception):
    """Why the value can't be judged here."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class Judge:
    """Judges values by a schema and by its parts. Its methods raise `Unjudged`, and what jsonschema does."""

    def __init__(self, schema: Schema, formats: jsonschema.FormatChecker) -> None:
        from referencing import Registry

        registry: Any = Registry()  # without it, addresses in a schema would be asked
        self._left = STEPS_MAX
        kind = _kind(self._step, within=_holds(schema, _BY_PATTERN))
        self._validator = kind(_plain(schema), registry=registry, format_checker=formats)

    def errors(self, value: Any, part: Schema | None = None) -> Iterator[jsonschema.ValidationError]:
        """What is wrong with a value, by the schema or a part of it."""
        self._left = STEPS_MAX
        judge = self._validator if part is None else self._validator.evolve(schema=part)
        yield from judge.iter_errors(value)

    def _step(self, count: int = 1) -> None:
        self._left -= count
        if self._left < 0:
            raise Unjudged("that takes too many steps")


def _kind(step: Callable[..., None], *, within: bool) -> Any:
    """A class of validators; `within` the schema there are properties by pattern."""
    import jsonschema

    usual = jsonschema.Draft202012Validator.VALIDATORS

    def pattern(judge: Any, pattern: str, value: Any, _: Schema) -> Iterator[Any]:
        if isinstance(value, str) and not _found(pattern, value):
            yield jsonschema.ValidationError(f"{value!r} does not match {pattern!r}")

    def by_pattern(judge: Any, parts: Mapping[str, Any], value: Any, _: Schema) -> Iterator[Any]:
        for pattern, part in parts.items() if isinstance(value, dict) else ():
            for name in value:
                if _found(pattern, name):
                    yield from judge.descend(value[name], part, path=name, schema_path=pattern)

    def additional(judge: Any, part: Any, value: Any, schema: Schema) -> Iterator[Any]:
        if isinstance(value, dict):
            patterns = schema.get(_BY_PATTERN, {})
            value = {name: one for name, one in value.items() if not any(_found(found, name) for found in patterns)}
            schema = {name: one for name, one in schema.items() if name != _BY_PATTERN}
        yield from usual["additionalProperties"](judge, part, value, schema) or ()

    def unevaluated(judge: Any, part: Any, value: Any, schema: Schema) -> Iterator[Any]:
        if within:
            raise Unjudged("unevaluatedProperties beside properties by pattern")
        yield from usual["unevaluatedProperties"](judge, part, value, schema) or ()

    own = {"pattern": pattern, _BY_PATTERN: by_pattern}
    own |= {"additionalProperties": additional, "unevaluatedProperties": unevaluated}
    extend: Any = jsonschema.validators.extend
    kind = extend(jsonschema.Draft202012Validator, own)
    evolve, descend = kind.evolve, kind.descend

    def evolved(judge: Any, **changes: Any) -> Any:
        part = _plain(changes["schema"])
        step(1 + _entries(part) // _ENTRIES_A_STEP)
        return evolve(judge, **{**changes, "schema": part})

    def descended(*args: Any, **more: Any) -> Iterator[Any]:
        for error in descend(*args, **more):
            step()  # each is handed up through every part it lies in
            yield error

    kind.evolve, kind.descend = evolved, descended
    return kind


def _entries(part: Any) -> int:
    if not isinstance(part, Mapping):
        return 0
    return sum(len(one) for one in part.values() if isinstance(one, (list, Mapping)))


def _plain(schema: Any) -> Any:
    if not isinstance(schema, Mapping) or _DIALECT not in schema:
        return schema
    return {name: part for name, part in schema.items() if name != _DIALECT}


def _holds(schema: object, word: str) -> bool:
    pending = [schema]
    while pending:
        part = pending.pop()
        if isinstance(part, Mapping):
            if word in part:
                return True
            pending.extend(part.values())
        elif isinstance(part, list):
            pending.extend(part)
    return False


def _found(pattern: str, text: str) -> bool:
    from pydantic import ValidationError

    try:
        _expression(pattern).validate_python(text)
    except ValidationError:
        return False
    return True


@lru_cache(maxsize=1_000)
def _expression(pattern: str) -> TypeAdapter[str]:
    from pydantic import StringConstraints, TypeAdapter
    from pydantic_core import SchemaError

    try:
        return TypeAdapter(Annotated[str, StringConstraints(pattern=pattern)])
    except SchemaError:  # what looks around or back, or is too large
        raise Unjudged("a pattern that only the service understands") from None
