"""The cache removes what nobody used for the longest time."""

from __future__ import annotations

from agentsvc_nb.documents.lru_cache import LruCache


def test_what_was_not_asked_for_the_longest_goes_first() -> None:
    cache = LruCache[str, str](6, len)
    for text in ("ab", "cd", "ef"):
        cache.put(text, text)
    assert cache.get("ab") == "ab"
    cache.put("gh", "gh")
    assert [cache.get(text) for text in ("ab", "cd", "ef", "gh")] == ["ab", None, "ef", "gh"]


def test_what_is_too_large_is_kept_alone_and_leaves_room_for_the_next() -> None:
    cache = LruCache[str, str](4, len)
    cache.put("ab", "ab")
    cache.put("large", "large")
    assert (cache.get("ab"), cache.get("large")) == (None, "large")
    cache.put("abcd", "abcd")
    assert (cache.get("large"), cache.get("abcd")) == (None, "abcd")
