"""An example of each operation of the OpenAPI document, in curl and in Python.

Ids and keys, which an example can't know, are shell or Python variables.
"""

from __future__ import annotations

import json
import textwrap
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

Json = dict[str, Any]

FILE: Final = "notes.txt"


@dataclass(frozen=True, slots=True)
class ExampleRequest:
    """An example request. `query` has the required parameters; None stands for a variable of the parameter's name."""

    method: str
    path: str
    query: dict[str, str | None]
    body: Json | None
    upload: bool
    security: str


def example(document: Json, method: str, path: str, operation: Json) -> ExampleRequest:
    """A minimal request for the operation: required parameters, and the body's fields that have examples."""
    needed = [each for each in operation["parameters"] if each["in"] == "query" and each["required"]]
    content = operation.get("requestBody", {}).get("content", {})
    body = None
    if "application/json" in content:
        name = content["application/json"]["schema"]["$ref"].rpartition("/")[2]
        fields = document["components"]["schemas"][name]["properties"]
        body = {name: field["examples"][0] for name, field in fields.items() if "examples" in field}
    return ExampleRequest(
        method,
        path,
        {each["name"]: each.get("example") for each in needed} | _job_chat(path),
        body,
        upload=body is None and "multipart/form-data" in content,
        security=next((name for each in operation["security"] for name in each), ""),
    )


def curl(request: ExampleRequest) -> str:
    """A command of the shell."""
    lines = [f'curl -X {request.method} "$BASE_URL{_shell_path(request)}"']
    if request.security == "bearer":
        lines.append('-H "Authorization: Bearer $SERVICE_API_KEY"')
    elif request.security == "session":
        lines.append('-b "$SESSION_COOKIE"')
    if request.body is not None:
        lines += ['-H "Content-Type: application/json"', f"-d '{json.dumps(request.body)}'"]
    if request.upload:
        lines.append(f"-F files=@{FILE}")
    return " \\\n  ".join(lines)


def python(request: ExampleRequest) -> str:
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
        call = f'with open("{FILE}", "rb") as file:\n{textwrap.indent(call, "    ")}'
    return f"import httpx\n\n{call}\nanswer.raise_for_status()"


def _shell_path(request: ExampleRequest) -> str:
    path = request.path.replace("{", "${")
    pairs = (f"{name}={f'${{{name}}}' if value is None else quote(value)}" for name, value in request.query.items())
    return path + ("?" + "&".join(pairs) if request.query else "")


def _job_chat(path: str) -> dict[str, str | None]:
    """The `chat` parameter of a job lookup, which needs either that or `project` and `session`. OpenAPI cannot express
    this, so the document marks none of them as required."""
    return {"chat": None} if "{job_id}" in path else {}
