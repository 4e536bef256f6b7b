"""What was made last is kept, up to a size in all."""

from __future__ import annotations

from agentsvc_nb.documents.kept import Kept


def test_what_was_not_asked_for_the_longest_goes_first() -> None:
    kept = Kept[str, str](6, len)
    for text in ("ab", "cd", "ef"):
        kept.put(text, text)
    assert kept.get("ab") == "ab"
    kept.put("gh", "gh")
    assert [kept.get(text) for text in ("ab", "cd", "ef", "gh")] == ["ab", None, "ef", "gh"]


def test_what_is_too_large_is_kept_alone_and_leaves_room_for_the_next() -> None:
    kept = Kept[str, str](4, len)
    kept.put("ab", "ab")
    kept.put("large", "large")
    assert (kept.get("ab"), kept.get("large")) == (None, "large")
    kept.put("abcd", "abcd")
    assert (kept.get("large"), kept.get("abcd")) == (None, "abcd")


def test_of_two_that_were_made_at_once_the_first_is_kept() -> None:
    kept = Kept[str, list[int]](4, len)
    first = kept.put("a", [1])
    assert kept.put("a", [1]) is first
