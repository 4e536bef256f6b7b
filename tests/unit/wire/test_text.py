"""What a person who approves must see: no character is invisible."""

from __future__ import annotations

import sys
import unicodedata

from agentsvc_nb.wire.text import exact, forbidden, reveal

HARMFUL = "\u200b\u00ad\u2062\u3164\u115f\u1160\uffa0\u2800\u034f\u180e\u202e\u2066\ufeff\U000e0041\x00\x1b\x85\u2028\r"
IN_WRITING = "\u200c\u200d\ufe0f\u00a0\u3000\u202f"


def test_every_format_space_and_control_character_is_revealed() -> None:
    codes = [*range(0x3100), *range(0xD7F0, 0xE010), *range(0xE000, sys.maxunicode + 1, 97), *range(0xE0000, 0xE0200)]
    categories = ("Cf", "Cc", "Zs", "Zl", "Zp", "Cs", "Co", "Cn")
    hidden = [char for char in map(chr, codes) if unicodedata.category(char) in categories]
    assert [char for char in hidden if reveal(char) == char] == ["\t", "\n", " "]


def test_an_invisible_character_is_shown_as_its_escape() -> None:
    for char in HARMFUL + IN_WRITING:
        assert reveal(f"a{char}b\t\n") == f"a{escape(char)}b\t\n"
        assert exact({f"a{char}b": 1}).isascii()
        assert forbidden(f"a{char}b\t\n") == ("" if char in IN_WRITING else f"U+{ord(char):04X}")


def escape(char: str) -> str:
    return f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}"


def test_letters_of_all_writings_stay() -> None:
    text = "naïve Straße 中文 日本語 한국어 עברית العربية ไทย हिन्दी 👍 €5 ½ “quoted” – e\u0301"
    assert reveal(text) == text
    assert forbidden(text) == ""
