"""The OpenAPI document as a page for people: operations by tag, the models of bodies and answers, and an example of
each operation in curl and in Python. Imported at its first request."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

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
    request = _example(document, method, path, operation)
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
        _curl(request),
        _python(request),
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


def kind(schema: Json) -> str:
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


def _simple(schema: Json) -> str:
    if schema.get("format") in ("date-time", "binary"):
        return {"date-time": "time (RFC 3339)", "binary": "file"}[schema["format"]]
    words = {"string": "text", "null": "null", "boolean": "true or false"}.get(schema.get("type", ""), "")
    words = words or schema.get("type", "anything")
    if words == "text":
        return words + _range(schema, "Length", " characters", ", at most")
    if "minimum" in schema and "maximum" in schema:
        return f"{words} from {schema['minimum']} to {schema['maximum']}"
    return words + (f" from {schema['minimum']}" if "minimum" in schema else "")


def _range(schema: Json, what: str, unit: str, at_most: str) -> str:
    low, high = schema.get(f"min{what}", 0), schema.get(f"max{what}")
    if high is None:
        return ", not empty" if low else ""
    return f", {low} to {high}{unit}" if low else f"{at_most} {high}{unit}"


_FILE: Final = "notes.txt"


@dataclass(frozen=True, slots=True)
class _ExampleRequest:
    """An example request. `query` has the required parameters; None stands for a variable of the parameter's name,
    since an example can't know ids and keys."""

    method: str
    path: str
    query: dict[str, str | None]
    body: Json | None
    upload: bool
    security: str


def _example(document: Json, method: str, path: str, operation: Json) -> _ExampleRequest:
    """A minimal request for the operation: required parameters, and the body's fields that have examples."""
    needed = [each for each in operation["parameters"] if each["in"] == "query" and each["required"]]
    content = operation.get("requestBody", {}).get("content", {})
    body = None
    if "application/json" in content:
        name = content["application/json"]["schema"]["$ref"].rpartition("/")[2]
        fields = document["components"]["schemas"][name]["properties"]
        body = {name: field["examples"][0] for name, field in fields.items() if "examples" in field}
    return _ExampleRequest(
        method,
        path,
        {each["name"]: each.get("example") for each in needed} | _job_chat(path),
        body,
        upload=body is None and "multipart/form-data" in content,
        security=next((name for each in operation["security"] for name in each), ""),
    )


def _curl(request: _ExampleRequest) -> str:
    """A command of the shell."""
    lines = [f'curl -X {request.method} "$BASE_URL{_shell_path(request)}"']
    if request.security == "bearer":
        lines.append('-H "Authorization: Bearer $SERVICE_API_KEY"')
    elif request.security == "session":
        lines.append('-b "$SESSION_COOKIE"')
    if request.body is not None:
        lines += ['-H "Content-Type: application/json"', f"-d '{json.dumps(request.body)}'"]
    if request.upload:
        lines.append(f"-F files=@{_FILE}")
    return " \\\n  ".join(lines)


def _python(request: _ExampleRequest) -> str:
    """A few lines of Python, with httpx."""
    arguments = [f'f"{{base_url}}{request.path}"' if "{" in request.path else f'base_url + "{request.path}"']
    if request.query:
        pairs = (f'"{name}": {name if value is None else json.dumps(value)}' for name, value in request.query.items())
        arguments.append(f"params={{{', '.join(pairs)}}}")
    if request.security == "bearer":
        arguments.append('headers={"Authorization": f"Bearer {api_key}"}')
    elif request.security == "session":
        arguments.append('headers={"Cookie": session_cookie}')
    if request.body is not None:
        arguments.append(f"json={request.body!r}")
    if request.upload:
        arguments.append('files={"files": file}')
    inner = ",\n    ".join(arguments)
    call = f"answer = httpx.{request.method.lower()}(\n    {inner},\n)"
    if request.upload:
        call = f'with open("{_FILE}", "rb") as file:\n{textwrap.indent(call, "    ")}'
    return f"import httpx\n\n{call}\nanswer.raise_for_status()"


def _shell_path(request: _ExampleRequest) -> str:
    path = request.path.replace("{", "${")
    pairs = (f"{name}={f'${{{name}}}' if value is None else quote(value)}" for name, value in request.query.items())
    return path + ("?" + "&".join(pairs) if request.query else "")


def _job_chat(path: str) -> dict[str, str | None]:
    """The `chat` parameter of a job lookup, which needs either that or `project` and `session`. OpenAPI cannot express
    this, so the document marks none of them as required."""
    return {"chat": None} if "{job_id}" in path else {}
