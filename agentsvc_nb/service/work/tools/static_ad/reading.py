"""Pictures that came from elsewhere: opened with care."""

from __future__ import annotations

from pathlib import Path
from typing import IO, Final

from PIL import Image, ImageOps

from agentsvc_nb.service.ports.agents import AgentFailure

PIXELS_MAX: Final = 50_000_000
FORMATS: Final = ("PNG", "JPEG", "WEBP", "GIF")


def read_picture(file: Path | IO[bytes], name: str) -> Image.Image:
    """The picture, upright, with its `info`. Raises `AgentFailure("invalid_tool_input")`: it is none, or too large."""
    try:
        with Image.open(file, formats=FORMATS) as opened:
            if opened.width * opened.height > PIXELS_MAX:
                raise AgentFailure("invalid_tool_input", f"{name} has more than {PIXELS_MAX:,} pixels.")
            info = dict(opened.info)
            opened.load()
            made = ImageOps.exif_transpose(opened).convert("RGBA")
    except (OSError, ValueError, SyntaxError, EOFError, Image.DecompressionBombError):
        raise AgentFailure("invalid_tool_input", f"{name} is no picture: give PNG, JPEG, WebP or GIF.") from None
    ground = Image.new("RGB", made.size, (255, 255, 255))
    ground.paste(made, (0, 0), made)
    ground.info = info
    return ground
