"""Whether an answer is one that the OpenAPI document names: every refusal that these tests meet is held against it."""

from __future__ import annotations

import re

import httpx

from agentsvc_nb.wire.routes import ROUTES


def check(answer: httpx.Response) -> None:
    """The answer of a route, when it is an error, has a status and a code that the route's operation lists."""
    name = _route(answer.request.method, answer.request.url.path)
    if name is None or answer.status_code < 400:
        return
    answer.read()
    listed = ROUTES[name].errors_by_status().get(answer.status_code, [])
    code = answer.json()["error"]["code"]
    assert code in listed, f"{name}: {answer.status_code} {answer.text}"


def _route(method: str, path: str) -> str | None:
    """The first route of the table that takes the request, as the service looks for it."""
    for name, route in ROUTES.items():
        if route.method == method and re.fullmatch(re.sub(r"{\w+}", "[^/]+", route.path), path):
            return name
    return None
