"""What the offline agent gives a tool that draws, and what it says about a tool's outcome."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Any, Final

from agentsvc_nb.safe.literal import escape
from agentsvc_nb.service.ports.tools import Outcome, Workspace
from agentsvc_nb.service.rules.ad_labels import amended
from agentsvc_nb.service.work.agents.offline.markdown import code, quote
from agentsvc_nb.service.work.agents.offline.tools import without_command

BRIEF_CHARS: Final = 6_000
_BRIEF = re.compile(r"(?i)brief|kampagne|campaign|campagne|campaña")


async def with_brief(given: dict[str, Any], workspace: Workspace) -> dict[str, Any]:
    """The input of `create_images` with the chat's brief, when there is one, behind what the message says, whose
    labels win."""
    request = dict(given.get("request") or {})
    request["brief"] = amended(await _brief(workspace), said=without_command(str(request.get("brief", ""))))
    return given | {"request": request}


async def _brief(workspace: Workspace) -> str:
    texts = [
        entry for entry in await workspace.list() if entry.media_type.startswith("text/") or entry.path.endswith(".md")
    ]
    briefs = [entry.path for entry in texts if _BRIEF.search(PurePosixPath(entry.path).stem)]
    if not briefs:
        return ""
    try:
        return (await workspace.text(briefs[0]))[:BRIEF_CHARS]
    except FileNotFoundError:
        return ""


def answer(tool: str, outcome: Outcome) -> str:
    """A tool's outcome as Markdown: its files, its text, or why it failed."""
    if outcome.error:
        reason, message = outcome.error
        return f"**{code(tool)} failed** ({code(reason)}): {escape(message)}\n\n"
    images = [block["path"] for block in outcome.content if block.get("type") == "image" and "path" in block]
    texts = [str(block["text"]) for block in outcome.content if block.get("type") == "text" and block.get("text")]
    if not images:
        return f"**{code(tool)} is done.**\n\n" + "".join(quote(text, code(tool)) for text in texts if text.strip())
    made = "1 picture" if len(images) == 1 else f"{len(images)} pictures"
    notes = "".join(f"{escape(text)}\n\n" for text in texts)
    return f"**{made} made**\n\n" + "".join(f"- {code(path)}\n" for path in images) + f"\n{notes}"
