"""Run an MCP server as a child process, which exchanges one message per line on its standard input and output."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import signal
import sys
from collections.abc import Mapping
from typing import Any, Final

from agentsvc_nb.service.mcp import messages
from agentsvc_nb.service.mcp.messages import ConnectionLost, InvalidResponse, Message, Unavailable
from agentsvc_nb.service.mcp.servers import ServerConfig
from agentsvc_nb.wire.limits import MCP_MESSAGE_BYTES

LEAVING_SECONDS: Final = 2.0
_TAIL_CHARS: Final = 300
_INHERITED: Final = ("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER") + (
    ("APPDATA", "LOCALAPPDATA", "PATHEXT", "SYSTEMROOT", "TEMP", "USERPROFILE") if os.name == "nt" else ()
)
"""The environment variables that the command inherits. They contain no keys of the service or of other servers."""


class StdioChannel:
    """Carries requests to a server that is a child process. The first request starts the server's command.

    `close` ends the command and its process group. If the service is killed, the command's input ends, which tells the
    command to exit.
    """

    def __init__(self, server: ServerConfig) -> None:
        self._server = server
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Message]] = {}
        self._process: asyncio.subprocess.Process | None = None
        self._readers: list[asyncio.Task[None]] = []
        self._tail = ""
        self.version = ""

    async def request(
        self, method: str, params: Mapping[str, Any], seconds: float, *, modern: bool, mirrored: Mapping[str, str] = {}
    ) -> Message:
        """Send a request and return the server's result. Raises subclasses of `McpError`."""
        number = next(self._numbers)
        try:
            async with asyncio.timeout(seconds):
                await self._start()
                answer = self._waiting[number] = asyncio.get_running_loop().create_future()
                await self._write(messages.build_request(number, method, params, modern=modern))
                return messages.get_result(await answer)
        except TimeoutError:
            raise ConnectionLost(f"it did not answer within {seconds:g} s") from None
        finally:
            self._waiting.pop(number, None)

    async def notify(self, method: str) -> None:
        await self._write({"jsonrpc": "2.0", "method": method})

    async def close(self) -> None:
        """Close the command's input, and wait up to `LEAVING_SECONDS` for the command to exit.

        Then kill the rest of the command's process group.
        """
        process, self._process = self._process, None
        if process is None:
            return
        try:
            assert process.stdin is not None
            process.stdin.close()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), LEAVING_SECONDS)
        finally:
            _kill_group(process)
            with contextlib.suppress(TimeoutError):  # wait, because otherwise the process's pipes would remain open
                await asyncio.wait_for(asyncio.gather(process.wait(), *self._readers), LEAVING_SECONDS)
            for reader in self._readers:
                reader.cancel()

    async def _start(self) -> None:
        if self._process is not None:
            return
        environment = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        if self._server.key_as:
            environment[self._server.key_as] = self._server.key
        pipe = asyncio.subprocess.PIPE
        try:
            process = await asyncio.create_subprocess_exec(
                *self._server.command,
                stdin=pipe,
                stdout=pipe,
                stderr=pipe,
                env=environment,
                limit=MCP_MESSAGE_BYTES,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise Unavailable(f"its command did not start: {error}") from None
        self._process = process
        self._readers = [
            asyncio.create_task(self._read_output(process)),
            asyncio.create_task(self._read_errors(process)),
        ]

    async def _write(self, message: Message) -> None:
        process = self._process
        if process is None or process.stdin is None:
            raise Unavailable("its command has ended")
        try:
            process.stdin.write(json.dumps(message, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
            await process.stdin.drain()
        except OSError:
            raise ConnectionLost(self._describe_end()) from None

    async def _read_output(self, process: asyncio.subprocess.Process) -> None:
        """Pass each response to the request that waits for it.

        If the output ends or a line is too long, all waiting requests fail.
        """
        assert process.stdout is not None
        fault: Exception = InvalidResponse(f"its message exceeds {MCP_MESSAGE_BYTES:,} bytes")
        with contextlib.suppress(ValueError):  # `readline` raises this for a line that is too long
            while line := await process.stdout.readline():
                with contextlib.suppress(InvalidResponse):  # ignore lines that are not MCP messages
                    await self._handle(messages.parse(line, self._server.key))
            await asyncio.sleep(0)  # let `_read_errors` read the last lines of standard error
            fault = ConnectionLost(self._describe_end())
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(fault)
        _kill_group(process)

    async def _handle(self, message: Message) -> None:
        if messages.is_request(message):
            with contextlib.suppress(Unavailable, ConnectionLost):
                await self._write(messages.build_response(message))
            return
        number = message.get("id")
        waiting = self._waiting.get(number) if isinstance(number, int) else None
        if waiting is not None and not waiting.done():
            waiting.set_result(message)

    async def _read_errors(self, process: asyncio.subprocess.Process) -> None:
        """Keep the end of standard error, which usually says why the command exited."""
        assert process.stderr is not None
        while piece := await process.stderr.read(4096):
            self._tail = (self._tail + piece.decode("utf-8", "replace"))[-_TAIL_CHARS * 4 :]

    def _describe_end(self) -> str:
        words = " ".join(messages.remove_key(self._tail, self._server.key).split())[-_TAIL_CHARS:]
        return f"its command ended with the message: {words}" if words else "its command ended"


def _kill_group(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(OSError):
        if sys.platform != "win32":
            os.killpg(process.pid, signal.SIGKILL)
        elif process.returncode is None:
            process.kill()
