"""The OpenAPI 3.1 document, generated from the tables and models of `wire/` (docs/api/conventions.md "Versions":
version 1.0.0)."""

from __future__ import annotations

import functools
import json
from typing import Any, Final

from agentsvc_nb.service.http.openapi import schemas
from agentsvc_nb.wire.codes import CODES
from agentsvc_nb.wire.routes import ROUTES
from agentsvc_nb.wire.routes.route import Parameter, Route

Json = dict[str, Any]

VERSION: Final = "1.0.0"
TITLE: Final = "Developer API of the agent service"
TAGS: Final = {
    "runs": "One agent turn inside a chat: started, followed, cancelled.",
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
            "schemas": schemas.components(),
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
        content["application/json"] = {"schema": schemas.reference(route.body)}
    if route.form:
        content["multipart/form-data"] = {"schema": schemas.form(route.body)}
    return {"required": True, "content": content} if content else None


def _responses(route: Route) -> Json:
    answers = {route.status: route.answer, **route.also}
    found = {str(status): _success(route, schemas.answer(model)) for status, model in sorted(answers.items())}
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
        "content": {"application/json": {"schema": schemas.refusal(named)}},
    }
