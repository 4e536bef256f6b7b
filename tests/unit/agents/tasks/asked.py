"""What a model is asked: a request in a provider's form, read into what it says."""

from __future__ import annotations

import base64
import io
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from PIL import Image

from tests.unit.agents.wires.reply import Body

PICTURE: Final = "Picture: "
FAILED: Final = re.compile(r"[a-z_]+: ")
_TABLE: Final = re.compile(
    r"^- (?P<path>.+?)(?:, sheet (?P<sheet>.+?))?: table (?P<name>\S+), [\d,]+ rows", re.MULTILINE
)


@dataclass
class Result:
    """What came of a call: its text, and the pictures that were shown with it."""

    text: str = ""
    pictures: list[Image.Image] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        """By how failures begin: with their code."""
        return FAILED.match(self.text) is not None

    def rows(self) -> list[list[str]]:
        """The cells of its Markdown table, without the head."""
        lines = [line for line in self.text.splitlines() if line.startswith("| ")]
        return [[plain(cell) for cell in re.split(r"(?<!\\)\|", line[1:-1])] for line in lines][2:]

    def written(self) -> str:
        """The path of the first file that it names as written."""
        found = re.search(
            r"(?:Files written: |Wrote .*? to |Wrote |picture: )([^,\n]+?)(?:[,.]?$|, |\. )", self.text, re.M
        )
        if found is None:
            raise AssertionError(f"no file was written: {self.text}")
        return found[1]


@dataclass(frozen=True)
class Call:
    """A call of a tool."""

    tool: str
    given: dict[str, Any]


@dataclass(frozen=True)
class Told:
    """A table as the request tells of it."""

    path: str
    sheet: str
    name: str


@dataclass
class Asked:
    """A request: the instructions, the tools' names, the turns before as (role, text), the message with what stands
    behind it, and what was called since, each with its result."""

    system: str
    tools: tuple[str, ...]
    before: list[tuple[str, str]]
    message: str
    pictures: list[Image.Image]
    made: list[tuple[Call, Result]]

    @property
    def question(self) -> str:
        """The message alone, without what the service has put behind it."""
        return re.split(r"\n\n(?:Attached: |\[Now: )", self.message)[0]

    def names(self) -> list[str]:
        """How what comes of it is to be called: files and columns, as the question has them in backticks."""
        return re.findall(r"`([^`]+)`", self.question)

    def tables(self) -> list[Told]:
        return [Told(found["path"], found["sheet"] or "", found["name"]) for found in _TABLE.finditer(self.message)]

    def paths(self) -> list[str]:
        """All files that the message names."""
        attached = re.findall(r"^Attached: (.+?) \(", self.message, re.MULTILINE)
        listed = re.findall(r"^- (.+?)(?:: .*)?$", self.message.partition("[Files in the workspace:")[2], re.M)
        return list(dict.fromkeys([*attached, *(each.rstrip("]") for each in listed)]))


def read(body: Body) -> Asked:
    """A request in the form of Anthropic's Messages, OpenAI's Responses or chat completions."""
    items = list(_items(body))
    begun = max(place for place, (kind, said) in enumerate(items) if kind == "user" and not _shown(said))
    before = [(kind, _text(said)) for kind, said in items[:begun] if kind in ("user", "assistant")]
    message = items[begun][1]
    asked = Asked(_system(body), tuple(_tools(body)), before, _text(message), _pictures(message), [])
    calls: dict[str, Call] = {}
    for kind, said in items[begun + 1 :]:
        if kind == "call":
            calls[said["id"]] = Call(said["tool"], said["given"])
        elif kind == "result":
            asked.made.append((calls[said["id"]], Result(_text(said["content"]), _pictures(said["content"]))))
        elif kind == "user":
            asked.made[-1][1].pictures.extend(_pictures(said))
    return asked


def thoughts(body: Body) -> int:
    """How many pieces of what the model has thought a request gives back."""
    messages = body["input"] if "input" in body else body["messages"]
    found = (one for message in messages for one in (message, *_blocks(message)))
    return sum(one.get("type") in ("reasoning", "thinking") for one in found)


def _blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    return message["content"] if isinstance(message.get("content"), list) else []


def _items(body: Body) -> Iterator[tuple[str, Any]]:
    """The items of a request, in order: what the user said, the assistant said, calls and results."""
    for message in body["input"] if "input" in body else body["messages"]:
        match message:
            case {"type": "function_call"}:
                yield "call", _call(message["call_id"], message["name"], json.loads(message["arguments"]))
            case {"type": "function_call_output"}:
                yield "result", {"id": message["call_id"], "content": message["output"]}
            case {"role": "tool"}:
                yield "result", {"id": message["tool_call_id"], "content": message["content"]}
            case {"role": "user", "content": [*blocks]}:
                yield from (
                    ("result", {"id": one["tool_use_id"], "content": one.get("content", "")})
                    for one in blocks
                    if one["type"] == "tool_result"
                )
                if rest := [one for one in blocks if one["type"] != "tool_result"]:
                    yield "user", rest
            case {"role": "user"}:
                yield "user", message["content"]
            case {"role": "assistant"}:
                blocks = message.get("content") or []
                yield "assistant", blocks
                yield from (
                    ("call", _call(one["id"], one["name"], one["input"]))
                    for one in blocks
                    if isinstance(one, dict) and one["type"] == "tool_use"
                )
                for one in message.get("tool_calls") or []:
                    yield "call", _call(one["id"], one["function"]["name"], json.loads(one["function"]["arguments"]))


def _call(id: str, tool: str, given: dict[str, Any]) -> dict[str, Any]:
    return {"id": id, "tool": tool, "given": given}


def _system(body: Body) -> str:
    said = body.get("system") or body.get("instructions") or ""
    said = said or [one["content"] for one in body.get("messages", ()) if one["role"] in ("system", "developer")]
    return said if isinstance(said, str) else "\n\n".join(one if isinstance(one, str) else one["text"] for one in said)


def _tools(body: Body) -> Iterator[str]:
    for tool in body.get("tools") or ():
        yield tool.get("name") or tool["function"]["name"]


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n\n".join(
        one if isinstance(one, str) else one["text"] for one in content if isinstance(one, str) or "text" in one
    )


def _pictures(content: Any) -> list[Image.Image]:
    return [_picture(one) for one in content if isinstance(one, dict) and "image" in one["type"]]


def _picture(block: dict[str, Any]) -> Image.Image:
    match block:
        case {"source": {"data": data}}:  # Anthropic's
            pass
        case {"image_url": {"url": url}} | {"image_url": url}:  # OpenAI's
            data = url.partition(",")[2]
    return Image.open(io.BytesIO(base64.b64decode(data)))


def _shown(content: Any) -> bool:
    """Whether the service shows a picture that was asked for, where a user would speak."""
    return _text(content).startswith(PICTURE)


def plain(cell: str) -> str:
    """The text of a cell that was written in Markdown."""
    text = re.sub(r"&#(\d+);", lambda found: chr(int(found[1])), cell.strip())
    return re.sub(r"\\([\\`*\[\]<~|&_!#>+=-])", r"\1", text)
