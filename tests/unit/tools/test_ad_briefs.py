"""What of a brief stands on an ad: its labels and its prose; never its front matter, its sections for the maker, or
instructions."""

from __future__ import annotations

import pytest

from agentsvc_nb.tools.ads.wording import Wording, wordings

MARKDOWN = """---
title: Creative brief Q3
author: Ana
colors:
  - "#0b6e4f"
---
# Creative brief v2

<!-- The margin on this one is terrible -->

## Instructions
Use the brand colours. Keep the headline short.

## Key message

Tents that weigh nothing.

Please make three variants.
"""
HTML = """<!doctype html><html><head><title>Brief v2</title><style>h1 { color: red }</style></head><body>
<h1>Autumn sale</h1><!-- do not publish --><h2>Do's and don'ts</h2><ul><li>Never say cheap</li></ul>
<h2>Offer</h2><p>Everything 20&nbsp;% off until <b>Sunday</b>.</p></body></html>"""


def first(brief: str) -> Wording:
    return wordings(brief, 1)[0]


@pytest.mark.parametrize(
    ("brief", "headline", "subline"),
    [
        (MARKDOWN, "Tents that weigh nothing", ""),
        (HTML, "Autumn sale", "Everything 20 % off until Sunday."),
        ("---\ntitle: Doc\nheadline: Go far\ncta: Shop\n---\nTwo kilos, no more.", "Go far", "Two kilos, no more"),
        ("| Field | Value |\n|---|---|\n| Headline | Pack light |\n| Audience | Parents |", "Pack light", ""),
        ("Headline options:\n1. Pack light\n2. Sleep high\n\nAudience:\nhikers\n\nDry.", "Pack light", "Dry"),
    ],
)
def test_a_brief_as_it_was_written(brief: str, headline: str, subline: str) -> None:
    made = first(brief)
    assert (made.headline, made.subline) == (headline, subline)


@pytest.mark.parametrize(
    ("message", "headline", "button"),
    [
        ("Create an ad with headline 'Go'", "Go", ""),
        ("Make an ad with the headline 'Don't stop', and a button 'Buy'", "Don't stop", "Buy"),
        ("Create a picture that has the slogan: “Go”", "Go", ""),
        ("Draw an image with the words 'Big Sale' in red and white", "Big Sale", ""),
        ("Make an ad with headline 'Go', cta 'Buy' in story format", "Go", "Buy"),
        ("Erstelle ein Bild mit der Überschrift „Los“ und dem Button „Kaufen“", "Los", "Kaufen"),
        ("Crée une image avec le titre « Allez »", "Allez", ""),
    ],
)
def test_a_text_named_in_a_sentence_is_used(message: str, headline: str, button: str) -> None:
    made = first(message)
    assert made.headline == headline
    assert not button or made.action == button
