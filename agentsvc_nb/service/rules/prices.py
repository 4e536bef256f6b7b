"""What things cost, in micro-cents: 10^-6 cent (contract §7 "Prices")."""

from __future__ import annotations

from typing import Final

from agentsvc_nb.wire.runs import CENT

PER_USE: Final = {"picture": CENT, "web_search": CENT}
"""What one use costs, by kind: billed to the wallet or the plan, never to a key's budget."""

_CENTS_PER_MILLION = {"offline": (100, 100), "scripted": (100, 100)}


def cost_microcents(model: str, input_tokens: int, output_tokens: int) -> int:
    """Cents a million tokens are micro-cents a token. The agent of another model knows its price.

    >>> cost_microcents("offline", 1_000, 500)
    150000
    """
    price_in, price_out = _CENTS_PER_MILLION.get(model, (0, 0))
    return input_tokens * price_in + output_tokens * price_out


def whole_cents(microcents: int) -> int:
    """Cents as the wire has them.

    >>> whole_cents(1_999_999)
    1
    """
    return microcents // CENT
