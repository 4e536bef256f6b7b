"""`RunContext`, `ToolContext` and `Workspace` in memory, for agents and tools without a database."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import mimetypes
import uuid
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentsvc_nb.agents.port import ClientToolDefinition, EarlierTurn, MadeCall, ProjectRules, StepsExceeded
from agentsvc_nb.documents import media_types
from agentsvc_nb.documents.engine.child import answer
from agentsvc_nb.documents.engine.messages import ReadQuestion, SqlQuestion, TableAnswer, TableFile
from agentsvc_nb.documents.schemas import describe_misfit
from agentsvc_nb.documents.search_query import matches, parse
from agentsvc_nb.service.accounts.usage_records import ModelUsage
from agentsvc_nb.service.runner.workspace import ChatTables
from agentsvc_nb.tools.port import Outcome, OutgoingCall, Tool, WorkFailure
from agentsvc_nb.tools.workspace_port import StoredMedia
from agentsvc_nb.wire.limits import STEPS_MAX
from agentsvc_nb.wire.runs import AnswerBasis, Effort


@dataclass(frozen=True)
class Entry:
    path: str
    media_type: str
    size_bytes: int
    sha256: str
    kind: str = "upload"
    output_type: str | None = None
    unreadable: str = ""


class MemoryWorkspace:
    """The files of one chat. `outputs`: by path, the id and type of what made each."""

    def __init__(self, folder: Path, files: Mapping[str, str | bytes] | None = None) -> None:
        self.folder = folder
        self.outputs: dict[str, tuple[str, str] | None] = {}
        self.tables = ChatTables(self.list, self._content, TablesHere(folder.with_name(f"{folder.name}-tables")))
        for path, content in (files or {}).items():
            self.put(path, content.encode() if isinstance(content, str) else content)

    def put(self, path: str, data: bytes, output: tuple[str, str] | None = None) -> None:
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        self.outputs[path] = output

    def bytes(self, path: str) -> bytes:
        return (self.folder / path).read_bytes()

    async def list(self) -> Sequence[Entry]:
        return [self._entry(path) for path in sorted(self.outputs)]

    def _entry(self, path: str) -> Entry:
        data, (_, output_type) = self.bytes(path), self.outputs[path] or ("", None)
        media_type = mimetypes.guess_type(path)[0] or "application/octet-stream"
        return Entry(path, media_type, len(data), hashlib.sha256(data).hexdigest(), output_type=output_type)

    @contextlib.asynccontextmanager
    async def open(self, path: str) -> AsyncGenerator[Path]:
        if path not in self.outputs:
            raise FileNotFoundError(path)
        yield self.folder / path

    @contextlib.asynccontextmanager
    async def _content(self, sha256: str) -> AsyncGenerator[Path]:
        yield next(self.folder / entry.path for entry in await self.list() if entry.sha256 == sha256)

    async def text(self, path: str) -> str:
        async with self.open(path) as file:
            return "" if b"\0" in (data := file.read_bytes()) else data.decode("utf-8", "replace")

    async def unreadable(self, path: str) -> str:
        async with self.open(path):
            return ""

    async def search(self, query: str) -> Sequence[tuple[str, float]]:
        parsed = parse(query)
        assert parsed is not None
        return [(path, 1.0) for path in sorted(self.outputs) if matches(parsed, f"{path} {await self.text(path)}")]


class TablesHere:
    """Reads tables and answers questions about them in this process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    async def read(self, file: TableFile) -> TableAnswer:
        return await self.ask(ReadQuestion(file))

    async def ask(self, question: SqlQuestion | ReadQuestion) -> TableAnswer:
        self.folder.mkdir(parents=True, exist_ok=True)
        return await asyncio.to_thread(answer, question, self.folder)


class Unlimited:
    """Money without limits."""

    async def room(self) -> int | None:
        return None

    async def hold(self, input_tokens: int, output_tokens: int, microcents: int | None = None) -> None: ...

    async def sending(self, call: OutgoingCall) -> bool:
        return False

    def use_uncounted(self) -> None: ...


class MemoryToolContext(Unlimited):
    fetch_only: tuple[str, ...] | None = None
    model = "scripted"

    def __init__(self, workspace: MemoryWorkspace, key: str | None = None) -> None:
        self.key = key or uuid.uuid4().hex
        self.workspace: Any = workspace
        self.files = workspace
        self.kept: dict[str, StoredMedia] = {}
        self.spent = ModelUsage()
        self.charges: dict[str, int] = {}
        self.rules = ""
        self.was_called = False
        """Whether an earlier attempt at the run has called the tools."""
        self.resources: dict[str, Any] = {}
        self._contexts = contextlib.AsyncExitStack()

    async def keep_open(self, tool: str, opened: Callable[[bool], contextlib.AbstractAsyncContextManager[Any]]) -> Any:
        if tool not in self.resources:
            self.resources[tool] = await self._contexts.enter_async_context(opened(self.was_called))
        return self.resources[tool]

    async def close(self) -> None:
        """End the attempt: what tools hold is closed."""
        self.resources.clear()
        await self._contexts.aclose()

    async def instructions(self) -> str:
        return self.rules

    async def change_instructions(self, change: Callable[[str], str]) -> None:
        self.rules = change(self.rules)

    def charge(self, kind: str) -> None:
        self.charges[kind] = self.charges.get(kind, 0) + 1

    def use(self, input_tokens: int, output_tokens: int, microcents: int) -> None:
        self.spent.use(input_tokens, output_tokens, microcents)

    async def progress(self, done: float, total: float | None = None, message: str = "") -> None: ...

    async def write(self, path: str, data: bytes, *, output: tuple[str, str] | None = None) -> None:
        self.files.put(path, data, output)

    async def keep_page(self, url: str) -> str:
        return f"page_{url}"

    async def keep_media(self, name: str, data: bytes, source: str, url: str) -> str | None:
        kind = (media_types.media_type(data[: media_types.HEAD_BYTES]) or "").partition("/")[0]
        if kind not in ("image", "video", "audio"):
            return None
        self.files.put(f"media/{name}", data)
        kept = StoredMedia(f"media_{name}", kind, url, None, None, lambda: self.files.open(f"media/{name}"))
        self.kept[kept.id] = kept
        return kept.id

    async def media(self, media_id: str) -> StoredMedia | None:
        return self.kept.get(media_id)

    async def keep_transcript(self, media_id: str, transcript: Mapping[str, Any]) -> None: ...


class MemoryRunContext(Unlimited):
    """One turn. `events` are (type, payload) in order."""

    model = "scripted"
    effort: Effort | None = None
    output_config: dict[str, Any] | None = None
    attached: tuple[str, ...] = ()

    def __init__(self, message: str, workspace: MemoryWorkspace, tools: Sequence[Tool] = ()) -> None:
        self.message = message
        self.state: dict[str, Any] | None = None
        self.workspace: Any = workspace
        self.files = workspace
        self.offered = list(tools)
        self.asked: list[ClientToolDefinition] = []
        self.events: list[tuple[str, Any]] = []
        self.steps = 0
        self.tokens = (0, 0)
        self.checkpoints: list[dict[str, Any]] = []
        self.said = self.safe = ""

    async def misfit(self, text: str) -> str | None:
        return None if self.output_config is None else describe_misfit(text, self.output_config)

    async def attachments(self) -> Sequence[Entry]:
        return [entry for entry in await self.workspace.list() if entry.path in self.attached]

    async def project(self) -> ProjectRules | None:
        return None

    async def earlier(self, limit: int) -> Sequence[EarlierTurn]:
        return ()

    async def calls(self) -> Sequence[MadeCall]:
        return ()

    async def step(self) -> None:
        if self.steps >= STEPS_MAX:
            raise StepsExceeded
        self.steps += 1
        self.events.append(("step", self.steps))

    async def say(self, text: str) -> None:
        self.said += text
        self.events.append(("say", text))

    async def think(self, text: str) -> None:
        self.events.append(("think", text))

    async def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        self.events.append(("progress", (done, total, message)))

    async def warn(self, code: str, message: str) -> None:
        self.events.append(("warn", (code, message)))

    def rests_on(self, basis: AnswerBasis) -> None:
        self.events.append(("basis", basis))

    async def write(self, path: str, data: bytes, *, output: tuple[str, str] | None = None) -> None:
        self.files.put(path, data, output)
        self.events.append(("write", path))

    async def call(self, tool: str, given: dict[str, Any], key: str | None = None) -> Outcome:
        self.events.append(("call", (tool, given)))
        found = next((one for one in self.offered if one.name == tool), None)
        if found is None:
            return Outcome(error=("tool_not_found", f"No tool is called {tool}."))
        try:
            return await found.run(found.Input.model_validate(given), MemoryToolContext(self.files))
        except WorkFailure as failure:
            return Outcome(error=(failure.code, failure.message))

    def tools(self) -> Sequence[Tool]:
        return self.offered

    async def connect_tools(self) -> None: ...

    def client_tools(self) -> Sequence[ClientToolDefinition]:
        return self.asked

    def use(self, input_tokens: int, output_tokens: int, microcents: int | None = None) -> None:
        self.tokens = (self.tokens[0] + input_tokens, self.tokens[1] + output_tokens)

    async def checkpoint(self, state: dict[str, Any]) -> None:
        self.state = dict(state)
        self.checkpoints.append(dict(state))
        self.safe = self.said

    async def rewind(self) -> None:
        self.said = self.safe
        self.events.append(("rewind", None))

    def of(self, kind: str) -> list[Any]:
        return [payload for type_, payload in self.events if type_ == kind]
