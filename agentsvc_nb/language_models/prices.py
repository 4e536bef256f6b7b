"""Format prices for people in dollars per million tokens. The API and `AGENTSVC_PRICES` use cents."""

from __future__ import annotations

from typing import Final

PER: Final = "per million tokens"


def dollars(cents: float) -> str:
    """Return an amount of cents in dollars.

    >>> dollars(300.0), dollars(1_500), dollars(7.5), dollars(0)
    ('$3.00', '$15.00', '$0.075', '$0.00')
    """
    exact = f"{cents / 100:,.6f}".rstrip("0")
    whole, _, part = exact.partition(".")
    return f"${whole}.{part:0<2}"


def price_text(price: tuple[float, float]) -> str:
    """Return a price in cents per million input and output tokens as text.

    >>> price_text((300.0, 1_500.0))
    '$3.00 in / $15.00 out'
    """
    return f"{dollars(price[0])} in / {dollars(price[1])} out"
