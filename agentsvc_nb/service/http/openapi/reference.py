"""The OpenAPI document as a page for people: operations by tag, the models of bodies and answers, and examples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from agentsvc_nb.service.http.openapi import examples
from agentsvc_nb.service.http.openapi.schemas import kind
from agentsvc_nb.wire.codes import CODES, Code

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class DescribedField:
    """A parameter or a field; `shape` is the name of the model that it holds, if it holds one."""

    name: str
    place: str
    kind: str
    required: bool
    about: str
    shape: str | None = None


@dataclass(frozen=True, slots=True)
class SuccessResponse:
    """A success response: its status, its media type (`kind`), and the name of its model if it has one (`shape`)."""

    status: str
    kind: str
    shape: str | None


@dataclass(frozen=True, slots=True)
class DescribedOperation:
    """One operation with its parameters, body, responses and examples."""

    id: str
    method: str
    path: str
    summary: str
    about: str
    parameters: list[DescribedField]
    body: list[DescribedField]
    answers: list[SuccessResponse]
    refusals: list[Code]
    curl: str
    python: str


@dataclass(frozen=True, slots=True)
class Chapter:
    """The operations of one tag."""

    tag: str
    about: str
    entries: list[DescribedOperation]


@dataclass(frozen=True, slots=True)
class DescribedModel:
    """A model: what a body or an answer holds."""

    name: str
    about: str
    rows: list[DescribedField]


def chapters(document: Json) -> list[Chapter]:
    """The document's operations, in the order of its tags."""
    operations = list(_operations(document))
    return [
        Chapter(
            tag["name"],
            tag["description"],
            [_entry(document, *each) for each in operations if each[2]["tags"] == [tag["name"]]],
        )
        for tag in document["tags"]
    ]


def shapes(document: Json) -> list[DescribedModel]:
    """The models of bodies and answers, and the error envelope."""
    return [
        DescribedModel(name, schema.get("description", ""), _fields(schema, "field"))
        for name, schema in document["components"]["schemas"].items()
    ]


def _operations(document: Json) -> Iterator[tuple[str, str, Json]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation


def _entry(document: Json, method: str, path: str, operation: Json) -> DescribedOperation:
    request = examples.example(document, method, path, operation)
    return DescribedOperation(
        operation["operationId"],
        method,
        path,
        operation["summary"],
        operation["description"],
        [_parameter(each) for each in operation["parameters"]],
        _body(document, operation),
        _answers(operation),
        _refusals(document, operation),
        examples.curl(request),
        examples.python(request),
    )


def _parameter(parameter: Json) -> DescribedField:
    about = parameter["description"]
    return DescribedField(parameter["name"], parameter["in"], kind(parameter["schema"]), parameter["required"], about)


def _body(document: Json, operation: Json) -> list[DescribedField]:
    """The fields of a JSON body and the parts of a form."""
    rows: list[DescribedField] = []
    for media_type, content in operation.get("requestBody", {}).get("content", {}).items():
        rows += _fields(resolved(document, content["schema"]), "JSON" if media_type.endswith("json") else "form")
    return rows


def _fields(schema: Json, place: str) -> list[DescribedField]:
    required = schema.get("required", [])
    return [
        DescribedField(name, place, kind(field), name in required, field.get("description", ""), _shape(field))
        for name, field in schema.get("properties", {}).items()
    ]


def _answers(operation: Json) -> list[SuccessResponse]:
    found = []
    for status, answer in operation["responses"].items():
        if status < "400":
            for media_type, content in answer["content"].items():
                found.append(SuccessResponse(status, media_type, _shape(content["schema"])))
    return found


def _refusals(document: Json, operation: Json) -> list[Code]:
    """The rows of the error table for the operation's errors, in the order of their statuses."""
    found = []
    for status, answer in operation["responses"].items():
        if status >= "400":
            schema = resolved(document, answer)["content"]["application/json"]["schema"]
            found += [CODES[code] for code in schema["allOf"][1]["properties"]["error"]["properties"]["code"]["enum"]]
    return found


def _shape(schema: Json) -> str | None:
    """The name of the model in a field's schema: alone, in a list, or beside null; None without one."""
    if "$ref" in schema:
        return _name(schema)
    inner = [*schema.get("anyOf", []), *([schema["items"]] if "items" in schema else [])]
    return next((name for each in inner if (name := _shape(each))), None)


def _name(schema: Json) -> str:
    return str(schema["$ref"]).rpartition("/")[2]


def resolved(document: Json, part: Json) -> Json:
    """The part that a `$ref` points to; a part without one unchanged."""
    if "$ref" not in part:
        return part
    found: Json = document
    for step in part["$ref"].removeprefix("#/").split("/"):
        found = found[step]
    return found
