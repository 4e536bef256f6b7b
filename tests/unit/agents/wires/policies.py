"""A policy answers in a model's place, in any provider's form.

A policy is a generator: it gets a `Request`, yields calls of tools (a tuple of them for one step), is sent their
results and returns the answer. Each request starts it anew with the results that the request holds, so a policy knows
nothing else. It fails, and the run with it, where a tool, a table's columns or a result is missing in the request.
"""

from __future__ import annotations

import base64
import io
import json
import re
from collections import deque
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final

from PIL import Image

from tests.unit.agents.wires.reply import Body, Reply

SEARCH: Final = "search_tools"
_TABLE: Final = re.compile(
    r"^- (.+?)(?:, sheet (.+?))?: table (\S+), [\d,]+ rows, \d+ columns(?:, in a file .+?)?: (.+)$", re.MULTILINE
)
_ERROR: Final = '{"error"'
"""How errors begin in forms that have no mark for them."""
_QUESTION: Final = "[Now: "
"""Stands behind the message of the turn, and behind no other text of a request."""


@dataclass(frozen=True)
class Call:
    tool: str
    given: dict[str, Any]


def call(tool: str, **given: object) -> Call:
    return Call(tool, given)


@dataclass
class Result:
    """What came of a call: its text, the pictures shown with it, and whether it has its form's mark of an error."""

    text: str
    is_error: bool = False
    pictures: list[Image.Image] = field(default_factory=list)

    def rows(self) -> list[list[str]]:
        """The cells of the first Markdown table, without its head; 1.5 is read as 1.50."""
        assert not self.is_error, self.text
        lines = [line[1:-1].split("|") for line in self.text.splitlines() if line.startswith("| ")]
        return [[re.sub(r"(\.\d)$", r"\g<1>0", cell.strip().replace("\\", "")) for cell in cells] for cells in lines][
            2:
        ]

    def find(self, pattern: str) -> str:
        found = re.search(pattern, self.text)
        assert found is not None, f"no {pattern} in {self.text}"
        return found[1]


@dataclass(frozen=True)
class Table:
    path: str
    sheet: str
    name: str
    columns: tuple[str, ...]


@dataclass
class Request:
    """`tools` has the properties of each tool's input, `earlier` the texts of the turns before, and `done` each call of
    this turn with its result."""

    system: str = ""
    tools: dict[str, dict[str, Any]] = field(default_factory=dict)
    earlier: list[str] = field(default_factory=list)
    message: str = ""
    done: list[tuple[Call, Result]] = field(default_factory=list)
    whole: str = ""

    @property
    def names(self) -> list[str]:
        """What the question has in backticks."""
        return re.findall(r"`([^`]+)`", self.message.partition("\n\n")[0])

    @property
    def urls(self) -> list[str]:
        return re.findall(r"https?://\S+[\w/]", self.message.partition("\n\n")[0])

    @property
    def attached(self) -> str:
        """The path of the first file that came with the message."""
        return re.findall(r"^Attached: (.+?) \(", self.message, re.MULTILINE)[0]

    def tables(self, *columns: str) -> list[Table]:
        """The tables that the message tells of with these columns."""
        told = {
            Table(path, sheet, name, tuple(re.findall(r"(?:^|; )(\w+) \(", about)))
            for path, sheet, name, about in _TABLE.findall(self.message)
        }
        found = [table for table in told if {*columns} <= {*table.columns}]
        assert found, f"no table with {columns} in {self.message}"
        return sorted(found, key=lambda table: table.name)


Policy = Callable[[Request], Generator[Any, Any, str | dict[str, Any]]]


def following(policy: Policy, writes: int | None = None) -> Callable[[Body], Reply]:
    """Return what answers each request by the policy, in so many tokens (`Reply.writes`). A policy that fails refuses
    the request and says why."""

    def answer(body: Body) -> Reply:
        try:
            return replace(_next(policy, read(body)), writes=writes)
        except Exception as error:
            return Reply(status=400, error=f"the policy failed: {type(error).__name__} {error}")

    return answer


def _next(policy: Policy, request: Request) -> Reply:
    thought = policy(request)
    done = deque((made, result) for made, result in request.done if made.tool != SEARCH)
    try:
        step = next(thought)
        while done:
            wanted = step if isinstance(step, tuple) else (step,)
            made, results = zip(*(done.popleft() for _ in wanted), strict=True)
            assert [one.tool for one in made] == [one.tool for one in wanted], f"{made} was made, not {wanted}"
            step = thought.send(results if isinstance(step, tuple) else results[0])
    except StopIteration as end:
        if isinstance(end.value, str):
            return Reply((end.value,))
        form = next((name for name in request.tools if name in ("final_result", "answer")), None)
        return Reply(calls=((form, json.dumps(end.value)),)) if form else Reply((json.dumps(end.value),))
    calls = step if isinstance(step, tuple) else (step,)
    if missing := [one.tool for one in calls if one.tool not in request.tools]:
        searched = [made.given for made, _ in request.done if made.tool == SEARCH]
        assert SEARCH in request.tools, f"{missing} is not offered"
        assert {"queries": missing} not in searched, f"{missing} was searched for and is not offered"
        calls = (call(SEARCH, queries=missing),)
    unknown = [name for one in calls for name in one.given if name not in request.tools[one.tool]]
    assert not unknown, f"the input of {calls} has no {unknown}"
    # Some providers want what a model thought back with the call that it led to.
    return Reply(thinking=("Next.",), calls=tuple((one.tool, json.dumps(one.given)) for one in calls))


def read(body: Body) -> Request:
    """Read a request in any of the forms."""
    request = Request(whole=json.dumps(body, ensure_ascii=False))
    calls: dict[str, Call] = {}
    for kind, said in _items(body):
        match kind:
            case "system":
                request.system += "\n".join(_texts(said))
            case "call":
                calls[said[0]] = Call(said[1], said[2])
            case "result":
                id, content, is_error = said
                request.done.append((calls[id], Result("\n".join(_texts(content)), is_error, _pictures(content))))
            case "user" if _QUESTION in (text := "\n\n".join(_texts(said))):
                request.message, request.done = text, []
            case "user" if request.done:
                request.done[-1][1].pictures.extend(_pictures(said))
            case _ if not request.message:
                request.earlier.append("\n\n".join(_texts(said)))
    for tool in body.get("tools", ()):
        for one in tool.get("functionDeclarations", [tool]):
            about = one.get("function", one)
            schemas = (about.get(name) for name in ("input_schema", "parameters_json_schema", "parameters"))
            schema: dict[str, Any] = next(filter(None, schemas), {})
            request.tools[about.get("name", "")] = schema.get("properties", {})
    return request


def _items(body: Body) -> Iterator[tuple[str, Any]]:
    """What was said, called and returned, in order."""
    for name in ("system", "instructions", "systemInstruction"):
        if said := body.get(name):
            yield "system", said
    for message in body.get("messages") or body.get("input") or body["contents"]:
        match message:
            case {"type": "function_call", "call_id": id, "name": tool, "arguments": given}:  # Responses
                yield "call", (id, tool, json.loads(given))
            case {"type": "function_call_output", "call_id": id, "output": output}:
                yield "result", (id, output, str(output).startswith(_ERROR))
            case {"role": "system" | "developer", "content": content}:
                yield "system", content
            case {"role": "tool", "tool_call_id": id, "content": content}:  # chat completions
                yield "result", (id, content, str(content).startswith(_ERROR))
            case {"role": role, "parts": parts} if any("functionResponse" in part for part in parts):  # Google
                for part in parts:
                    if "functionResponse" in part:
                        about, said = part["functionResponse"], part["functionResponse"]["response"]
                        texts = [one if isinstance(one, str) else json.dumps(one) for one in said.values()]
                        yield "result", (about["id"], [*texts, *about.get("parts", ())], "error" in said)
                yield "user", [part for part in parts if "functionResponse" not in part]
            case {"role": role, "parts": parts}:
                yield role, parts
                for made in (part["functionCall"] for part in parts if "functionCall" in part):
                    yield "call", (made["id"], made["name"], made.get("args", {}))
            case {"role": role}:
                blocks = message.get("content") or []
                blocks = [blocks] if isinstance(blocks, str) else blocks
                for block in blocks:  # Anthropic
                    match block:
                        case {"type": "tool_use", "id": id, "name": tool, "input": given}:
                            yield "call", (id, tool, given)
                        case {"type": "tool_result", "tool_use_id": id}:
                            yield "result", (id, block.get("content", ""), block.get("is_error", False))
                rest = [one for one in blocks if isinstance(one, str) or not one["type"].startswith("tool_")]
                if rest:
                    yield role, rest
                for made in message.get("tool_calls") or ():
                    yield "call", (made["id"], made["function"]["name"], json.loads(made["function"]["arguments"]))


def _blocks(content: Any) -> list[Any]:
    if isinstance(content, dict):
        return list(content.get("parts", [content]))
    return [content] if isinstance(content, str) else list(content)


def _texts(content: Any) -> list[str]:
    blocks = _blocks(content)
    return [one if isinstance(one, str) else one["text"] for one in blocks if isinstance(one, str) or "text" in one]


def _pictures(content: Any) -> list[Image.Image]:
    found: list[Image.Image] = []
    for block in _blocks(content):
        match block:
            case {"source": {"data": str(data)}} | {"inlineData": {"data": str(data)}}:
                pass
            case {"image_url": {"url": str(url)}} | {"image_url": str(url)}:
                data = url.partition(",")[2]
            case _:
                continue
        found.append(Image.open(io.BytesIO(base64.b64decode(data.translate(str.maketrans("-_", "+/"))))))
    return found
