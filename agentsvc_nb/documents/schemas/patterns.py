"""Untrusted regular expressions (ECMA 262), searched for in bounded work.

Most patterns are searched for in linear time: one search costs at most the text's length times the size of the compiled
pattern. Lookaround and backreferences need an engine that backtracks: the longer the text, the fewer steps it gets, as
each step may read all of it. Both engines come with jsonschema-rs and hold the interpreter's lock while they search.
"""

from __future__ import annotations

import re
import time
from bisect import bisect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from agentsvc_nb.wire.text import label

if TYPE_CHECKING:
    import jsonschema_rs


SIZES: Final = tuple(600 << doubled for doubled in range(12))
"""Limits in bytes for a compiled pattern: the smallest that suffices counts as the pattern's size."""
SIZES_MAX: Final = 16_000_000
"""Bytes of all patterns of a schema together, which are compiled before the first search."""
SEARCH_WORK: Final = 1_000_000_000
"""Limit of one search, in bytes of text times bytes of pattern; the worst patterns found take a nanosecond per unit."""
SHORT_BYTES: Final = 10_000
"""In a text of at most this length the engine's cache is not overrun: a step takes a tenth of the time, or less."""
BACKTRACKS_MAX: Final = 1_000_000
"""The most steps of one search by the engine that backtracks, however short the text is."""
SECONDS_MAX: Final = 1.0
"""Processor time for all searches of a matcher; checked before each search."""


class BadSchema(ValueError):
    """The schema, or a pattern in it, can't be used. `str()` is the rest of a sentence that begins with the schema's
    name: "is nested too deeply"."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """A pattern, the limit of its compiled size in bytes, and whether its engine backtracks."""

    source: str
    size: int
    backtracks: bool

    def steps(self, length: int) -> int:
        """The steps that a search in a text of `length` bytes may take, each of which may read all of it; 0: the text
        is too long to be searched."""
        work = SEARCH_WORK * 10 if self.backtracks and length <= SHORT_BYTES else SEARCH_WORK
        return min(work // (self.size * max(length, 1)), BACKTRACKS_MAX)


def compiled(pattern: str) -> Compiled:
    """The engine for a pattern and the smallest sufficient size. Raises `BadSchema` for a pattern that does not
    compile."""
    import jsonschema_rs as rs

    for options, backtracks in ((rs.RegexOptions, False), (rs.FancyRegexOptions, True)):
        if _is_made(pattern, options(size_limit=SIZES[-1])):
            at = bisect(range(len(SIZES) - 1), 0, key=lambda at: _is_made(pattern, options(size_limit=SIZES[at])))
            return Compiled(pattern, SIZES[at], backtracks)
    why = "is no regex (ECMA 262), or one of more than 1 MB: a maxLength takes less"
    raise BadSchema(f"is not a valid JSON Schema: the pattern {label(pattern, 80)!r} {why}")


class Matcher:
    """Searches for patterns until its time is used up; `exhausted` then says why, and nothing is found any more.

    Example: `Matcher().found("^a+$", "aaa")`
    """

    def __init__(self) -> None:
        self._patterns: dict[str, Compiled] = {}
        self._engines: dict[str, jsonschema_rs.Draft202012Validator] = {}
        self.begin()

    def begin(self) -> None:
        """Give the full time again, for the next value."""
        self.exhausted = ""
        self._spent = 0.0

    def load(self, pattern: str) -> Compiled:
        """Compile a pattern. Raises `BadSchema`, also when all patterns together are too large."""
        if pattern not in self._patterns:
            self._patterns[pattern] = compiled(pattern)
            if sum(known.size for known in self._patterns.values()) > SIZES_MAX:
                raise BadSchema("has patterns that take more than 16 MB together")
        return self._patterns[pattern]

    def found(self, pattern: str, text: str) -> bool:
        """Whether the pattern occurs in the text. Also False when the search was given up: see `exhausted`."""
        try:
            chosen = self.load(pattern)
        except BadSchema as error:
            self.exhausted = self.exhausted or str(error)
            return False
        length = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
        if self._spent > SECONDS_MAX or chosen.steps(length) == 0:
            self._give_up(pattern)
        if self.exhausted:
            return False
        began = time.thread_time()
        found = self._searched(chosen, length, text)
        self._spent += time.thread_time() - began
        return found

    def _searched(self, chosen: Compiled, length: int, text: str) -> bool:
        import jsonschema_rs as rs

        if not chosen.backtracks:
            return self._linear(chosen).is_valid(text)
        options = rs.FancyRegexOptions(size_limit=chosen.size, backtrack_limit=chosen.steps(length))
        error = next(_engine(chosen.source, options).iter_errors(text), None)
        if error is not None and not isinstance(error.kind, rs.ValidationErrorKind.Pattern):
            self._give_up(chosen.source)
        return error is None

    def _linear(self, chosen: Compiled) -> jsonschema_rs.Draft202012Validator:
        import jsonschema_rs as rs

        if chosen.source not in self._engines:
            self._engines[chosen.source] = _engine(chosen.source, rs.RegexOptions(size_limit=chosen.size))
        return self._engines[chosen.source]

    def _give_up(self, pattern: str) -> None:
        self.exhausted = (
            self.exhausted or f"has a pattern that takes too long to be searched for: {label(pattern, 80)!r}"
        )


_CONTROL = re.compile(r"\\c([A-Za-z])|\\.", re.DOTALL)
_CLASSES = re.compile(r"(\\[wWdDsS])|\\.|\[(?:\\.|[^\]\\])*\]?", re.DOTALL)


def bracketed(pattern: str) -> str:
    r"""The same pattern with brackets around each class such as `\w`, and with `\x01` for `\cA`: jsonschema-rs
    translates each by reading the whole pattern once more, so that ten thousand took minutes.

    >>> bracketed(r"\w[\w]\\w")
    '[\\w][\\w]\\\\w'
    """
    pattern = _CONTROL.sub(lambda found: f"\\x{ord(found[1]) % 32:02x}" if found[1] else found[0], pattern)
    return _CLASSES.sub(lambda found: f"[{found[0]}]" if found[1] else found[0], pattern)


def _is_made(pattern: str, options: jsonschema_rs.RegexOptions | jsonschema_rs.FancyRegexOptions) -> bool:
    try:
        _engine(pattern, options)
    except ValueError:
        return False
    return True


def _engine(
    pattern: str, options: jsonschema_rs.RegexOptions | jsonschema_rs.FancyRegexOptions
) -> jsonschema_rs.Draft202012Validator:
    import jsonschema_rs as rs

    return rs.Draft202012Validator({"pattern": bracketed(pattern)}, pattern_options=options, offline=True, mask="…")
