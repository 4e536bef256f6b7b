"""The front end driven without a browser: what its parts say, and what a page sends when somebody uses it."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

from ipywidgets import widget_serialization

from agentsvc_nb.notebook.widgets.front import Front

VIEW = "application/vnd.jupyter.widget-view+json"
_IDS = count()


def front_of(bundle: dict[str, Any]) -> Front:
    """The front end that an output shows."""
    front = widget_serialization["from_json"](f"IPY_MODEL_{bundle[VIEW]['model_id']}", None)
    assert isinstance(front, Front)
    return front


def say(front: Front, do: str, *slices: bytes, **content: Any) -> None:
    """Send what a page sends."""
    send(front, {"do": do, **content}, [memoryview(each) for each in slices])


def send(front: Front, content: Any, buffers: Sequence[Any] = ()) -> None:
    data = {"method": "custom", "content": content}
    front.comm.handle_msg({"content": {"data": data}, "buffers": [*buffers]})


def ask(front: Front, message: str) -> None:
    """Type a message and press Enter."""
    say(front, "send", text=message)


def attach(front: Front, name: str, content: bytes, slice_bytes: int = 4, size: int | None = None) -> None:
    whole, id = len(content) if size is None else size, f"{name}-{next(_IDS)}"
    for at in range(0, max(1, len(content)), slice_bytes):
        say(front, "file", content[at : at + slice_bytes], id=id, name=name, size=whole, at=at)


def press_again(front: Front) -> None:
    """Press "Ask again" of the last turn that has it."""
    *_, turn = (number for number in front.part("order") if front.part(f"turn/{number}")["again"])
    say(front, "again", turn=turn)


def decide(front: Front, approved: bool, **more: Any) -> None:
    """Answer the last call that waits."""
    *_, key = (name.removeprefix("asked/") for name in front.parts("asked/"))
    say(front, "decide", key=key, approved=approved, **more)


MARKUP = ("answer", "shown", "failed", "end", "wrong", "live", "steps", "plan", "ran", "note", "text", "closed")
PLAIN = ("asked", "files", "doing", "tool", "name", "state", "amounts", "chips", "head", "more", "heard")


def _fields(front: Front, wanted: tuple[str, ...]) -> Iterator[Any]:
    for name, value in front.parts().items():
        for field, content in value.items() if isinstance(value, dict) else [(name.partition("/")[0], value)]:
            if field in wanted and content:
                yield content


def markup(front: Front) -> str:
    """All HTML that a page shows, and the questions."""
    asked = (html.escape(str(said)) for said in _fields(front, ("asked", "files", "doing")))
    return "\n".join([*_fields(front, MARKUP), *asked])


def words(front: Front) -> list[str]:
    """All that a page shows as text: names, tooltips, what is announced."""
    found = [each for content in _fields(front, PLAIN) for each in ([content] if isinstance(content, str) else content)]
    return [str(each if isinstance(each, str) else each[-1]) for each in found if isinstance(each, (str, list, tuple))]


def text(front: Front) -> str:
    """What is read, without the markup."""
    return re.sub(" +", " ", html.unescape(re.sub("<[^>]+>", " ", markup(front))))
