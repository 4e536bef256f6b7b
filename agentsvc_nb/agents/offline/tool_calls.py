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

from agentsvc_nb.agents.offline.basis import AnswerPart, without_result
from agentsvc_nb.agents.offline.questions import asks
from agentsvc_nb.agents.offline.writing import code, quote
from agentsvc_nb.formats.briefs import amended, in_lines, is_labelled
from agentsvc_nb.formats.safe_text import escape
from agentsvc_nb.tools.port import Outcome, Tool, Workspace

PICTURES_DEFAULT: Final = 2
PICTURES_MAX: Final = 20
_OBJECTS_TRIED: Final = 20

_MAKE = (
    r"create|draw|make|generate|design|produce|render|erstelle?n?|zeichne\w*|mache?n?|generiere\w*|entwirf|gestalte\w*|"
    r"crée[rz]?|cree[rz]?|dessine[rz]?|génère[rz]?|fais|crea[r]?|dibuja[r]?|genera[r]?|diseña[r]?|haz"
)
_PICTURE = (
    r"(?:image |display |static |banner )?(?:ads?|adverts?|creatives?|visuals?)|images?|pictures?|banners?|posters?|"
    r"anzeigen?(?:motive?)?|bild(?:er)?|werbebild(?:er)?|werbeanzeigen?|plakate?|visuels?|affiches?|bannières?|"
    r"im[aá]genes|im[aá]gen|anuncios?|carteles"
)
_WISH = re.compile(rf"\b(?:{_MAKE})\b(?:\W+\w+){{0,7}}?\W+(?:{_PICTURE})\b", re.I)
_COUNTED = re.compile(rf"\b(\w+)\W+(?:{_PICTURE})\b", re.I)
_READ_FIRST = (
    r"\b(?:read|see|open|use|follow|check|lies|nimm|öffne|nutze|lis|ouvre|utilise|lee|abre|usa)\b[^.!?\n]{0,40}?"
    r"\bbrief\w*(?:\.\w+)?\b[^.!?\n]{0,40}?\b(?:and|then|und|et|y)\W+"
)
_COMMAND = re.compile(
    rf"(?:{_READ_FIRST})?(?:\b(?:please|bitte)\W+)?(?:{_WISH.pattern}|\bcreate_images\b)"
    r"(?:\W+(?:for|of|about|on|with|für|zu|über|mit|pour|sur|de|para|sobre|con)\b)?[ \t:,]*",
    re.I,
)
_WHOLE_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_SENTENCE = re.compile(
    rf"{_WHOLE_SENTENCE.pattern}|,?\s+(?:and|und|et|y)\s+(?=(?:what|which|who|how|was|welche\w*|wie|quel\w*|que|qué)\b)",
    re.I,
)
_NUMBERS: Final = {
    word: number
    for number, words in enumerate(
        ("one|an|a|ein|eine|einen|un|une|una", "two|zwei|deux|dos", "three|drei|trois|tres", "four|vier|quatre|cuatro",
         "five|fünf|cinq|cinco", "six|sechs|seis", "seven|sieben|sept|siete", "eight|acht|huit|ocho",
         "nine|neun|neuf|nueve",
         "ten|zehn|dix|diez"), 1)
    for word in words.split("|")
}  # fmt: skip


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
    if pictures and _WISH.search(message) and not any(call.tool == "create_images" for call in calls):
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
    return "\n".join(one for one in sentences if not _WISH.search(one) and not any(name in one for name in names))


def _beside_labels(line: str) -> list[str]:
    """The sentences of a line; of a line with a label of an ad's text (`Headline:`) only the questions."""
    if not is_labelled(line):
        return _SENTENCE.split(line)
    return [one for one in _WHOLE_SENTENCE.split(line) if asks(one)]


def without_command(message: str) -> str:
    """What a picture is to be about: the message without the words that order the picture.

    >>> without_command("Please create 3 ads for our summer sale")
    'our summer sale'
    """
    return _COMMAND.sub("", message, count=1).strip().lstrip(".,:;! ")


def pictures_for(message: str) -> dict[str, Any]:
    """The input of `create_images`: the message is the brief, two pictures unless it says how many.

    >>> pictures_for("Draw three ads for tents")["request"]["outputs"]
    {'mode': 'count', 'count': 3}
    """
    near = _WISH.search(message) or _COUNTED.search(message)
    words = re.findall(r"\w+", near[0].casefold()) if near else []
    counts = [int(word) if re.fullmatch("[0-9]{1,2}", word) else _NUMBERS.get(word, 0) for word in words]
    count = max(counts, default=0) or PICTURES_DEFAULT
    outputs = {"mode": "count", "count": min(count, PICTURES_MAX)}
    return {"request": {"kind": "static_ad", "brief": _without_questions(message), "outputs": outputs}}


def _without_questions(message: str) -> str:
    """The message without its questions to the files, which are no part of a brief."""
    whole = _WHOLE_SENTENCE.split(message)
    parts = [part for one in whole if not is_labelled(one) for part in _SENTENCE.split(one)]
    for sentence in (*whole, *parts):
        if asks(sentence) and not _WISH.search(sentence):
            message = message.replace(sentence, "", 1)
    return message.strip(" ,\n")


def _named(tool: Tool, message: str) -> Call:
    """The call of a tool that is named in the message. Its input is the JSON in the message, else the message as the
    tool's one required text field. The input of a tool with effects (an e-mail) is never guessed."""
    given = _json(message)
    if given is None and tool.name == "create_images":
        given = pictures_for(message)
    if given is None and not tool.effect:
        given = _one_text(tool, message)
    try:
        tool.Input.model_validate(given if given is not None else {})
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
