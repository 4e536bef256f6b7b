"""What the Meta Ad Library answers, and where an ad's snapshot page says that its media are. Pure."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit, urlunsplit

from agentsvc_nb.service.rules.addresses import is_web_address
from agentsvc_nb.wire.toolset.ads import MetaAd

_KEYS: Final = ("video_hd_url", "video_sd_url", "original_image_url", "resized_image_url", "video_preview_image_url")
"""In the page's own data, the best first; each key once or more."""
_IN_DATA = {key: re.compile(rf'"{key}"\s*:\s*("(?:[^"\\]|\\.)*")') for key in _KEYS}
_IN_TAGS = re.compile(
    r"""<(?:video|source|img)\b[^<>]{0,2000}?\bsrc\s*=\s*["']?([^"'\s>]+)|"""
    r"""<meta\b[^<>]{0,500}?property=["']og:(?:image|video)["'][^<>]{0,500}?content=["']([^"'>]+)""",
    re.I,
)
_TEXT_CHARS: Final = 5_000


def media_addresses(page: str, base: str) -> list[str]:
    """Addresses of videos and pictures: by the page's data, else by its tags."""
    found = [_unquoted(match[1]) for key in _KEYS for match in _IN_DATA[key].finditer(page)]
    if not any(found):
        found = [unescape(match[1] or match[2]) for match in _IN_TAGS.finditer(page)]
    return [url for url in dict.fromkeys(urljoin(base, one) for one in found if one) if is_web_address(url)]


def _unquoted(text: str) -> str:
    """A string of the page's data; empty when it is none."""
    try:
        return str(json.loads(text, strict=False))
    except ValueError:
        return ""


def without_token(url: str) -> str:
    """The address without the caller's token, which the library puts into it.

    >>> without_token("https://www.facebook.com/ads/archive/render_ad/?id=7&access_token=EAAB")
    'https://www.facebook.com/ads/archive/render_ad/?id=7'
    """
    parts = urlsplit(url)
    query = [(name, value) for name, value in parse_qsl(parts.query) if name != "access_token"]
    return urlunsplit(parts._replace(query=urlencode(query)))


def ad(one: dict[str, Any], media: list[str]) -> MetaAd:
    """An ad of the answer."""
    return MetaAd(
        id=_text(one.get("id")),
        page_id=_text(one.get("page_id")),
        page_name=_text(one.get("page_name")),
        bodies=_texts(one.get("ad_creative_bodies")),
        titles=_texts(one.get("ad_creative_link_titles")),
        descriptions=_texts(one.get("ad_creative_link_descriptions")),
        captions=_texts(one.get("ad_creative_link_captions")),
        languages=_texts(one.get("languages")),
        platforms=_texts(one.get("publisher_platforms")),
        started=_text(one.get("ad_delivery_start_time")) or None,
        stopped=_text(one.get("ad_delivery_stop_time")) or None,
        snapshot_url=without_token(_text(one.get("ad_snapshot_url"))),
        media_ids=media,
    )


def listed(answer: Any, name: str) -> list[dict[str, Any]]:
    found = answer.get(name) if isinstance(answer, dict) else None
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _text(value: Any) -> str:
    return str(value)[:_TEXT_CHARS] if isinstance(value, str | int) else ""


def _texts(value: Any) -> list[str]:
    return [_text(one) for one in value if _text(one)] if isinstance(value, list) else []
