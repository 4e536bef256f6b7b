"""The schemas of the OpenAPI document, and a JSON Schema in a few words for people."""

from __future__ import annotations

from typing import Any, Final, get_args

from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from agentsvc_nb.service.usecases.media import LABELS
from agentsvc_nb.wire.codes import ErrorType
from agentsvc_nb.wire.failures import Model
from agentsvc_nb.wire.limits import ATTACHMENTS_MAX
from agentsvc_nb.wire.resources import NewLabels
from agentsvc_nb.wire.routes import ROUTES

JsonSchema = dict[str, Any]


def kind(schema: JsonSchema) -> str:
    """A JSON Schema in a few words.

    >>> kind({"type": "string", "minLength": 1, "maxLength": 200})
    'text, 1 to 200 characters'
    >>> kind({"anyOf": [{"type": "integer", "minimum": 0, "maximum": 9}, {"type": "null"}]})
    'integer from 0 to 9, or null'
    """
    if "anyOf" in schema:
        return ", or ".join(dict.fromkeys(kind(branch) for branch in schema["anyOf"]))
    if "const" in schema:
        return f"`{schema['const']}`" if schema["const"] else "empty"
    if "enum" in schema:
        return "one of " + ", ".join(f"`{value}`" for value in schema["enum"])
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if schema.get("type") == "array":
        return f"list of {kind(schema['items'])}" + _range(schema, "Items", "", ", at most")
    return _simple(schema)


def _simple(schema: JsonSchema) -> str:
    if schema.get("format") in ("date-time", "binary"):
        return {"date-time": "time (RFC 3339)", "binary": "file"}[schema["format"]]
    words = {"string": "text", "null": "null", "boolean": "true or false"}.get(schema.get("type", ""), "")
    words = words or schema.get("type", "anything")
    if words == "text":
        return words + _range(schema, "Length", " characters", ", at most")
    if "minimum" in schema and "maximum" in schema:
        return f"{words} from {schema['minimum']} to {schema['maximum']}"
    return words + (f" from {schema['minimum']}" if "minimum" in schema else "")


def _range(schema: JsonSchema, what: str, unit: str, at_most: str) -> str:
    low, high = schema.get(f"min{what}", 0), schema.get(f"max{what}")
    if high is None:
        return ", not empty" if low else ""
    return f", {low} to {high}{unit}" if low else f"{at_most} {high}{unit}"


Json = dict[str, Any]

_AT: Final = "#/components/schemas/"
_FILES: Final[Json] = {
    "type": "array",
    "maxItems": ATTACHMENTS_MAX,
    "items": {"type": "string", "format": "binary"},
    "description": "Files; audio and video are refused.",
}
ERROR: Final[Json] = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["message", "type"],
            "properties": {
                "message": {"type": "string", "description": "For a person."},
                "type": {"enum": list(get_args(ErrorType))},
                "code": {"type": "string", "description": "For a program."},
            },
            "additionalProperties": True,
        },
        "activeRunId": {"type": "string", "format": "uuid", "description": "The run that holds the chat, on a 409."},
        "requiredDeveloperTermsVersion": {"type": "string", "description": "The current terms, on a 400."},
    },
    "additionalProperties": True,
}


def components() -> Json:
    """Every model by name."""
    asked: list[tuple[type[BaseModel], JsonSchemaMode]] = []
    for route in ROUTES.values():
        answers = (route.answer, *route.also.values())
        asked += [(model, "serialization") for model in answers if model is not None]
        asked += [(route.body, "validation")] if route.body else []
    _, found = models_json_schema(asked, ref_template=_AT + "{model}")
    schemas: Json = found["$defs"]
    for schema in schemas.values():
        _finish(schema)
    _name_labels(schemas[NewLabels.__name__])
    return {"Error": ERROR, **dict(sorted(schemas.items()))}


def reference(model: type[BaseModel]) -> Json:
    return {"$ref": _AT + model.__name__}


def answer(model: type[Model] | None) -> Json:
    return {"type": "object"} if model is None else reference(model)


def form(payload: type[BaseModel] | None) -> Json:
    """A multipart body: files, and the JSON object of a request that takes one."""
    if payload is None:
        return {"type": "object", "required": ["files"], "properties": {"files": {**_FILES, "minItems": 1}}}
    part = {**reference(payload), "description": "The JSON object."}
    return {"type": "object", "required": ["payload"], "properties": {"payload": part, "files": _FILES}}


def refusal(codes: list[str]) -> Json:
    """The error envelope, with its code limited to these."""
    named = {"properties": {"error": {"properties": {"code": {"enum": codes}}}}}
    return {"allOf": [{"$ref": _AT + "Error"}, named]}


def _finish(schema: Json) -> None:
    """Adapt pydantic's schema of a model: `object` and `type` become constants and `..._at` times
    (docs/api/conventions.md). Titles, which repeat names, and defaults of answers, whose fields are always sent, go."""
    schema.pop("title", None)
    for name, field in schema.get("properties", {}).items():
        field.pop("title", None)
        if name in ("object", "type") and "default" in field:
            field["const"] = field["default"]
        if field.get("default") is None or "additionalProperties" in schema:
            field.pop("default", None)
        if name.endswith("_at"):
            for branch in field.get("anyOf", [field]):
                branch |= {"format": "date-time"} if branch.get("type") == "string" else {}


def _name_labels(schema: Json) -> None:
    """Add the labels and their values, which the wire model does not know: they are a table of the service."""
    values = {
        name: {"anyOf": [{"enum": label.values}, {"type": "null"}], "description": label.description}
        for name, label in LABELS.items()
    }
    schema["properties"]["labels"] |= {"properties": values, "additionalProperties": False}
