"""Pictures for tests, with what a picture of ours says about itself."""

from __future__ import annotations

import io
import json
from typing import Any

from PIL import Image
from PIL.PngImagePlugin import PngInfo

from agentsvc_nb.tools.ads.models import DESIGN, EDITED_FROM


def png(colour: str = "navy", size: tuple[int, int] = (80, 60), *, words: Any = None, edited_from: Any = None) -> bytes:
    """A PNG; `words` stand on it, `edited_from` is the picture before."""
    info, out = PngInfo(), io.BytesIO()
    if words is not None:
        info.add_itxt(DESIGN, json.dumps({"words": words}))
    if edited_from is not None:
        info.add_itxt(EDITED_FROM, json.dumps(edited_from))
    Image.new("RGB", size, colour).save(out, "PNG", pnginfo=info)
    return out.getvalue()
