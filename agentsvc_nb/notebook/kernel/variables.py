"""Describe variables of the kernel for the agent, without secret values (`redaction`) and hidden names
(`SharingRules`).

This module never runs code of the user's classes. It calls only methods of built-in types, pandas, polars and NumPy.
For other objects, it shows only the class.
"""

from __future__ import annotations

import inspect
import json
import sys
import types
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import islice
from typing import Any, Final

from agentsvc_nb.notebook.redaction import is_secret_name, labels_secret, redact
from agentsvc_nb.wire.text import label, plain

VARIABLES_LISTED: Final = 200
"""The maximum number of variables in a list."""
COLUMNS: Final = 100
MOST_KEYS: Final = 10_000
ROWS: Final = 50
VALUE_CHARS: Final = 200
TEXT_CHARS: Final = 2_000
SEARCHED_BEYOND: Final = 2_000
"""How many characters after the end of a truncated text are also searched, because a secret may extend beyond
the end.
"""
BYTES: Final = 16_000
"""The maximum size of one description in bytes."""
MASKED: Final = "[masked because of its name]"
_SHELLS_OWN: Final = frozenset({"In", "Out", "exit", "quit", "get_ipython", "open"})
_SCALARS: Final = (str, bytes, bool, int, float, complex, type(None))
Description = dict[str, Any]


@dataclass(frozen=True)
class SharingRules:
    """The rules of the user for what the agent may see.

    Attributes:
        rows: how many rows or elements of a variable the agent may see; 0 for no values at all.
        hidden: names of columns, keys, tables and variables that the agent must not see. `*` and `?` are wildcards, and
            case is ignored.
    """

    rows: int = 5
    hidden: tuple[str, ...] = ()

    def hides(self, name: object) -> bool:
        said = str(name).casefold()
        return any(fnmatchcase(said, pattern.casefold()) for pattern in self.hidden)


def user_variables(variables: Mapping[str, Any], rules: SharingRules) -> dict[str, Any]:
    """Return the user's variables by name, without modules, hidden variables, and names that begin with `_`."""
    return {
        name: value
        for name, value in dict(variables).items()
        if not name.startswith("_")
        and name not in _SHELLS_OWN
        and not isinstance(value, types.ModuleType)
        and not rules.hides(name)
    }


def describe_all(variables: Mapping[str, Any], rules: SharingRules) -> Description:
    """Return a list of the user's variables with their types and sizes, but without values."""
    found = user_variables(variables, rules)
    rows = [{"name": name, **_describe_type(value)} for name, value in islice(found.items(), VARIABLES_LISTED)]
    return {"variables": rows} | (
        {"not_listed": len(found) - VARIABLES_LISTED} if len(found) > VARIABLES_LISTED else {}
    )


def describe(name: str, variables: Mapping[str, Any], rules: SharingRules) -> Description:
    """Return a variable's type, size and first values. A table is described by its columns and first rows.

    If the variable does not exist or is hidden, raises `LookupError` with a sentence for the agent.
    """
    found = user_variables(variables, rules)
    if name not in found:
        raise LookupError(f"There is no variable {label(name, 80)}. List the variables with list_variables.")
    value = found[name]
    told: Description = {"name": name, **_describe_type(value)}
    if is_secret_name(name):
        return told | {"value": MASKED}
    return shorten(told | _describe_contents(value, rules))


def _describe_type(value: Any) -> Description:
    kind = type(value)
    told: Description = {
        "type": kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
    }
    if is_frame(value) or _is(value, "pandas", "Series") or _is(value, "polars", "Series"):
        told["shape"] = list(value.shape)
    elif _is(value, "numpy", "ndarray"):
        told |= {"shape": list(value.shape), "dtype": str(value.dtype)}
    elif isinstance(value, str | bytes | bytearray | list | tuple | dict | set | frozenset | range):
        told["length"] = len(value)
    return told


def is_frame(value: Any) -> bool:
    """Return True for a pandas or polars DataFrame."""
    return _is(value, "pandas", "DataFrame") or _is(value, "polars", "DataFrame")


def _is(value: Any, module: str, name: str) -> bool:
    """Return True if the value is an instance of this class. The module is not imported for this."""
    kind = getattr(sys.modules.get(module), name, None)
    return kind is not None and isinstance(value, kind)


def _describe_contents(value: Any, rules: SharingRules) -> Description:
    rows = min(ROWS, rules.rows)
    if _is(value, "pandas", "Series"):
        value = value.to_frame()
    if _is(value, "polars", "Series"):
        return {"dtype": str(value.dtype)} | _describe_first(value.head(rows).to_list(), rows)
    if is_frame(value):
        return _describe_table(value, rules, rows)
    if _is(value, "numpy", "ndarray"):
        return _describe_first(value.ravel()[:rows].tolist(), rows, pairs=value.shape[-1:] == (2,))
    if isinstance(value, dict):
        return _describe_mapping(value, rules, rows)
    if isinstance(value, list | tuple | set | frozenset | range):
        return _describe_first(islice(value, rows), rows, pairs=isinstance(value, list | tuple) and len(value) == 2)
    if isinstance(value, types.FunctionType | type):
        return _describe_callable(value)
    return {"value": to_json_value(value, TEXT_CHARS)} if rows and isinstance(value, _SCALARS) else {}


def _describe_table(value: Any, rules: SharingRules, rows: int) -> Description:
    head = value.head(rows)
    if _is(value, "pandas", "DataFrame"):
        index = head.index
        head = head.reset_index() if any(name is not None for name in index.names) else head
        dtypes = [str(dtype) for dtype in head.dtypes]
    else:
        dtypes = [str(dtype) for dtype in value.dtypes]
    names = list(head.columns)
    kept = [at for at, name in enumerate(names) if not rules.hides(name)]
    told: Description = {"columns": [{"name": label(names[at], 100), "dtype": dtypes[at]} for at in kept[:COLUMNS]]}
    if len(kept) < len(names):
        told["hidden_columns"] = len(names) - len(kept)
    if len(kept) > COLUMNS:
        told["columns_not_shown"] = len(kept) - COLUMNS
    if rows:
        told["head"] = [_row(head, names, at, kept[:COLUMNS]) for at in range(len(head))]
    return told


def _row(head: Any, names: list[Any], at: int, kept: list[int]) -> list[Any]:
    """Return a row's values. Mask a value if its column, its row or the value to its left has a secret's name."""
    cell = head.iat.__getitem__ if hasattr(head, "iat") else lambda place: head.item(*place)
    if hasattr(head, "index") and labels_secret(head.index[at]):
        return [MASKED] * len(kept)

    def is_secret(column: int) -> bool:
        return is_secret_name(str(names[column])) or (column > 0 and labels_secret(cell((at, column - 1))))

    return [MASKED if is_secret(column) else to_json_value(cell((at, column))) for column in kept]


def _describe_mapping(value: dict[Any, Any], rules: SharingRules, rows: int) -> Description:
    kept = {key: each for key, each in islice(value.items(), MOST_KEYS) if not rules.hides(key)}
    told: Description = {"keys": [to_json_value(key) for key in islice(kept, COLUMNS)]}
    if rows:
        told["first"] = {
            str(to_json_value(key)): MASKED if is_secret_name(str(key)) else to_json_value(each)
            for key, each in islice(kept.items(), rows)
        }
    return told


def _describe_first(values: Iterable[Any], rows: int, pairs: bool = False) -> Description:
    """Describe the first values. With `pairs`, mask every second value if the one before it is a secret's name."""
    told: list[Any] = []
    name: Any = None
    for at, value in enumerate(values):
        told.append(MASKED if pairs and at % 2 and labels_secret(name) else to_json_value(value))
        name = value
    return {"first": told} if rows else {}


def _describe_callable(value: Any) -> Description:
    try:
        told = {"signature": label(inspect.signature(value), VALUE_CHARS)}
    except (TypeError, ValueError):
        told = {}
    return told | {"doc": redact(plain((inspect.getdoc(value) or "")[:VALUE_CHARS]))}


def to_json_value(value: Any, limit: int = VALUE_CHARS) -> Any:
    """Return a masked and truncated form of the value for JSON.

    Numbers stay numbers, and text, dates and other simple values become text. For a collection, return its type and
    length; for any other object, only the name of its class.
    """
    if _is(value, "numpy", "generic"):
        value = value.item()
    if isinstance(value, bool | type(None)):
        return value
    if isinstance(value, bytes | bytearray):
        return f"{len(value):,} bytes"
    if isinstance(value, list | tuple | set | frozenset | dict):
        return f"{type(value).__name__} of {len(value):,}"
    if not _is_short(value):
        return f"<{type(value).__name__}>"
    try:
        whole = str(value)
    except ValueError:  # an integer with more digits than Python converts to text
        return f"<{type(value).__name__}>"
    text = redact(plain(whole[: limit + SEARCHED_BEYOND]))
    if isinstance(value, int | float) and text == whole:
        return value
    return text if len(text) <= limit else f"{text[:limit]}… ({len(whole):,} characters)"


def _is_short(value: Any) -> bool:
    if isinstance(value, str | int | float | complex):
        return True
    is_table = hasattr(value, "columns") or hasattr(value, "iat")
    return type(value).__module__.split(".")[0] in _PLAIN and not is_table


_PLAIN: Final = frozenset({"datetime", "decimal", "fractions", "uuid", "pathlib", "enum", "pandas", "numpy"})
"""Modules whose classes have a short and harmless `str`."""


def shorten(told: Description) -> Description:
    """Shorten a description until it has at most `BYTES` bytes: first its rows, then its columns."""
    while len(json.dumps(told, ensure_ascii=False, default=str).encode("utf-8", "replace")) > BYTES:
        for part in ("head", "rows", "first", "keys", "columns", "tables"):
            if found := told.get(part):
                kept = len(found) // 2
                told[part] = dict(islice(found.items(), kept)) if isinstance(found, dict) else found[:kept]
                told[f"{part}_cut"] = True
                break
        else:
            return {key: told[key] for key in ("name", "type") if key in told} | {"cut": True}
    return told
