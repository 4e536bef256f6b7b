"""The scripted agent: the message is the script, a command a line (docs/api/models.md). For tests and demonstrations.

    say TEXT · wait SECONDS · write PATH TEXT · call TOOL JSON · step N · progress DONE TOTAL MESSAGE ·
    usage INPUT OUTPUT · usage none · answer TEXT · fail CODE MESSAGE · fail-http CODE · rewind

Any other line, and any malformed command, is said as text. Deterministic.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Coroutine
from typing import Any, Final

from agentsvc_nb.agents.port import RunContext
from agentsvc_nb.formats.schemas import output
from agentsvc_nb.tools.port import WorkFailure
from agentsvc_nb.wire.codes import CODES
from agentsvc_nb.wire.limits import STEPS_MAX

LONG_CHARS: Final = 100_000

Line = tuple[int, str]
"""A line of the script and its number."""

LINES_AT_ONCE = 50
"""Lines that are performed before others have their turn: most lines wait for nothing."""


class Rewound(Exception):
    """The script asked to restart its current step."""


class Malformed(ValueError):
    """A line begins like a command, but its arguments can't be read."""


def refusal(message: str) -> str | None:
    """The error code of the script's `fail-http`, with which the start itself is refused; None without that command.

    >>> refusal("say hello\\nfail-http brain_unavailable")
    'brain_unavailable'
    """
    if "fail-http" not in message:  # of most messages, some of which have megabytes of lines
        return None
    for line in lines(message):
        verb, _, code = line.partition(" ")
        if verb == "fail-http" and code.strip() in CODES:
            return code.strip()
    return None


def lines(message: str) -> list[str]:
    """The lines of a script. Only newlines end a line (other separators of Unicode belong to the text); a final newline
    begins no further line."""
    return [line.removesuffix("\r") for line in message.removesuffix("\n").split("\n")]


def steps(message: str) -> list[list[Line]]:
    """The script as model steps: `step N` begins N steps, the last of which holds the lines that follow.

    The first step needs no command; a script that begins with `step N` has N steps, not N + 1.

    >>> [len(step) for step in steps("say a\\nstep 2\\nsay b")]
    [1, 0, 1]
    """
    script: list[list[Line]] = []
    for number, line in enumerate(lines(message)):
        if count := _new_steps(line):
            # One step more than a run may have is enough to exceed the limit, however large N is.
            script += [[] for _ in range(min(count, STEPS_MAX + 1 - len(script)))]
        elif not script:
            script.append([(number, line)])
        else:
            script[-1].append((number, line))
    return script


def _new_steps(line: str) -> int:
    verb, _, count = line.partition(" ")
    count = count.strip()
    return int(count[:9]) if verb == "step" and count.isascii() and count.isdigit() else 0


class Scripted:
    """Performs one script. A checkpoint between steps: a crash, or `rewind`, repeats only the step in flight."""

    async def run(self, turn: RunContext) -> str | None:
        long = len(turn.message) > LONG_CHARS  # a change of thread takes as long as a short script
        script = await asyncio.to_thread(steps, turn.message) if long else steps(turn.message)
        performance = _Performance(turn)
        while performance.step < len(script):
            at = performance.step
            # There is nothing to save before the first step, and between the empty steps of `step 1500`.
            if at and (script[at] or script[at - 1]):
                await turn.checkpoint({"step": at, "answer": performance.answer})
            try:
                await performance.play(script[at])
            except Rewound:
                performance.restore()
            else:
                performance.step += 1
        return turn.said.removesuffix("\n") if performance.answer is None else performance.answer


class _Performance:
    """The state of one call of `run`. It remembers the rewinds already done: a checkpoint can't, as a rewind restores
    it."""

    def __init__(self, turn: RunContext) -> None:
        self.turn = turn
        self.rewound: set[int] = set()
        self.step = 0
        self.answer: str | None = None
        self.restore()

    def restore(self) -> None:
        state = self.turn.state or {}
        self.step = int(state.get("step", 0))
        self.answer = state.get("answer")

    async def play(self, step: list[Line]) -> None:
        await self.turn.step()
        for number, line in step:
            if number % LINES_AT_ONCE == LINES_AT_ONCE - 1:
                await asyncio.sleep(0)
            if line == "rewind":
                await self._rewind(number)
            else:
                await self._perform(line)

    async def _rewind(self, number: int) -> None:
        if number not in self.rewound:
            self.rewound.add(number)
            await self.turn.rewind()
            raise Rewound

    async def _perform(self, line: str) -> None:
        verb, _, rest = line.partition(" ")
        command = _COMMANDS.get(verb)
        try:
            action = command(self, rest) if command else self._say(line)
        except (ValueError, RecursionError):
            action = self._say(line)
        await action

    # Each command parses its arguments when it is called (`ValueError`: malformed) and returns a coroutine to await.

    def say(self, rest: str) -> Coroutine[Any, Any, None]:
        return self._say(rest)

    def wait(self, rest: str) -> Coroutine[Any, Any, None]:
        return asyncio.sleep(_number(rest))

    def write(self, rest: str) -> Coroutine[Any, Any, None]:
        path, _, text = rest.partition(" ")
        if not path:
            raise Malformed(rest)
        return self.turn.write(path, text.encode("utf-8", "replace"))

    def call(self, rest: str) -> Coroutine[Any, Any, None]:
        tool, _, text = rest.partition(" ")
        given = output.read(text)
        if not tool or not isinstance(given, dict):
            raise Malformed(rest)
        return self._call(tool, given)

    def progress(self, rest: str) -> Coroutine[Any, Any, None]:
        done, total, *message = rest.split(" ", 2)
        return self.turn.progress(_number(done), _number(total), *message)

    def usage(self, rest: str) -> Coroutine[Any, Any, None]:
        if rest.strip() == "none":
            self.turn.use_uncounted()
            return _nothing()
        given, made = rest.split()
        if not (rest.isascii() and given.isdigit() and made.isdigit()):
            raise Malformed(rest)
        return self._use(int(given), int(made))

    def set_answer(self, rest: str) -> Coroutine[Any, Any, None]:
        self.answer = rest
        return _nothing()

    def fail(self, rest: str) -> Coroutine[Any, Any, None]:
        code, _, message = rest.partition(" ")
        if not code:
            raise Malformed(rest)
        raise WorkFailure(code, message)

    def fail_http(self, rest: str) -> Coroutine[Any, Any, None]:
        """Do nothing: only the start of a run can be refused, which `refusal` sees to."""
        if rest.strip() not in CODES:
            raise Malformed(rest)
        return _nothing()

    async def _say(self, text: str) -> None:
        await self.turn.say(text + "\n")

    async def _use(self, given: int, made: int) -> None:
        """A call of a model that has no other worst case."""
        await self.turn.hold(given, made)
        self.turn.use(given, made)

    async def _call(self, tool: str, given: dict[str, Any]) -> None:
        await self.turn.call(tool, given)


_COMMANDS: dict[str, Callable[[_Performance, str], Coroutine[Any, Any, None]]] = {
    "say": _Performance.say,
    "wait": _Performance.wait,
    "write": _Performance.write,
    "call": _Performance.call,
    "progress": _Performance.progress,
    "usage": _Performance.usage,
    "answer": _Performance.set_answer,
    "fail": _Performance.fail,
    "fail-http": _Performance.fail_http,
}


def _number(text: str) -> float:
    number = float(text)
    if not (math.isfinite(number) and number >= 0):
        raise Malformed(text)
    return number


async def _nothing() -> None:
    return None
