"""The front end driven without a browser: what its parts say, and what a page sends when somebody uses it."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

from ipywidgets import widget_serialization

from agentsvc_nb.notebook.widgets.front import Front
from agentsvc_nb.wire.files import WorkspaceFile

VIEW = "application/vnd.jupyter.widget-view+json"
_IDS = count()


def front_of(bundle: dict[str, Any]) -> Front:
    """The front end that an output shows."""
    front = widget_serialization["from_json"](f"IPY_MODEL_{bundle[VIEW]['model_id']}", None)
    assert isinstance(front, Front)
    return front


def file(path: str, size: int = 5, day: int = 1, version: int = 1) -> WorkspaceFile:
    """A file of a chat as the service lists it."""
    moment, name = f"2026-11-{day:02}T00:00:00Z", path.rsplit("/", 1)[-1]
    return WorkspaceFile(id="0", path=path, file_name=name, size_bytes=size, updated_at=moment, version=version)


def say(front: Front, do: str, *slices: bytes, **content: Any) -> None:
    """Send what a page sends."""
    send(front, {"do": do, **content}, [memoryview(each) for each in slices])


def send(front: Front, content: Any, buffers: Sequence[Any] = ()) -> None:
    data = {"method": "custom", "content": content}
    front.comm.handle_msg({"content": {"data": data}, "buffers": [*buffers]})


def ask(front: Front, message: str) -> None:
    """Type a message and press Enter; while a run goes on a page sends nothing."""
    if front.part("active") is None:
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


def _pieces(front: Front) -> Iterator[str]:
    parts = front.parts()
    for number in parts.get("order") or ():
        turn = parts.get(f"turn/{number}") or {"asked": "", "files": [], "answer": ""}
        yield _asked(turn) + turn["answer"]
    yield _asked(parts["live"]) if "live" in parts else ""
    yield html.escape(str(parts.get("doing") or ""))
    yield parts.get("steps") or ""
    blocks = {int(name.removeprefix("live/")): value for name, value in parts.items() if name.startswith("live/")}
    yield from (blocks[number] for number in sorted(blocks))
    yield parts.get("ran") or ""
    yield from (card["shown"] + card["failed"] for name, card in parts.items() if name.startswith("asked/"))
    yield parts.get("note") or ""
    yield parts.get("text") or ""
    yield from (bar.get("end", "") for name, bar in parts.items() if name.startswith("job/"))
    if choice := parts.get("choice"):
        yield choice["shown"] + choice["wrong"]
    yield parts.get("closed") or ""


def _asked(turn: dict[str, Any]) -> str:
    """A question, which a page shows as text."""
    return html.escape(" ".join([turn["asked"], *turn["files"]]))


def markup(front: Front) -> str:
    """All HTML that a page shows, in its order."""
    return "\n".join(_pieces(front))


def words(front: Front) -> list[str]:
    """All that a page shows as text: names, tooltips, what is announced."""
    parts = front.parts()
    named = [name for _, name in (*(parts.get("chips") or ()), *(parts.get("files") or ()))]
    tools = [card["tool"] for name, card in parts.items() if name.startswith("asked/")]
    work = [value for name, value in parts.items() if name == "run" or name.startswith("job/")]
    doing = [bar.get(word, "") for bar in work for word in ("name", "state", "amounts")]
    return [*named, *tools, *doing, *(parts.get("head") or ()), parts.get("more") or "", parts.get("heard") or ""]


def text(front: Front) -> str:
    """What is read, without the markup."""
    return re.sub(" +", " ", html.unescape(re.sub("<[^>]+>", " ", markup(front))))
