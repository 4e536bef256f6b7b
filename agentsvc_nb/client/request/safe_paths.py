"""Where a download is written: file names that are safe on every system and stay in the folder asked for."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Final

_UNSAFE: Final = re.compile(
    r'[\x00-\x1f\x7f-\x9f<>:"/\\|?*]'
    "|[\ud800-\udfff\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]"  # surrogates; invisible characters
)
# Windows opens a device for these names, whatever their suffix.
_DEVICE: Final = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[\d¹²³])\s*(\..*)?", re.IGNORECASE)
_NAME_BYTES: Final = 200


def target(to: str | os.PathLike[str], path: str) -> Path:
    """The file to write: `to` itself, or, if `to` is a folder, a file in it with the name of `path`.

    A `to` that ends with a slash is a folder, and is created if it does not exist.
    """
    place = folder(to) if os.fspath(to).endswith(("/", os.sep)) else Path(to).expanduser()
    return place / name(path) if place.is_dir() else place


def folder(to: str | os.PathLike[str]) -> Path:
    """The folder `to`, created if it does not exist."""
    place = Path(to).expanduser()
    place.mkdir(parents=True, exist_ok=True)
    return place


def name(path: str) -> str:
    """A safe file name for `path`, which comes from the service and is not trusted. It is never hidden (`.bashrc`).

    >>> name("../../.bashrc"), name("out/con.txt"), name("..")
    ('_bashrc', '_con.txt', '_')
    """
    safe = _UNSAFE.sub("_", PurePosixPath(path).name).strip(" ").rstrip(". ")
    safe = safe.encode()[-_NAME_BYTES:].decode(errors="ignore").lstrip(" ")
    if safe.startswith("."):
        safe = f"_{safe.lstrip('.')}"
    return f"_{safe}" if not safe or _DEVICE.fullmatch(safe) else safe


def distinct(paths: Iterable[str]) -> list[str]:
    """A safe file name for each path, unique also on file systems that ignore case.

    >>> distinct(["a/plan.md", "b/Plan.md", "b/x.md"])
    ['plan.md', 'Plan-2.md', 'x.md']
    """
    taken: set[str] = set()
    names = []
    for wanted in map(name, paths):
        given, count = wanted, 1
        while _folded(given) in taken:
            count += 1
            stem, dot, suffix = wanted.rpartition(".")
            given = f"{stem}-{count}.{suffix}" if dot and stem else f"{wanted}-{count}"
        taken.add(_folded(given))
        names.append(given)
    return names


def _folded(given: str) -> str:
    return unicodedata.normalize("NFC", given).casefold()
