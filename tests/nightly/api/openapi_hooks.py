"""What the document can't say, told to the fuzzer; it loads this module by its name.

A lookup of a job names a chat, or a project and session, and JSON Schema can't ask for one of several parameters. The
input of a tool, and whether it is a job, is said by the catalog and not by the document. Files that are sent along and
staged ones that are named have one limit together.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

import schemathesis

from agentsvc_nb.settings import Settings
from agentsvc_nb.tools.catalog import add_ask_tool, tools
from agentsvc_nb.wire.limits import ATTACHMENTS_MAX
from agentsvc_nb.wire.routes import ROUTES

INPUTS: Final[dict[str, dict[str, Any]]] = {
    "create_images": {"request": {"brief": "Headline: Summer sale", "outputs": {"count": 1}}},
    "echo_job": {"steps": 1, "seconds": 0, "files": {}},
    "ask_stefanbrain": {"message": "say Hello"},
}
SKILLS: Final[dict[str, Any]] = {"tone": {"SKILL.md": "---\nname: tone\ndescription: Ours.\n---\nShort sentences."}}
"""What the front matter of a `SKILL.md` has to say is said in words."""
JOB: Final = "echo_job"
RESULT: Final[dict[str, Any]] = {"content": [{"type": "text", "text": "seven lamps"}], "is_error": True}
TOOL: Final[dict[str, Any]] = {"description": "Looks up.", "input_schema": {"type": "object"}, "effect": True}
CATALOG: Final = add_ask_tool(tools(Settings(Path(), model="scripted")))


@schemathesis.hook
def before_call(context: schemathesis.HookContext, case: schemathesis.Case[Any], kwargs: dict[str, Any]) -> None:
    query = case.query or {}
    if case.operation.path.startswith(ROUTES["jobs.status"].path) and not query.keys() & {"chat", "project", "session"}:
        case.query = {**query, "chat": os.environ["FUZZED_CHAT"]}
    if case.meta is None or not case.meta.generation.mode.is_positive or not isinstance(case.body, dict):
        return
    if case.operation.path == ROUTES["runs.start"].path:
        body = _as_said_in_words(case.body)
        payload = body.get("payload")
        if isinstance(payload, dict):
            body = {**body, "payload": _as_said_in_words(payload)}
        if isinstance(files := body.get("files"), list):
            named = (payload if isinstance(payload, dict) else body).get("file_ids")
            body = {**body, "files": files[: ATTACHMENTS_MAX - (len(named) if isinstance(named, list) else 0)]}
        if body != case.body:  # what is set is judged anew, and a right one with files then counts as wrong
            case.body = body
    elif case.operation.path == ROUTES["projects.update"].path:
        if case.body.get("skills") and case.body["skills"] != SKILLS:
            case.body = {**case.body, "skills": SKILLS}
    elif case.operation.path == ROUTES["runs.approve"].path:
        if case.body.get("approved") is not True:  # only an approval has these fields
            case.body = {name: value for name, value in case.body.items() if name not in ("input", "standing")}
    elif case.operation.path == ROUTES["runs.answer"].path:
        case.body = {"pending": True} if case.body.get("pending") else {**case.body, **RESULT}
    elif case.operation.path == ROUTES["jobs.submit"].path:
        tool = str(case.body.get("tool"))
        if tool in CATALOG and not (tool in INPUTS and CATALOG[tool].asynchronous):
            tool = JOB
        case.body = {**case.body, "tool": tool, "input": INPUTS.get(tool, {})}
    elif case.operation.path == ROUTES["tools.invoke"].path:
        parts = case.path_parameters or {}
        tool = JOB if parts["name"] in CATALOG.keys() - INPUTS.keys() else parts["name"]
        case.path_parameters = {**parts, "name": tool}
        case.body = {**case.body, "input": INPUTS.get(tool, {})}


def _as_said_in_words(body: dict[str, Any]) -> dict[str, Any]:
    """Which models are offered is said by `GET /models` and not by the document. That no two client tools have one
    name, that together they are small and exclude `sync`, and that `files_from` is for a new chat, is said in words."""
    if body.get("files_from") is not None:
        body = {name: value for name, value in body.items() if name not in ("chat", "session")}
    if isinstance(tools := body.get("client_tools"), list):
        body = {**body, "client_tools": [{**TOOL, "name": f"tool_{n}"} for n in range(len(tools))], "sync": False}
    return {**body, "model": "scripted"} if isinstance(body.get("model"), str) else body
