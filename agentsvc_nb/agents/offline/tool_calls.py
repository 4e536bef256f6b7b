"""Which tools a message asks the offline agent to run, and their input, which is taken from the message alone."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import PurePosixPath
from typing import Any, Final

from pydantic import ValidationError

from agentsvc_nb.agents.offline.questions import asks
from agentsvc_nb.agents.offline.writing import AnswerPart, code, quote, without_result
from agentsvc_nb.documents.briefs import orders
from agentsvc_nb.documents.briefs.orders import WISH, without_command
from agentsvc_nb.documents.briefs.parsing import amended, describes, in_lines, is_labelled, labelled
from agentsvc_nb.documents.safe_text import escape
from agentsvc_nb.tools import port
from agentsvc_nb.tools.port import Outcome, Tool
from agentsvc_nb.tools.workspace_port import Workspace

_OBJECTS_TRIED: Final = 20

_WHOLE_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_SENTENCE = re.compile(
    rf"{_WHOLE_SENTENCE.pattern}|,?\s+(?:and|und|et|y)\s+(?=(?:what|which|who|how|was|welche\w*|wie|quel\w*|que|qué)\b)",
    re.I,
)


@dataclass(frozen=True)
class Call:
    """A tool to run. `given` is None when the message does not say enough to fill its input."""

    tool: str
    given: dict[str, Any] | None
    missing: str = ""


def wanted(message: str, tools: Sequence[Tool]) -> list[Call]:
    """The calls that a message asks for: tools by name, and pictures in clear words."""
    offered = [tool for tool in tools if tool.available()]
    calls = [_named(tool, message) for tool in offered if re.search(rf"(?<!\w){re.escape(tool.name)}(?!\w)", message)]
    pictures = any(tool.name == "create_images" for tool in offered)
    if pictures and WISH.search(message) and not any(call.tool == "create_images" for call in calls):
        calls.append(Call("create_images", pictures_for(message)))
    return calls


def remainder(message: str, calls: Sequence[Call]) -> str:
    """The message without the sentences that the calls answer, a sentence a line: the questions left for the files."""
    if not calls:
        return message
    names = [call.tool for call in calls]
    if "create_images" not in names:
        sentences = _SENTENCE.split(message)
    else:
        sentences = [one for line in in_lines(message).split("\n") for one in _beside_labels(line)]
    return "\n".join(one for one in sentences if not WISH.search(one) and not any(name in one for name in names))


def _beside_labels(line: str) -> list[str]:
    """The sentences of a line; of a line with a label of an ad's text (`Headline:`) only the questions."""
    if not is_labelled(line):
        return _SENTENCE.split(line)
    return [one for one in _WHOLE_SENTENCE.split(line) if asks(one)]


def pictures_for(message: str) -> dict[str, Any]:
    """The input of `create_images`: the message is the brief. One picture is made, unless it says how many or in which
    sizes, or asks for "pictures" without giving them a headline.

    >>> pictures_for("Draw three ads for tents")["request"]["outputs"]
    {'mode': 'count', 'count': 3}
    """
    sizes = orders.sizes(message)
    outputs = {
        "mode": "count",
        "count": orders.count(message, len(sizes), headline=bool(labelled("headline", in_lines(message)))),
    }
    request = {"kind": "static_ad", "brief": _without_questions(message), "outputs": outputs}
    return {"request": request | ({"sizes": sizes} if sizes else {})}


def _without_questions(message: str) -> str:
    """The message without its questions to the files, which are no part of a brief."""
    whole = _WHOLE_SENTENCE.split(message)
    parts = [part for one in whole if not is_labelled(one) for part in _SENTENCE.split(one)]
    for sentence in (*whole, *parts):
        if asks(sentence) and not WISH.search(sentence):
            message = message.replace(sentence, "", 1)
    return message.strip(" ,\n")


def _named(tool: Tool, message: str) -> Call:
    """The call of a tool that is named in the message. Its input is the JSON in the message, else the message as the
    tool's one required text field. The input of a tool with effects (an e-mail) is never guessed."""
    given = _json(message)
    if given is None and tool.name == "create_images":
        given = pictures_for(message)
    # What is sent to somebody can't be taken back.
    if given is None and not tool.effect:
        given = _one_text(tool, message)
    try:
        port.validate(tool.Input, given if given is not None else {})
    except ValidationError as error:
        fields = {".".join(str(part) for part in detail["loc"]) or "its input" for detail in error.errors()}
        return Call(tool.name, None, ", ".join(sorted(fields)))
    return Call(tool.name, given or {})


def _one_text(tool: Tool, message: str) -> dict[str, Any] | None:
    required = [name for name, field in tool.Input.model_fields.items() if field.is_required()]
    if len(required) != 1 or tool.Input.model_fields[required[0]].annotation is not str:
        return None
    return {required[0]: " ".join(message.replace(tool.name, " ").split())}


def _json(message: str) -> dict[str, Any] | None:
    for found in islice(re.finditer(r"\{", message), _OBJECTS_TRIED):
        try:
            given, _ = json.JSONDecoder().raw_decode(message, found.start())
        except (ValueError, RecursionError):
            continue
        return given if isinstance(given, dict) else None
    return None


BRIEF_CHARS: Final = 6_000
_BRIEF = re.compile(r"(?i)brief|kampagne|campaign|campagne|campaña")


async def with_brief(given: dict[str, Any], workspace: Workspace) -> dict[str, Any]:
    """The input of `create_images` with the chat's brief, if any, added after the message's own text, whose labels
    win."""
    request = dict(given.get("request") or {})
    said = str(request.get("brief", ""))
    request["brief"] = amended(await _brief(workspace), said=_subject(orders.without_placed(said)))
    request = await _placed(said, request["brief"], workspace) | request
    return given | {"request": request}


async def _placed(message: str, brief: str, workspace: Workspace) -> dict[str, str]:
    """The product and the logo that a message or its brief wants on a picture, by their paths: those that it names, or
    the only one that there is. A picture that the chat does not have is named all the same, for the tool to refuse."""
    paths = [entry.path for entry in await workspace.list() if entry.media_type in orders.PLACED_TYPES]
    # Pictures that were made here are no material for others, unless they are named.
    own = [path for path in paths if not path.startswith("images/")]
    found: dict[str, str] = {}
    for name in orders.pictures_named(message) or orders.pictures_named(brief):
        path = next((one for one in paths if name in (one, PurePosixPath(one).name)), name)
        found.setdefault("logo" if orders.is_logo(path) else "product", path)
    logos = [path for path in own if orders.is_logo(path)]
    others = [path for path in own if not orders.is_logo(path)]
    for field, choice in (("logo", logos), ("product", others)):
        if field not in found and len(choice) == 1 and orders.wants(field, f"{message}\n{brief}"):
            found[field] = choice[0]
    return found


def _subject(message: str) -> str:
    """What the message says of the ad itself: its labels, and what it is about."""
    said = without_command(in_lines(message))
    first, _, rest = said.partition("\n")
    if describes(first):
        return rest
    return said[:1].upper() + said[1:] if first.split(" ")[0].islower() else said


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


def not_run(call: Call) -> AnswerPart:
    """Why a call without its input was not made."""
    why = f"The message does not say what it needs: {escape(call.missing)}."
    how = "Write its input as JSON after its name."
    return without_result("asked_back", f"{code(call.tool)} was not run. {why} {how}\n\n")


def answer(tool: str, outcome: Outcome) -> AnswerPart:
    """A tool's outcome: its files, its text, or why it failed."""
    if outcome.error:
        reason, message = outcome.error
        return without_result("nothing", f"{code(tool)} failed ({code(reason)}): {escape(message)}\n\n")
    images = [block["path"] for block in outcome.content if block.get("type") == "image" and "path" in block]
    texts = [str(block["text"]) for block in outcome.content if block.get("type") == "text" and block.get("text")]
    if not images:
        quotes = "".join(quote(text, code(tool)) for text in texts if text.strip())
        return without_result("quoted", f"{code(tool)} is done.\n\n{quotes}")
    made = "1 picture" if len(images) == 1 else f"{len(images)} pictures"
    notes = "".join(f"{escape(text)}\n\n" for text in texts)
    files = "".join(f"- {code(path)}\n" for path in images)
    return without_result("quoted", f"{made} made\n\n{files}\n{notes}")
