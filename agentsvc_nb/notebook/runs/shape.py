"""What an answer must look like (`--schema`), and the answer read back into it.

A list of records is sent as an object with one field, since an answer is always an object (contract.md §2), and comes
back as a DataFrame.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, get_origin

from pydantic import PydanticSchemaGenerationError, PydanticUserError, TypeAdapter

from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.client.results import structured
from agentsvc_nb.client.results.frames import frame
from agentsvc_nb.notebook.failures import AskError

RECORDS: Final = "records"
_TYPES: Final[Mapping[str, str]] = {
    "string": "string",
    "integer": "Int64",
    "number": "Float64",
    "boolean": "boolean",
}
_TIME: Final = "datetime64[ns, UTC]"


class Shape:
    """What the variable `name` holds, as a shape: a pydantic model, a dataclass, `list[Model]`, or a JSON Schema.

    Raises `AskError` for anything else, and for what no answer can have.
    """

    def __init__(self, name: str, given: Any) -> None:
        self.kind = given if isinstance(given, type) and get_origin(given) is None else None
        try:
            whole = given if isinstance(given, dict) else TypeAdapter(given).json_schema() if _listed(given) else None
            self.records = whole is not None and whole.get("type") == "array"
            sent = _wrapped(whole) if self.records and whole else structured.schema(self._single(name, given))
        except (PydanticSchemaGenerationError, PydanticUserError) as error:
            raise AskError(f"--schema {name}: {error.message}; nothing was sent.") from None
        except StefanBrainError as error:
            raise AskError(f"--schema {name}: {error.message} Nothing was sent.", error.hint or "") from None
        assert sent is not None
        self.schema: dict[str, Any] = sent

    def _single(self, name: str, given: Any) -> Any:
        if isinstance(given, dict) or self.kind is not None:
            return given
        raise AskError(
            f"--schema {name}: that is a {type(given).__name__}, no shape of an answer; nothing was sent.",
            "Give a pydantic model, a dataclass, list[Model] for records, or a JSON Schema as a dict.",
        )

    def read(self, data: dict[str, Any], **attrs: Any) -> Any:
        """The answer's data: an instance of the model, a DataFrame for records, or the dict as it is.

        Raises `StefanBrainError` that names the first field that does not fit.
        """
        if self.records:
            return frame(self.rows(data), self.columns, **attrs)
        return structured.parsed(self.kind, data) if self.kind is not None else data

    def rows(self, data: dict[str, Any]) -> list[dict[str, Any]]:
        """The records of an answer; a value that is no object stands in a column of its own."""
        found = data.get(RECORDS)
        rows = found if isinstance(found, list) else []
        return [row if isinstance(row, dict) else {"value": row} for row in rows]

    @property
    def columns(self) -> dict[str, str]:
        """A column for each field of a record, and its type; a field that may be of several types stays an object."""
        item = self._resolved(self.schema["properties"][RECORDS].get("items") or {})
        fields = item.get("properties") or {}
        return {name: _column(self._resolved(field)) for name, field in fields.items()}

    def _resolved(self, schema: dict[str, Any]) -> dict[str, Any]:
        found: Any = schema
        for part in str(schema.get("$ref", "")).removeprefix("#/").split("/") if "$ref" in schema else []:
            found = (self.schema if found is schema else found).get(part, {})
        return found if isinstance(found, dict) else {}


def _listed(given: Any) -> bool:
    return get_origin(given) is list


def _wrapped(array: dict[str, Any]) -> dict[str, Any]:
    """An array in an object; shared definitions move to its root, where `#/$defs/...` finds them."""
    shared: dict[str, Any] = {name: array[name] for name in ("$defs", "definitions") if name in array}
    inner = {name: part for name, part in array.items() if name not in shared}
    return {
        "type": "object",
        "properties": {RECORDS: inner},
        "required": [RECORDS],
        "additionalProperties": False,
        **shared,
    }


def _column(field: dict[str, Any]) -> str:
    kinds = [part for part in field.get("anyOf", [field]) if part.get("type") != "null"]
    kind = kinds[0] if len(kinds) == 1 else {}
    if kind.get("type") == "string" and kind.get("format") == "date-time":
        return _TIME
    found = kind.get("type")
    return _TYPES.get(found, "object") if isinstance(found, str) else "object"
