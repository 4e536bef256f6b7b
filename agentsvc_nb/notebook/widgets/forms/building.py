"""The choice of the input for each field of a schema."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from agentsvc_nb.notebook.tools.fields import MISSING, Field, Kind, same
from agentsvc_nb.notebook.widgets.forms.checking import Checker
from agentsvc_nb.notebook.widgets.forms.groups import ChoicesInput, OptionalInput, VariantsInput
from agentsvc_nb.notebook.widgets.forms.inputs import (
    CheckboxInput,
    ChoiceInput,
    FixedInput,
    JsonInput,
    Node,
    NumberInput,
    TextInput,
)
from agentsvc_nb.notebook.widgets.forms.lists import ITEMS_MAX, ArrayInput, ObjectInput
from agentsvc_nb.wire.text import plain

DEEPEST: Final = 8
FIELDS_MAX: Final = 300
"""Limits of nesting and of the number of fields; beyond them, a field is filled in as JSON."""
_BOXED: Final[frozenset[Kind]] = frozenset({"object", "variants", "const", "nothing"})
"""Kinds whose input cannot be left empty. If such a field is optional, it gets a checkbox."""
_YES_NO: Final = (("yes", True), ("no", False))


class Builder:
    """Creates the inputs of one form. `changed` is called after each change; `known` are paths of files to suggest."""

    def __init__(self, checker: Checker, changed: Callable[[], None], known: Sequence[str] = ()) -> None:
        self.checker = checker
        self.changed = changed
        self.known = known
        self._depth = self._made = 0

    def within(self, of: Field, start: Any) -> Node:
        """Create the input of a nested field, with this value or (MISSING) the field's default."""
        start = of.default if start is MISSING else start
        self._made = 0 if not self._depth else self._made + 1
        self._depth += 1
        try:
            if self._depth > DEEPEST or self._is_too_much(of) or not self._can_show(of, start):
                return JsonInput(of, start, self.changed)
            return self._optional(of, start) or self._plain(of, start)
        finally:
            self._depth -= 1

    def root(self, of: Field, start: Any) -> Node:
        """Create the outermost input: an object without a title, or JSON."""
        self._made = 0
        if of.kind != "object" or self._is_too_much(of) or not self._can_show(of, start):
            return JsonInput(of, start, self.changed)
        self._depth = 1
        try:
            return ObjectInput(of, start, self, titled=False)
        finally:
            self._depth = 0

    def variant_of(self, variants: Sequence[Field], value: Any) -> int:
        """Return the index of the first variant that validates the value, else that can hold it, else -1."""
        # Nested alternatives are examined only when their input is created, because they may be recursive.
        holding = [at for at, one in enumerate(variants) if one.kind == "variants" or self._can_show(one, value)]
        fitting = [number for number in holding if self.checker.fits(variants[number].schema, value)]
        return next(iter(fitting or holding), -1)

    def _is_too_much(self, of: Field) -> bool:
        return self._made + len(of.schema.get("properties") or ()) > FIELDS_MAX

    def _optional(self, of: Field, start: Any) -> Node | None:
        depth = self._depth

        def made(inner: Field, value: Any) -> Callable[[], Node]:
            def make() -> Node:
                before = self._depth
                self._depth = depth - 1  # made later, at the depth of this field
                try:
                    return self.within(inner, value)
                finally:
                    self._depth = before

            return make

        if not of.required and start is MISSING and of.kind in _BOXED and not _only_rows(of):
            inside = replace(of, required=True, name="" if of.kind == "object" else of.name)
            return OptionalInput(of, MISSING, False, made(inside, MISSING), self)
        if (inner := of.nullable) is not None:
            off, given = start in (MISSING, None), start
            if off:
                given = "" if inner.kind == "text" and inner.default is MISSING else MISSING
            return OptionalInput(of, None, not off, made(inner, given), self)
        return None

    def _plain(self, of: Field, start: Any) -> Node:
        match of.kind:
            case "text" | "file":
                start = "" if start is MISSING and not of.name else start  # an item cannot be left out, only removed
                return TextInput(of, start, self.changed, self.known)
            case "number" | "integer":
                return NumberInput(of, start, self.changed)
            case "flag" if not of.required and start is MISSING:
                return ChoiceInput(of, start, self.changed, _YES_NO)
            case "flag":
                return CheckboxInput(of, start, self.changed)
            case "choice":
                return ChoiceInput(of, start, self.changed)
            case "const" | "nothing":
                return FixedInput(of, start, self.changed)
            case "choices":
                return ChoicesInput(of, start, self)
            case "object":
                return ObjectInput(of, start, self)
            case "array":
                return ArrayInput(of, start, self)
            case "variants":
                return VariantsInput(of, start, self)
        return JsonInput(of, start, self.changed)

    def _can_show(self, of: Field, start: Any) -> bool:
        """Whether the input for this field's kind can hold this value unchanged."""
        if start is MISSING:
            return True
        match of.kind:
            case "text" | "file":
                return isinstance(start, str) and plain(start) == start
            case "number" | "integer":
                return isinstance(start, int | float) and not isinstance(start, bool) and math.isfinite(start)
            case "flag":
                return isinstance(start, bool)
            case "nothing":
                return start is None
            case "const":
                return same(start, of.schema["const"])
            case "choice":
                return any(same(start, value) for _, value in of.options)
            case "choices":
                return isinstance(start, list) and _is_choice(of, start)
            case "object":
                return isinstance(start, dict) and _has_place(of, start)
            case "array":
                return isinstance(start, list) and len(start) <= ITEMS_MAX
            case "variants":
                return self.variant_of(of.variants(), start) >= 0
        return True


def _only_rows(of: Field) -> bool:
    """Whether an object has no named properties, only rows of keys and values: without rows it is left out."""
    return of.kind == "object" and next(of.properties(), None) is None


def _is_choice(of: Field, start: list[Any]) -> bool:
    """Whether the list has only known options, each once, in the schema's order, so that checkboxes can express it."""
    chosen = [value for _, value in of.options if any(same(value, one) for one in start)]
    return same(chosen, start)


def _has_place(of: Field, start: dict[str, Any]) -> bool:
    known = {one.name for one in of.properties()}
    extra = [name for name in start if name not in known]
    rows = of.others() is not None and len(extra) <= ITEMS_MAX and all(plain(name) == name for name in extra)
    return (not extra or rows) and "" not in extra
