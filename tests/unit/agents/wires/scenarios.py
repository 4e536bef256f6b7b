"""The scenarios: what each provider's stand-in answers, and what the run then says."""

from __future__ import annotations

import io
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from PIL import Image

from tests.unit.agents.wires.reply import GARBLED, INPUT_TOKENS, OUTPUT_TOKENS, REFUSAL, UNFINISHED, Reply

HALF: Final = ("Once upon", " a time")
TOLD: Final = "Once upon a time"
DONE: Final = Reply(("Done.",))
TEXT: Final = Reply(("Tea is ", "$4.50", " a cup."))
LONG_WORDS: Final = 3_000
SCHEMA: Final = {
    "type": "object",
    "properties": {"score": {"type": "integer", "maximum": 5}},
    "required": ["score"],
    "additionalProperties": False,
}
PARALLEL: Final = Reply(
    ("Let me see.",),
    ("Two calls ", "at once."),
    (("list_files", "{}"), ("read_file", '{"path": "uploads/a.txt"}')),
)
RETRIED: Final = ("model_retried",)
"""A warning for each time that the model was waited for."""


def picture() -> bytes:
    found = io.BytesIO()
    Image.new("RGB", (64, 64), "red").save(found, "PNG")
    return found.getvalue()


PICTURE: Final = picture()


@dataclass(frozen=True)
class Said:
    """What a run says: its status, `last_error`, output, codes of its warnings, steps, tokens (None: some), how often
    the provider was asked; `message` is in `last_error_message`, or in the first warning of a run that has none."""

    status: str = "completed"
    last_error: str | None = None
    output: str = "Done."
    warnings: tuple[str, ...] = ()
    steps: int = 1
    tokens: tuple[int, int] | None = (INPUT_TOKENS, OUTPUT_TOKENS)
    asked: int = 1
    message: str = ""


@dataclass(frozen=True)
class Scenario:
    """`docs` is what docs/models.md says of it, `cells` what it says of single providers. `but`: what a provider
    answers and says otherwise; None where its form has no such thing."""

    name: str
    docs: str
    replies: tuple[Reply, ...]
    said: Said
    options: dict[str, Any] = field(default_factory=dict)
    but: dict[str, tuple[tuple[Reply, ...], Said] | None] = field(default_factory=dict)
    cells: dict[str, str] = field(default_factory=dict)

    def row(self, providers: Iterable[str]) -> str:
        """Its row in docs/models.md."""
        return " | ".join(["", self.name, self.docs, *(self.cells.get(each, "yes") for each in providers), ""]).strip()

    def of(self, provider: str) -> tuple[tuple[Reply, ...], Said] | None:
        return self.but.get(provider, (self.replies, self.said))


def _failed(code: str, message: str, **more: Any) -> Said:
    return Said(**{"status": "failed", "last_error": code, "output": "", "message": message, **more})


REFUSES: Final[dict[str, Any]] = {"status": "failed", "output": TOLD}
LOST: Final = Reply(HALF, end="lost"), DONE
TOO_LONG: Final = Reply(fault="too_long"), DONE
BROKEN: Final = Reply(HALF, end="overloaded"), DONE
UNSHOWN: Final = {"responses": "not shown", "completions": "not shown"}
THINKS: Final = Reply(("Tea.",), thinking=("Hm, ", "tea?"))
FILTERED: Final = Reply(HALF, end="filtered")

SCENARIOS: Final = (
    Scenario("text", "`completed`; tokens as the provider counts them", (TEXT,), Said(output="Tea is $4.50 a cup.")),
    Scenario(
        "thinking", "events `thinking.delta`", (THINKS,), Said(output="Tea."), {"effort": "medium"}, cells=UNSHOWN
    ),
    Scenario(
        "parallel calls",
        "each call is made, and each result goes back",
        (PARALLEL, DONE),
        Said(output="Done.", steps=2, tokens=(2 * INPUT_TOKENS, 2 * OUTPUT_TOKENS), asked=2),
        {"files": [("a.txt", b"the code is 4711")], "effort": "medium"},
    ),
    Scenario(
        "malformed arguments",
        "no call is made; warning `malformed_call`, and the model is told",
        (Reply(calls=(("list_files", "[1"),)), DONE),
        Said(warnings=("malformed_call",), steps=2, tokens=(200, 20), asked=2, message="could not be made"),
        # Ollama passes on objects alone: what is left is a tool that there is not.
        but={
            "ollama": (
                (Reply(calls=(("no_such_tool", "{}"),)), DONE),
                Said(warnings=("malformed_call",), steps=2, tokens=(200, 20), asked=2, message="no_such_tool"),
            )
        },
        cells={"ollama": "of a tool that there is not"},
    ),
    Scenario(
        "schema",
        "an object that fits; one that does not goes back with the reason",
        (Reply(('{"score": 9}',)), Reply(('{"score": 4}',))),
        Said(output='{"score": 4}', steps=2, tokens=(200, 20), asked=2),
        {"output_config": SCHEMA},
    ),
    Scenario(
        "refusal",
        "`failed`, `answer_refused`, with the model's words; what was said is kept",
        (Reply(HALF, end="refused"),),
        Said(**REFUSES, last_error="answer_refused", message=REFUSAL),
        but={
            "google": (
                (Reply(HALF, end="refused"),),
                Said(**REFUSES, last_error="content_filtered", message="PROHIBITED_CONTENT"),
            ),
            "ollama": None,
        },
        cells={"google": "`content_filtered`", "ollama": "has none"},
    ),
    Scenario(
        "filtered",
        "`failed`, `content_filtered`, with the provider's reason; what was said is kept",
        (FILTERED,),
        Said(**REFUSES, last_error="content_filtered", message="content_filter"),
        but={
            "google": ((FILTERED,), Said(**REFUSES, last_error="content_filtered", message="SAFETY")),
            "anthropic": ((FILTERED,), Said(**REFUSES, last_error="answer_refused", message="without a word")),
            "ollama": None,
        },
        cells={"anthropic": "`answer_refused`", "ollama": "has none"},
    ),
    Scenario(
        "cut stream",
        "warning `model_retried`; asked again from the last checkpoint, the half is counted",
        LOST,
        Said(warnings=RETRIED, tokens=None, asked=2, message="broke off in the middle"),
    ),
    Scenario(
        "overloaded in mid-stream",
        "the same",
        BROKEN,
        Said(warnings=RETRIED, tokens=None, asked=2, message="verloaded"),
        but={"ollama": (BROKEN, Said(warnings=RETRIED, tokens=None, asked=2, message="resource limitations"))},
    ),
    Scenario(
        "401",
        "`failed`, `model_refused`, asked once",
        (Reply(fault="no_key"),),
        _failed("model_refused", "key", tokens=(0, 0)),
        but={"ollama": ((Reply(fault="no_key"),), _failed("model_refused", "unauthorized", tokens=(0, 0)))},
    ),
    Scenario("404", "the same", (Reply(fault="no_model"),), _failed("model_refused", "model", tokens=(0, 0))),
    Scenario(
        "429 with Retry-After",
        "warning `model_retried`; waits as long as it is asked to",
        (Reply(fault="limited", retry_after=1), DONE),
        Said(warnings=RETRIED, asked=2, message="asked again in 1 second"),
    ),
    Scenario(
        "429 without",
        "warning `model_retried`; waits from 1 second up to 2 minutes",
        (Reply(fault="limited"), Reply(fault="limited"), DONE),
        Said(warnings=RETRIED * 2, asked=3, message="(429)"),
    ),
    Scenario(
        "quota used up",
        "`failed`, `model_unavailable`, asked once; to be resumed once there is credit",
        (Reply(fault="spent"),),
        _failed("model_unavailable", "quota", tokens=(0, 0)),
        but={
            "anthropic": ((Reply(fault="spent"),), _failed("model_unavailable", "credit balance", tokens=(0, 0))),
            "ollama": ((Reply(fault="spent"),), _failed("model_unavailable", "usage limit", tokens=(0, 0))),
        },
    ),
    Scenario(
        "413",
        "`failed`, `model_refused`, asked once",
        (Reply(fault="too_large"),),
        _failed("model_refused", "(413)", tokens=(0, 0)),
    ),
    Scenario(
        "500",
        "as 429 without Retry-After",
        (Reply(fault="broken"), DONE),
        Said(warnings=RETRIED, asked=2, message="(500)"),
    ),
    Scenario(
        "no first event",
        "warning `model_retried` after 5 minutes",
        (Reply(hangs=True), DONE),
        Said(warnings=RETRIED, asked=2, message="timed out"),
    ),
    Scenario(
        "silence between events",
        "warning `model_retried` after 2 minutes; what was said is counted",
        (Reply(("Once",), hangs=True), DONE),
        Said(warnings=RETRIED, tokens=None, asked=2, message="silent for too long"),
    ),
    Scenario(
        "long answer",
        "all of it; where it is cut for its length, `completed` with a warning `answer_cut`",
        (Reply(("word ",) * LONG_WORDS, end="length"),),
        Said(output="word " * LONG_WORDS, warnings=("answer_cut",), message="The answer was cut"),
        {"max_cents": 1_000},  # which pays the model's largest answer
    ),
    Scenario(
        "usage in each event",
        "the last count is taken",
        (Reply(("Tea ", "is ", "$4.50", " a cup."), repeats_usage=True),),
        Said(output="Tea is $4.50 a cup."),
    ),
    Scenario(
        "half a character",
        "two halves of a surrogate pair in two events are joined; a lone half is U+FFFD",
        (Reply(("Tea \ud83c", "\udf75, \ud83c", "milk\udf75 and", " sugar\ud83c")),),
        Said(output="Tea \U0001f375, \ufffdmilk\ufffd and sugar\ufffd"),
    ),
    Scenario(
        "bytes that are not UTF-8",
        "warning `model_retried`; asked again, what was said is counted",
        (Reply(("Once", GARBLED)), DONE),
        Said(warnings=RETRIED, tokens=None, asked=2, message="UTF-8"),
    ),
    Scenario(
        "an event that is not JSON",
        "the same",
        (Reply(("Once", UNFINISHED)), DONE),
        Said(warnings=RETRIED, tokens=None, asked=2, message="JSON"),
    ),
    Scenario(
        "picture",
        "its bytes are in the request",
        (Reply(("Red.",)),),
        Said(output="Red."),
        {"files": [("red.png", PICTURE)]},
    ),
    Scenario(
        "cancel",
        "the connection is cut; steps and tokens so far are seen while it runs, the cut call is counted",
        (PARALLEL, Reply(HALF, hangs=True)),
        Said(status="cancelled", output=f"Let me see.\n\n{TOLD}", steps=2, tokens=None, asked=2),
        {"files": [("a.txt", b"the code is 4711")]},
    ),
    Scenario(
        "context exceeded",
        "warning `context_exceeded`; shortened, and asked again; the next run has the whole context again",
        TOO_LONG,
        Said(warnings=("context_exceeded",), asked=2, message="(400)"),
        # Of a context of 16,384 tokens less is left than all tools take.
        but={"ollama": (TOO_LONG, Said(warnings=("context_exceeded",), asked=2, message="(400)"))},
    ),
)
