"""`review_copy`: facts about an ad's words that can be counted."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from agentsvc_nb.wire.toolset.shapes import Check, Filled, ToolInput, ToolOutput

COPY_CHARS = 20_000
Platform = Literal[
    "google_search", "meta_feed", "instagram", "linkedin", "x", "tiktok", "pinterest", "youtube", "email", "sms"
]
ClaimKind = Literal["superlative", "number", "guarantee", "free", "scarcity", "comparison", "health", "environment"]
PartText = Annotated[str, StringConstraints(max_length=COPY_CHARS)]


class ReviewCopyInput(ToolInput):
    text: Annotated[Filled, StringConstraints(max_length=COPY_CHARS)] | None = Field(
        default=None, description="The whole text, when it has no parts.", examples=["Pack light. Tents from 49 euros."]
    )
    parts: dict[str, PartText] = Field(
        default_factory=dict,
        max_length=50,
        description="The text by part: `headline`, `description`, `primary_text`, `subject` and so on; a number behind "
        "the name makes more of one (`headline_2`).",
    )
    platform: Platform | None = Field(default=None, description="Where it is to appear; its limits are applied.")


class PartFacts(ToolOutput):
    name: str
    characters: int = Field(description="As the platform counts them.")
    words: int
    limit: int | None = Field(description="More than this is refused; null when the platform has none.")
    shown: int | None = Field(description="More than this is cut off in what people see at first.")


class Reading(ToolOutput):
    sentences: int
    words: int
    words_per_sentence: float
    syllables_per_word: float
    ease: float | None = Field(description="Flesch reading ease in the language's own form: 100 easy, 0 hard.")


class Claim(ToolOutput):
    text: str
    kind: ClaimKind
    advice: str


class Repeated(ToolOutput):
    word: str
    count: int


class Judgement(ToolOutput):
    """What a language model says of the text."""

    verdict: Literal["good", "mixed", "poor"]
    strengths: list[str]
    weaknesses: list[str]
    rewrite: str = Field(description="The text as the model would write it.")


class CopyReview(ToolOutput):
    language: str | None = Field(description="`en`, `de`, `fr` or `es`; null when it can't be told.")
    platform: Platform | None
    parts: list[PartFacts]
    reading: Reading
    claims: list[Claim]
    repeated: list[Repeated]
    checks: list[Check]
    judgement: Judgement | None = Field(default=None, description="What a language model thinks; null without one.")
