"""Code in colours: always text, whatever its language is said to be, and soon there."""

from __future__ import annotations

import html
import re

import pytest

from agentsvc_nb.notebook.display.code import LANGUAGES, highlighted
from agentsvc_nb.notebook.display.markdown import CODE_CHARS, to_html
from tests.notebook.allowlist import offences
from tests.notebook.test_hostile import HOSTILE


@pytest.mark.parametrize("language", sorted(LANGUAGES))
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


def test_only_code_that_says_its_language_and_is_not_long_is_coloured() -> None:
    assert "<span" in to_html("```Python title\nimport os\n```")
    assert "<span" in to_html("```sql computed\nSELECT 1\n```")
    for text in ("```\nimport os\n```", "```nonsense\nimport os\n```", f"```python\n{'x = 1 ' * CODE_CHARS}\n```"):
        assert "<span" not in to_html(text)
    assert "<span" not in to_html("```python\nimport os\n```", coloured=False)


def test_colours_are_those_of_the_theme() -> None:
    styles = re.findall(r'style="([^"]*)"', highlighted("def f():\n    return 'x' + str(1)  # why"))
    assert len(styles) > 4
    assert all(style.startswith(("color:var(--jp-mirror-editor-", "color:var(--jp-ui-font-")) for style in styles)
