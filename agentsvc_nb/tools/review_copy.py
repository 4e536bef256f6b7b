"""Define `review_copy`, which checks an ad's text by fixed rules and asks a language model, if any, for a judgement."""

from __future__ import annotations

import asyncio
import unicodedata
from collections.abc import Iterator
from typing import ClassVar, Final

from pydantic import BaseModel

from agentsvc_nb.tools.port import LIMIT_REACHED, BaseTool, Check, Outcome, ToolContext, WorkFailure, ask
from agentsvc_nb.tools.support import copy_facts
from agentsvc_nb.tools.support.brand import read_brand
from agentsvc_nb.tools.support.copy_facts import CopyReview, Judgement, PartFacts, Reading, ReviewCopyInput

EASE_MIN: Final = 50.0
SENTENCE_WORDS_MAX: Final = 20.0
EMOJI_MAX: Final = 3
PROMPT: Final = (
    "You edit advertising. Judge the text below for {platform}: a verdict, its strengths, its weaknesses, and the text "
    "as you would write it. Ask of the copy: Is it clear at once what is offered and for whom? Is one benefit named, "
    "rather than several? Is each claim proven by something in the text? Is it clear what to do next? Would the same "
    "words fit any competitor? Does it break the advertiser's own rules, if there are some below? For each weakness "
    "quote the words that you mean. Claim nothing that the text does not say. What was counted is right: do not count "
    "again, and say what matters of it.\n\nCounted:\n{facts}\n\nThe text:\n{text}{brand}"
)


class ReviewCopy(BaseTool):
    """Computes facts about the text of an ad. Adds a judgement if a language model is configured."""

    name: ClassVar[str] = "review_copy"
    description: ClassVar[str] = (
        "Checks the words of an ad: length against the platform's limits, reading ease, claims to prove, "
        "repeated words."
    )
    group: ClassVar[str] = "ads"
    asynchronous: ClassVar[bool] = True
    idempotent: ClassVar[bool] = True
    settings_used: ClassVar[tuple[str, ...]] = ("model",)
    requirements: ClassVar[str] = (
        "The checks need nothing. `judgement` needs a language model: without one, or if it fails, `judgement` is "
        "null and `not_judged` says why. The model gets the counts, and the brand's files in the chat, which have "
        "names such as `BRAND.md` or `style-guide.pdf`."
    )
    Input: ClassVar[type[BaseModel]] = ReviewCopyInput
    Output: ClassVar[type[BaseModel] | None] = CopyReview

    async def run(self, given: ReviewCopyInput, context: ToolContext) -> Outcome:
        parts = {**({"text": given.text} if given.text else {}), **given.parts}
        if not any(text.strip() for text in parts.values()):
            raise WorkFailure("invalid_tool_input", "text: give the text to review, or give parts.")
        await context.progress(0, 2, "counting")
        review = await asyncio.to_thread(_review, parts, given)
        if self.services.complete is not None:
            await context.progress(1, 2, "asking the model")
            await self._judge(parts, review, context)
        await context.progress(2, 2, "done")
        return Outcome(content=[{"type": "text", "text": _summary(review)}], data=review.model_dump())

    async def _judge(self, parts: dict[str, str], review: CopyReview, context: ToolContext) -> None:
        """Add the language model's judgement to the review, or the reason why there is none."""
        own = await read_brand(context.workspace)
        review.brand_files = list(own.files)
        text = "\n".join(f"{name}: {part}" for name, part in parts.items())
        platform = review.platform or "no platform in particular"
        prompt = PROMPT.format(platform=platform, facts=_summary(review), text=text, brand=own.prompt)
        try:
            review.judgement = await ask(self.services.complete, prompt, Judgement, context)
        except WorkFailure as failure:
            if failure.code == LIMIT_REACHED:
                raise
            review.not_judged = f"{failure.code}: {failure.message}"


def _review(parts: dict[str, str], given: ReviewCopyInput) -> CopyReview:
    whole = "\n".join(parts.values())
    language = copy_facts.guess_language(whole)
    measured = [copy_facts.measure_part(name, text, given.platform) for name, text in parts.items()]
    reading = copy_facts.measure_reading(whole, language)
    return CopyReview(
        language=language,
        platform=given.platform,
        parts=measured,
        reading=reading,
        claims=copy_facts.find_claims(whole),
        repeated=copy_facts.find_repeated_words(whole),
        checks=[*_lengths(measured), *_manner(whole, reading)],
    )


def _lengths(parts: list[PartFacts]) -> Iterator[Check]:
    for part in parts:
        count, limit, shown = part.characters, part.limit, part.shown
        if limit is not None:
            said = f"{part.name}: {count} of {limit} characters."
            yield Check(name="limit", passed=count <= limit, severity="high", message=said)
        if shown is not None:
            said = f"{part.name}: {count} characters. People see {shown} of them at first."
            yield Check(name="shown", passed=count <= shown, severity="medium", message=said)


def _manner(text: str, reading: Reading) -> Iterator[Check]:
    length, marks = reading.words_per_sentence, text.count("!")
    loud = [word for word in copy_facts.WORD.findall(text) if len(word) >= 4 and word.isupper()]
    faces = sum(unicodedata.category(char) == "So" for char in text)
    said = f"{length:g} words per sentence."
    yield Check(name="sentences", passed=length <= SENTENCE_WORDS_MAX, severity="medium", message=said)
    if reading.ease is not None:
        said = f"Reading ease: {reading.ease:g}. For an ad, it should be at least {EASE_MIN:g}."
        yield Check(name="ease", passed=reading.ease >= EASE_MIN, severity="medium", message=said)
    said = f"In capitals: {', '.join(loud[:5]) or 'nothing'}."
    yield Check(name="capitals", passed=not loud, severity="low", message=said)
    yield Check(name="exclamations", passed=marks <= 1, severity="low", message=f"{marks} exclamation marks.")
    yield Check(name="emoji", passed=faces <= EMOJI_MAX, severity="low", message=f"{faces} emoji.")


def _summary(review: CopyReview) -> str:
    failed = [f"- {check.severity}: {check.message}" for check in review.checks if not check.passed]
    claims = [f"- claim: {claim.text!r} ({claim.kind}). {claim.advice}" for claim in review.claims]
    twice = [f"- repeated: {one.word} ({one.count} times)" for one in review.repeated]
    passed = f"{len(review.checks) - len(failed)} of {len(review.checks)} checks passed"
    head = f"{passed}; {len(claims)} claim{'s' * (len(claims) != 1)} to prove."
    lacking = [f"- not judged by a model: {review.not_judged}"] if review.not_judged else []
    return "\n".join([head, *failed, *claims, *twice, *lacking])
