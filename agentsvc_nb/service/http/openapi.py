"""Generate the OpenAPI 3.1 document from the tables and models of `wire/`.

Its version is 1.0.0 (docs/api/conventions.md "Versions"). Import this module only at the first request, because
pydantic's schema generator takes a while.
"""

from __future__ import annotations

import functools
import json
from typing import Any, Final, get_args

from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from agentsvc_nb.service.media.media import LABELS
from agentsvc_nb.wire.codes import CODES, ErrorType
from agentsvc_nb.wire.limits import ATTACHMENTS_MAX
from agentsvc_nb.wire.models import Model
from agentsvc_nb.wire.resources import NewLabels
from agentsvc_nb.wire.routes import ROUTES, Parameter, Route

Json = dict[str, Any]

VERSION: Final = "1.0.0"
TITLE: Final = "Developer API of the agent service"
TAGS: Final = {
    "runs": "Start, follow and cancel runs. A run is one agent turn in a chat.",
    "usage": "Show the account's usage and its daily budget.",
    "models": "List the models that a run can use.",
    "files": "Stage, list, search and download the files of a chat's workspace.",
    "tools": "List tools, and call them directly.",
    "jobs": "Submit long tool calls as jobs, and read their results.",
    "feedback": "Send reports to the operator of the service.",
    "media": "Read stored ad media and their transcripts.",
    "labels": "Read landing pages, and set their labels.",
    "projects": "Group chats into projects.",
    "chats": "List conversations and their workspaces.",
    "terms": "Read and accept the developer terms.",
    "keys": "Manage keys of the signed-in account.",
    "service": "Check the service itself.",
}
SECURITY: Final[Json] = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "An API key or a member token."},
    "apiKey": {
        "type": "apiKey",
        "in": "header",
        "name": "x-api-key",
        "description": "An API key or a member token, in another header.",
    },
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": "agentsvc_session",
        "description": "A signed-in browser. An API key is not accepted.",
    },
}
ACCESS: Final[dict[str, list[dict[str, list[str]]]]] = {
    "key": [{"bearer": []}, {"apiKey": []}],
    "session": [{"session": []}],
    "open": [],
}
_HEADER_DESCRIPTIONS: Final = {
    "X-Request-Id": "Identifies the request in the service's log.",
    "Retry-After": "Seconds to wait before the next attempt, if known.",
    "Allow": "The methods that the path allows.",
    "ETag": "The SHA-256 of the content, in quotes.",
    "Content-Disposition": "`attachment`, with the file's name.",
}
_ERROR_HEADERS: Final = {405: ["Allow"], 429: ["Retry-After"], 503: ["Retry-After"]}
_SHARED_ERRORS: Final = ROUTES["tools.list"].errors_by_status()
"""The errors, by status, of all operations that need a key and have request limits, listed once in the document."""


@functools.cache
def text() -> bytes:
    """Return the document as UTF-8 JSON. It is built only once."""
    return json.dumps(_document(), ensure_ascii=False, separators=(",", ":")).encode()


def _document() -> Json:
    paths: dict[str, Json] = {}
    for route in ROUTES.values():
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": TITLE,
            "version": VERSION,
            "description": "Start agent runs, call tools, and read the files that they write. "
            "The service ignores unknown fields of a request, and treats `null` as absent. "
            "Responses may contain fields that this document does not show.",
        },
        "servers": [{"url": "/"}],
        "tags": [{"name": name, "description": about} for name, about in TAGS.items()],
        "paths": paths,
        "components": {
            "securitySchemes": SECURITY,
            "responses": {f"Error{status}": _error(status, codes) for status, codes in _SHARED_ERRORS.items()},
            "schemas": _schemas(),
        },
    }


def _operation(route: Route) -> Json:
    scopes = " or ".join(f"`{scope}`" for scope in sorted(route.scopes))
    description = {
        "key": f"A key with scopes needs {scopes}.",
        "session": "Needs a signed-in browser. API keys are not accepted.",
        "open": "Needs no key.",
    }[route.access]
    operation: Json = {
        "operationId": route.operation_id,
        "tags": [route.tag],
        "summary": route.purpose,
        "description": description + ("" if route.limited else " Does not count against request limits."),
        "security": ACCESS[route.access],
        "parameters": [_parameter(each) for each in route.parameters],
        "responses": _responses(route),
    }
    if content := _body(route):
        operation["requestBody"] = {"required": route.body_required, "content": content}
    return operation


def _parameter(parameter: Parameter) -> Json:
    return {
        "name": parameter.name,
        "in": parameter.place,
        "required": parameter.required,
        "description": parameter.description,
        "schema": parameter.schema,
        **({} if parameter.example is None else {"example": parameter.example}),
    }


def _body(route: Route) -> Json:
    """Return the schemas of a request body by media type: of its JSON object, and of its form with files."""
    content: Json = {}
    form: Json = {"type": "object", "required": ["files"], "properties": {"files": {**_FILES, "minItems": 1}}}
    if route.body is not None:
        # Build a valid body from the fields that have examples.
        fields = route.body.model_fields
        example = {field.alias or name: field.examples[0] for name, field in fields.items() if field.examples}
        content["application/json"] = {"schema": _reference(route.body), "example": example}
        payload = {**_reference(route.body), "description": "The JSON object."}
        form = {"type": "object", "required": ["payload"], "properties": {"payload": payload, "files": _FILES}}
    if route.form:
        content["multipart/form-data"] = {"schema": form}
    return content


def _responses(route: Route) -> Json:
    successes = {status: _success(route, model) for status, model in {route.status: route.answer, **route.also}.items()}
    if route.produces == "bytes":
        successes[206] = {**successes[200], "description": "The requested range."}
    errors: Json = {}
    for status, codes in route.errors_by_status().items():
        shared = _SHARED_ERRORS.get(status) == codes
        errors[str(status)] = {"$ref": f"#/components/responses/Error{status}"} if shared else _error(status, codes)
    return {**{str(status): response for status, response in sorted(successes.items())}, **errors}


def _success(route: Route, model: type[Model] | None) -> Json:
    if route.produces == "bytes":
        content: Json = {"*/*": {"schema": {"type": "string", "format": "binary"}}}
        headers = _headers("ETag", "Content-Disposition")
    else:
        content = {"application/json": {"schema": {"type": "object"} if model is None else _reference(model)}}
        headers = _headers()
    if route.produces == "json or events":
        content["text/event-stream"] = {"schema": {"type": "string"}}
    return {"description": route.purpose, "headers": headers, "content": content}


def _error(status: int, codes: list[str]) -> Json:
    """Return the response for an error status: its possible codes, with their causes."""
    only_these = {"properties": {"error": {"properties": {"code": {"enum": codes}}}}}
    return {
        "description": "\n".join(f"- `{code}`: {CODES[code].cause}" for code in codes),
        "headers": _headers(*_ERROR_HEADERS.get(status, ())),
        "content": {"application/json": {"schema": {"allOf": [{"$ref": f"{_SCHEMAS}Error"}, only_these]}}},
    }


def _headers(*names: str) -> Json:
    return {
        name: {
            "description": _HEADER_DESCRIPTIONS[name],
            "schema": {"type": "integer" if name == "Retry-After" else "string"},
        }
        for name in ("X-Request-Id", *names)
    }


_SCHEMAS: Final = "#/components/schemas/"
_FILES: Final[Json] = {
    "type": "array",
    "maxItems": ATTACHMENTS_MAX,
    "items": {"type": "string", "format": "binary"},
    "description": "The files. The service refuses audio and video.",
}
_ERROR: Final[Json] = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["message", "type"],
            "properties": {
                "message": {"type": "string", "description": "The message for a person."},
                "type": {"enum": list(get_args(ErrorType))},
                "code": {"type": "string", "description": "The code for a program."},
            },
            "additionalProperties": True,
        },
        "activeRunId": {"type": "string", "format": "uuid", "description": "On a 409: the active run of the chat."},
        "requiredDeveloperTermsVersion": {
            "type": "string",
            "description": "On a 400: the version of the current terms.",
        },
    },
    "additionalProperties": True,
}


def _reference(model: type[BaseModel]) -> Json:
    return {"$ref": _SCHEMAS + model.__name__}


def _schemas() -> Json:
    """Return the JSON Schemas of all models, by name."""
    models: list[tuple[type[BaseModel], JsonSchemaMode]] = []
    for route in ROUTES.values():
        answers = (route.answer, *route.also.values())
        models += [(model, "serialization") for model in answers if model is not None]
        models += [(route.body, "validation")] if route.body else []
    _, generated = models_json_schema(models, ref_template=_SCHEMAS + "{model}")
    schemas: Json = generated["$defs"]
    for schema in schemas.values():
        _adapt(schema)
    # Add the labels and their values from the service's table, because the wire model has none.
    values = {
        name: {"anyOf": [{"enum": label.values}, {"type": "null"}], "description": label.description}
        for name, label in LABELS.items()
    }
    labels = schemas[NewLabels.__name__]["properties"]["labels"]
    labels |= {"properties": values, "additionalProperties": False}
    return {"Error": _ERROR, **dict(sorted(schemas.items()))}


def _adapt(schema: Json) -> None:
    """Mark constants and times in pydantic's schema. Remove titles and defaults of null.

    Remove all defaults of responses as well, because a response contains all its fields.
    """
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
