"""The scripted agent executes the message as a script with one command per line (docs/api/models.md). It is for tests
and demos.

    say TEXT · wait SECONDS · write PATH TEXT · call TOOL JSON · together [[TOOL, JSON], ...] · step N ·
    progress DONE TOTAL MESSAGE · usage INPUT OUTPUT · usage none · answer TEXT · basis JSON ·
    fail CODE MESSAGE · fail-http CODE · rewind

It streams any other line, and any malformed command, as text. The same script always has the same result.

`Scripted(read_recording(file))` replays a recorded conversation. It takes the message as a question, and the script
from the lines below that question in the file.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Coroutine, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from agentsvc_nb.agents.port import RunContext
from agentsvc_nb.documents import json_reading
from agentsvc_nb.tools.port import WorkFailure
from agentsvc_nb.wire.codes import CODES
from agentsvc_nb.wire.limits import STEPS_MAX
from agentsvc_nb.wire.runs import AnswerBasis, typed

LONG_CHARS: Final = 100_000

Part = tuple[int, int]
"""The start and end offsets of a part of the script, with its last newline. Lists of lines would need more memory."""

LINES_AT_ONCE = 50
"""The number of lines after which other asyncio tasks can run, because most lines do not wait for anything."""


NOT_RECORDED: Final = (
    "This service replays a recorded conversation, which has no answer to this question. No model was asked."
    " List other models with `%agentsvc model`. The recorded questions are:"
)


class Rewound(Exception):
    """Raised if the script has asked to restart its current step."""


class Malformed(ValueError):
    """Raised if the arguments of a command can't be parsed."""


def find_refusal(message: str) -> str | None:
    """Return the error code in the script's command `fail-http`, or None if the script has no such command.

    The service must then refuse to start the run, with this code.

    >>> find_refusal("say hello\\nfail-http brain_unavailable")
    'brain_unavailable'
    """
    codes = (rest.strip() for _, _, rest in _commands(message, "fail-http"))
    return next((code for code in codes if code in CODES), None)


def steps(message: str) -> list[Part]:
    """Split a script into model steps. The command `step N` begins N steps, and the lines after it belong to the last
    of these.

    The first step needs no command: a script that begins with `step N` has N steps, not N + 1.

    >>> script = "say a\\nstep 2\\nsay b"
    >>> [script[start:end] for start, end in steps(script)]
    ['say a\\n', '', 'say b']
    """
    script: list[Part] = []
    at, begun = 0, False
    for start, end, count in _commands(message, "step"):
        if new := _new_steps(count.strip()):
            if begun or start > at:
                script.append((at, start))
            # A larger N makes no difference, because one step more than the maximum already exceeds the limit.
            script += [(end, end)] * (min(new, STEPS_MAX + 1 - len(script)) - 1)
            at, begun = end, True
    end = len(message.removesuffix("\n")) + 1  # a newline at the end of the message does not begin another line
    return [*script, (at, end)] if begun or end > at else script


def read_recording(file: str) -> dict[str, str]:
    """Return the scripts of a recorded conversation, by question. In the file, each script follows a line `ask
    QUESTION`. Text before the first such line is a comment.

    Raises `ValueError` if the file can't be read or has no question.
    """
    try:
        text = Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"The recorded conversation {file} can't be read: {error}.") from None
    turns = list(_commands(text, "ask"))
    if not turns:
        raise ValueError(f"{file} is not a recorded conversation: no line begins with `ask`.")
    ends = [*(start for start, _, _ in turns[1:]), len(text)]
    return {
        _on_one_line(asked): text[start:end].strip("\n") for (_, start, asked), end in zip(turns, ends, strict=True)
    }


def _on_one_line(question: str) -> str:
    """Return the question on one line, so that questions with different whitespace are equal."""
    return " ".join(question.split())


def _has_lines(part: Part) -> bool:
    return part[0] < part[1]


def _new_steps(count: str) -> int:
    return int(count[:9]) if count.isascii() and count.isdigit() else 0


def _commands(message: str, verb: str) -> Iterator[tuple[int, int, str]]:
    """Yield the start, end and arguments of each line that begins with `verb`. The end includes the newline."""
    at = 0
    while message.startswith(f"{verb} ", at) or (at := message.find(f"\n{verb} ", at) + 1):
        end = _line_end(message, at)
        yield at, end + 1, message[at + len(verb) + 1 : end]
        at = end + 1


def _lines(message: str, part: Part) -> Iterator[tuple[int, str]]:
    """Yield the start offset and text of each line of a part. Only newlines end lines, not other Unicode separators."""
    start, stop = part
    while start < stop:
        end = _line_end(message, start)
        yield start, message[start:end].removesuffix("\r")
        start = end + 1


def _line_end(message: str, start: int) -> int:
    end = message.find("\n", start)
    return len(message) if end < 0 else end


class Scripted:
    """The agent (`port.Agent`) that executes a script: the message itself, or the script that `recorded` has for the
    message.

    It saves a checkpoint between steps, so a crash or `rewind` repeats only the current step.
    """

    def __init__(self, recorded: Mapping[str, str] | None = None) -> None:
        self._recorded = recorded

    async def run(self, turn: RunContext) -> str | None:
        message = self._script(typed(turn.message))
        long = len(message) > LONG_CHARS  # for a short script, starting a thread would take longer
        script = await asyncio.to_thread(steps, message) if long else steps(message)
        performance = _Performance(turn, message)
        while performance.step < len(script):
            at = performance.step
            # There is nothing to save before the first step, or between the empty steps of a command such as `step
            # 1500`.
            if at and (_has_lines(script[at]) or _has_lines(script[at - 1])):
                await turn.checkpoint({"step": at, "answer": performance.answer})
            try:
                await performance.play(script[at])
            except Rewound:
                performance.restore()
            else:
                performance.step += 1
        return turn.said.removesuffix("\n") if performance.answer is None else performance.answer

    def _script(self, message: str) -> str:
        if self._recorded is None:
            return message
        questions = "\n".join(f"- {question}" for question in self._recorded)
        return self._recorded.get(_on_one_line(message), f"say {NOT_RECORDED}\n\n{questions}")


class _Performance:
    """The state of one execution of a script. `rewound` is not in the checkpoint, because a rewind would reset it."""

    def __init__(self, turn: RunContext, script: str) -> None:
        self.turn = turn
        self.script = script
        self.rewound: set[int] = set()
        self.step = 0
        self.answer: str | None = None
        self.restore()

    def restore(self) -> None:
        state = self.turn.state or {}
        self.step = int(state.get("step", 0))
        self.answer = state.get("answer")

    async def play(self, step: Part) -> None:
        await self.turn.step()
        for number, (place, line) in enumerate(_lines(self.script, step), 1):
            if number % LINES_AT_ONCE == 0:
                await asyncio.sleep(0)
            if line == "rewind":
                await self._rewind(place)
            else:
                await self._perform(line)

    async def _rewind(self, place: int) -> None:
        if place not in self.rewound:
            self.rewound.add(place)
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

    # Each command parses its arguments immediately, raises `ValueError` if they are malformed, and returns a coroutine.

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
        given = json_reading.read(text)
        if not tool or not isinstance(given, dict):
            raise Malformed(rest)
        return self._call(tool, given)

    def together(self, rest: str) -> Coroutine[Any, Any, None]:
        calls = json_reading.read(rest)
        if not isinstance(calls, list) or not all(map(_is_call, calls)):
            raise Malformed(rest)
        return self._together(calls)

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

    def basis(self, rest: str) -> Coroutine[Any, Any, None]:
        self.turn.rests_on(AnswerBasis.model_validate(json_reading.read(rest)))
        return _nothing()

    def fail(self, rest: str) -> Coroutine[Any, Any, None]:
        code, _, message = rest.partition(" ")
        if not code:
            raise Malformed(rest)
        raise WorkFailure(code, message)

    def fail_http(self, rest: str) -> Coroutine[Any, Any, None]:
        """Do nothing, because `find_refusal` has handled this command before the run started."""
        if rest.strip() not in CODES:
            raise Malformed(rest)
        return _nothing()

    async def _say(self, text: str) -> None:
        await self.turn.say(text + "\n")

    async def _use(self, given: int, made: int) -> None:
        """Reserve and count a model call with exactly these numbers of tokens."""
        await self.turn.hold(given, made)
        self.turn.use(given, made)

    async def _call(self, tool: str, given: dict[str, Any]) -> None:
        await self.turn.connect_tools()
        await self.turn.call(tool, given)

    async def _together(self, calls: list[tuple[str, dict[str, Any]]]) -> None:
        async with asyncio.TaskGroup() as group:
            for tool, given in calls:
                group.create_task(self._call(tool, given))


_COMMANDS: dict[str, Callable[[_Performance, str], Coroutine[Any, Any, None]]] = {
    "say": _Performance.say,
    "wait": _Performance.wait,
    "write": _Performance.write,
    "call": _Performance.call,
    "together": _Performance.together,
    "progress": _Performance.progress,
    "usage": _Performance.usage,
    "answer": _Performance.set_answer,
    "basis": _Performance.basis,
    "fail": _Performance.fail,
    "fail-http": _Performance.fail_http,
}


def _is_call(value: object) -> bool:
    match value:
        case [str(), dict()]:
            return True
    return False


def _number(text: str) -> float:
    number = float(text)
    if not (math.isfinite(number) and number >= 0):
        raise Malformed(text)
    return number


async def _nothing() -> None:
    return None
