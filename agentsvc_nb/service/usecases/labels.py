"""THE labels of landing pages: what each is called, what it says, and every value that it may have
(docs/api/media.md)."""

from __future__ import annotations

from typing import Final

from agentsvc_nb.wire.media import Label

_ROWS: Final = (
    Label(
        name="page_type",
        description="What kind of page it is.",
        values=["product", "collection", "homepage", "advertorial", "listicle", "quiz", "lead_form", "other"],
    ),
    Label(
        name="goal",
        description="What a visitor is asked to do.",
        values=["buy", "subscribe", "sign_up", "book", "request_quote", "download", "read_on"],
    ),
    Label(
        name="offer",
        description="What makes acting now worth it; the strongest one.",
        values=["discount", "bundle", "free_trial", "free_shipping", "gift", "none"],
    ),
    Label(
        name="audience_stage",
        description="How much a visitor knows already.",
        values=["unaware", "problem_aware", "solution_aware", "product_aware", "customer"],
    ),
    Label(
        name="proof",
        description="Why one should believe it; the most prominent one.",
        values=["reviews", "testimonials", "press", "study", "numbers", "before_after", "none"],
    ),
    Label(
        name="urgency",
        description="What makes waiting costly.",
        values=["deadline", "low_stock", "seasonal", "none"],
    ),
)

LABELS: Final[dict[str, Label]] = {row.name: row for row in _ROWS}


def fault(labels: dict[str, str]) -> tuple[str, str] | None:
    """The first label that is unknown, or has a value that it can't have, and what is allowed; None when all fit.

    >>> fault({"urgency": "often"})
    ('urgency', "'often' is no value of urgency: use deadline, low_stock, seasonal or none.")
    """
    for name, value in labels.items():
        row = LABELS.get(name)
        if row is None:
            return name[:80], f"There is no label {name[:80]!r}: use {_either(list(LABELS))}."
        if value not in row.values:
            return name, f"{value[:80]!r} is no value of {name}: use {_either(row.values)}."
    return None


def _either(names: list[str]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"
