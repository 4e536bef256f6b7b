"""What tokens cost, in micro-cents (contract §7 "Prices")."""

from __future__ import annotations

_CENTS_PER_MILLION = {"offline": (100, 100), "scripted": (100, 100)}


def cost_microcents(model: str, input_tokens: int, output_tokens: int) -> int:
    """Cents a million tokens are micro-cents a token.

    >>> cost_microcents("offline", 1_000, 500)
    150000
    """
    price_in, price_out = _CENTS_PER_MILLION[model]
    return input_tokens * price_in + output_tokens * price_out
