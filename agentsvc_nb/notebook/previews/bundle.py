"""A file as one static bundle: what it is called, what it is, and its beginning; or a sentence why not."""

from __future__ import annotations

import importlib

from agentsvc_nb.notebook.display.render import MUTED, Bundle, size
from agentsvc_nb.notebook.previews.kinds import CannotShow, Fetch, Subject, kind_of, lie
from agentsvc_nb.wire.files import WorkspaceFile
from agentsvc_nb.wire.text import escape, label


def preview_bundle(file: WorkspaceFile, head: bytes, fetch: Fetch | None = None) -> Bundle:
    """What a cell shows of a file, at most 300 kB; nothing in it executes or is fetched.

    Args:
        file: what is said of it. Only its size is believed.
        head: its first bytes (`subject.HEAD_BYTES` of them), or all.
        fetch: brings the whole file to a place on disk, for the kinds that need it; None: `head` is all of it.

    Example:
        preview_bundle(file, client.files.head(file, 256_000, chat=chat), lambda place: ...)
    """
    subject = Subject(file, head, fetch)
    facts = " · ".join(filter(None, [label(file.path), size(file.size_bytes), label(file.media_type, 80)]))
    if not head:
        return joined([facts], said("The file is empty."))
    kind = kind_of(subject)
    # Imported when it is needed: the table of a CSV should not wait for what draws PDFs.
    module = importlib.import_module(f"agentsvc_nb.notebook.previews.{kind.shows}")
    try:
        shown: Bundle = module.show(subject, kind)
    except CannotShow as reason:
        shown = said(f"{kind.noun}: {reason} To have it: %files get {label(file.path)}")
    return joined([facts, lie(subject, kind)], shown)


def said(sentence: str) -> Bundle:
    """A sentence in place of a picture of it."""
    return {"text/plain": label(sentence, 600), "text/html": f"<div>{escape(sentence, 600)}</div>"}


def joined(lines: list[str], body: Bundle) -> Bundle:
    """Lines of ours, then what there is to see."""
    heads = [line for line in lines if line]
    head = "".join(f'<div style="{MUTED}">{escape(line, 600)}</div>' for line in heads)
    return {
        "text/plain": "\n".join([*heads, body["text/plain"]]),
        "text/html": f"{head}{body['text/html']}",
    }
