"""Code in colours: always text, whatever its language is said to be, and soon there."""

from __future__ import annotations

import html
import re

import pytest

from agentsvc_nb.notebook.display.code import highlighted
from agentsvc_nb.notebook.display.markdown import CODE_CHARS, to_html
from tests.notebook.allowlist import offences
from tests.notebook.test_hostile import HOSTILE


@pytest.mark.parametrize("language", ["python", "sql", "html", "json"])
def test_hostile_code_stays_text_in_every_language(language: str) -> None:
    for text in (
        *HOSTILE,
        "".join(HOSTILE),
        *(part * (CODE_CHARS // len(part)) for part in ("(", '"', "'''", "<", "${", "/*")),
    ):
        shown = to_html(f"~~~~~~ {language}\n{text}\n~~~~~~")
        assert offences(shown) == []
        assert re.fullmatch(
            r"(?s)(?:<pre[^>]*><code>[^<]*(?:<span [^<>]*>[^<]*</span>[^<]*)*</code></pre>\s*|<p>.*)+", shown
        )


def test_no_character_is_lost_or_added() -> None:
    for language in ("python", "json", "sql", "html", "made up"):
        code = "\n  x = 1 & 2  # <b>\n\n\n\ty = 'ä'\n\n"
        assert html.unescape(re.sub("<[^>]*>", "", highlighted(code, language))) == code
