"""Sound and video: small ones are part of the output, of others it is said how to have them."""

from __future__ import annotations

import base64
from typing import Final

from agentsvc_nb.notebook.display.render import MUTED, Bundle, size
from agentsvc_nb.notebook.previews.kinds import CannotShow, Kind, Subject
from agentsvc_nb.wire.text import escape, label

EMBEDDED_BYTES: Final = 200_000


def show(subject: Subject, kind: Kind) -> Bundle:
    """A player. Raises `CannotShow` for more than 200 kB."""
    if subject.cut or len(subject.head) > EMBEDDED_BYTES:
        raise CannotShow(
            f"only up to {size(EMBEDDED_BYTES)} are played in the cell, so that the notebook stays small;"
            " play a larger one from disk with IPython.display.Video or Audio."
        )
    data = base64.b64encode(subject.head).decode()
    tag = kind.media.partition("/")[0]
    path = label(subject.file.path)
    hint = f"If it does not play here: %files get {path}"
    look = ' style="max-width:100%;max-height:400px"' if tag == "video" else ""
    return {
        "text/plain": f"{kind.noun}. To have it: %files get {path}",
        "text/html": f'<{tag} controls preload="metadata" src="data:{kind.media};base64,{data}"'
        f' title="{escape(f"{kind.noun} {subject.name}", 400)}"{look}></{tag}>'
        f'<div style="{MUTED}">{escape(hint, 400)}</div>',
    }
