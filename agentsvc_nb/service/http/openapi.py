"""The OpenAPI 3.1 document, generated from the tables and models of `wire/` (docs/api/conventions.md "Versions":
version 1.0.0). Imported at its first request: pydantic's schema generator takes a while."""

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
    "runs": "One agent turn inside a chat: started, followed, cancelled.",
    "models": "The models that a start may name.",
    "files": "A chat's workspace: staged, listed, searched, downloaded.",
    "tools": "The live catalog, and direct calls.",
    "jobs": "Tools that take longer: submitted, then looked at.",
    "feedback": "Reports to the team that runs the service.",
    "media": "Stored ad media and their transcripts.",
    "labels": "Landing pages and their labels, written with a check.",
    "projects": "Chats that belong together.",
    "chats": "Conversations with their workspaces.",
    "terms": "What a developer accepts.",
    "keys": "Keys of the signed-in account.",
    "service": "The service itself.",
}
SECURITY: Final[Json] = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "An API key or a member token."},
    "apiKey": {"type": "apiKey", "in": "header", "name": "x-api-key", "description": "The same, in another header."},
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": "agentsvc_session",
        "description": "A signed-in browser; an API key does not do.",
    },
}
ACCESS: Final[dict[str, list[dict[str, list[str]]]]] = {
    "key": [{"bearer": []}, {"apiKey": []}],
    "session": [{"session": []}],
    "open": [],
}
REQUEST_ID: Final[Json] = {
    "X-Request-Id": {"description": "Names the request in the service's log.", "schema": {"type": "string"}}
}
RETRY_AFTER: Final[Json] = {
    "Retry-After": {
        "description": "Seconds until it is worth another try, where that is known.",
        "schema": {"type": "integer"},
    }
}
ALLOW: Final[Json] = {"Allow": {"description": "The methods of the path.", "schema": {"type": "string"}}}
HEADERS: Final = {405: ALLOW, 429: RETRY_AFTER, 503: RETRY_AFTER}
DOWNLOAD_HEADERS: Final[Json] = {
    "ETag": {"description": "The SHA-256 of the content, in quotes.", "schema": {"type": "string"}},
    "Content-Disposition": {"description": "`attachment`, with the file's name.", "schema": {"type": "string"}},
}
_SHARED: Final = ROUTES["tools.list"].errors_by_status()
"""The errors that every operation has that takes a key and counts against request limits, by status; the document names
them once."""


@functools.cache
def text() -> bytes:
    """The document as UTF-8 JSON, built once."""
    return json.dumps(document(), ensure_ascii=False, separators=(",", ":")).encode()


def document() -> Json:
    paths: dict[str, Json] = {}
    for route in ROUTES.values():
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": TITLE,
            "version": VERSION,
            "description": "Start agent runs, call tools, read what they made. Unknown fields of a request are "
            "ignored and `null` counts as absent; answers may carry fields that are not shown here.",
        },
        "servers": [{"url": "/"}],
        "tags": [{"name": name, "description": about} for name, about in TAGS.items()],
        "paths": paths,
        "components": {
            "securitySchemes": SECURITY,
            "responses": {_name(status): _refusal(status, named) for status, named in _SHARED.items()},
            "schemas": _components(),
        },
    }


def _operation(route: Route) -> Json:
    described: Json = {
        "operationId": route.operation_id,
        "tags": [route.tag],
        "summary": route.purpose,
        "description": _description(route),
        "security": ACCESS[route.access],
        "parameters": [_parameter(each) for each in route.parameters],
        "responses": _responses(route),
    }
    if body := _body(route):
        described["requestBody"] = body
    return described


def _description(route: Route) -> str:
    scopes = " or ".join(f"`{scope}`" for scope in sorted(route.scopes))
    who = {
        "key": f"A key that has scopes needs {scopes}.",
        "session": "Needs a signed-in browser; an API key cannot call it.",
        "open": "Needs no key.",
    }[route.access]
    return who if route.limited else f"{who} Does not count against request limits."


def _parameter(parameter: Parameter) -> Json:
    return {
        "name": parameter.name,
        "in": parameter.place,
        "required": parameter.required,
        "description": parameter.description,
        "schema": parameter.schema,
        **({} if parameter.example is None else {"example": parameter.example}),
    }


def _body(route: Route) -> Json | None:
    content: Json = {}
    if route.body is not None:
        content["application/json"] = {"schema": _reference(route.body), "example": _example(route.body)}
    if route.form:
        content["multipart/form-data"] = {"schema": _form(route.body)}
    return {"required": True, "content": content} if content else None


def _responses(route: Route) -> Json:
    answers = {route.status: route.answer, **route.also}
    found = {str(status): _success(route, _answer(model)) for status, model in sorted(answers.items())}
    if route.produces == "bytes":
        found["206"] = {**found["200"], "description": "The range that was asked for."}
    refusals = {str(status): _shared_or_own(status, named) for status, named in route.errors_by_status().items()}
    return {**found, **refusals}


def _success(route: Route, schema: Json) -> Json:
    content: Json = {"application/json": {"schema": schema}}
    headers = REQUEST_ID
    if route.produces == "bytes":
        content, headers = {"*/*": {"schema": {"type": "string", "format": "binary"}}}, REQUEST_ID | DOWNLOAD_HEADERS
    elif route.produces == "json or events":
        content["text/event-stream"] = {"schema": {"type": "string"}}
    return {"description": route.purpose, "headers": headers, "content": content}


def _shared_or_own(status: int, named: list[str]) -> Json:
    if _SHARED.get(status) == named:
        return {"$ref": f"#/components/responses/{_name(status)}"}
    return _refusal(status, named)


def _name(status: int) -> str:
    return f"Error{status}"


def _refusal(status: int, named: list[str]) -> Json:
    """The response of an error status: the codes that it can have, with their causes."""
    return {
        "description": "\n".join(f"- `{code}`: {CODES[code].cause}" for code in named),
        "headers": REQUEST_ID | HEADERS.get(status, {}),
        "content": {"application/json": {"schema": _envelope(named)}},
    }


_AT: Final = "#/components/schemas/"
_FILES: Final[Json] = {
    "type": "array",
    "maxItems": ATTACHMENTS_MAX,
    "items": {"type": "string", "format": "binary"},
    "description": "Files; audio and video are refused.",
}
_ERROR: Final[Json] = {
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


def _components() -> Json:
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
    return {"Error": _ERROR, **dict(sorted(schemas.items()))}


def _reference(model: type[BaseModel]) -> Json:
    return {"$ref": _AT + model.__name__}


def _example(model: type[BaseModel]) -> Json:
    """Return a request body that works: the fields that have examples."""
    return {field.alias or name: field.examples[0] for name, field in model.model_fields.items() if field.examples}


def _answer(model: type[Model] | None) -> Json:
    return {"type": "object"} if model is None else _reference(model)


def _form(payload: type[BaseModel] | None) -> Json:
    """A multipart body: files, and the JSON object of a request that takes one."""
    if payload is None:
        return {"type": "object", "required": ["files"], "properties": {"files": {**_FILES, "minItems": 1}}}
    part = {**_reference(payload), "description": "The JSON object."}
    return {"type": "object", "required": ["payload"], "properties": {"payload": part, "files": _FILES}}


def _envelope(codes: list[str]) -> Json:
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
