"""What a landing page consists of: its head, headings, calls to action, forms, and the files that it loads. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final, Literal, TypeVar

from agentsvc_nb.service.rules.html_feed import Tolerant
from agentsvc_nb.wire.toolset.funnel import Action, Form, FormField, Heading

T = TypeVar("T")
FileKind = Literal["script", "style", "image"]
_LISTED: Final = 200
"""So many headings, actions and so on are kept of a page that has more."""
_TEXT_CHARS: Final = 300
_DEPTH: Final = 12
_CONTROLS: Final = frozenset({"input", "select", "textarea"})
_SILENT: Final = frozenset({"hidden", "submit", "button", "image", "reset"})
_ACTION = re.compile(
    r"\b(?:buy|order|shop|get|start|try|sign up|register|subscribe|download|book|request|join|claim|add to cart|"
    r"contact|learn more|see plans|kauf\w*|bestell\w*|jetzt|anmeld\w*|registrier\w*|testen|herunterladen|buchen|"
    r"anfrag\w*|mehr erfahren|acheter|commander|essayer|s'inscrire|télécharger|réserver|en savoir plus|comprar|"
    r"pedir|probar|suscr\w*|descargar|reservar|más información)\b",
    re.I,
)
_LOOKS: Final = re.compile(r"(?:^|[\s_-])(?:btn|button|cta)(?:$|[\s_-])", re.I)
Attributes = dict[str, str]


@dataclass
class PageFacts:
    """What a page holds, as its server sends it."""

    language: str | None = None
    title: str = ""
    metas: dict[str, str] = field(default_factory=dict)
    headings: list[Heading] = field(default_factory=list)
    actions: list[Action] = field(default_factory=list)
    forms: list[Form] = field(default_factory=list)
    files: list[tuple[FileKind, str]] = field(default_factory=list)
    images: int = 0
    images_without_alt: int = 0
    words: int = 0
    scripts: int = 0

    @property
    def description(self) -> str:
        return self.metas.get("description", "")


def facts(html: str) -> PageFacts:
    """Read a page.

    >>> facts("<html lang=en><title>Tents</title><h1>Pack light</h1><a class=btn href=/buy>Buy now</a>").actions
    [Action(text='Buy now', kind='link', url='/buy')]
    """
    parser = _Outline()
    for _ in parser.read(html):
        pass
    return parser.finished()


@dataclass
class _Open:
    """An element whose text is being gathered."""

    tag: str
    attributes: Attributes
    pieces: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return " ".join("".join(self.pieces)[: _TEXT_CHARS * 4].split())[:_TEXT_CHARS]


class _Outline(Tolerant):
    def __init__(self) -> None:
        super().__init__()
        self.page = PageFacts()
        self._open: list[_Open] = []
        self._labels: dict[str, str] = {}
        self._fields: list[tuple[FormField, str]] = []
        self._form: Form | None = None
        self._unseen = False

    def finished(self) -> PageFacts:
        for found, id_ in self._fields:
            found.label = found.label or self._labels.get(id_, "")
        return self.page

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: (value or "").strip() for name, value in reversed(attrs)}
        self._unseen = tag in self.CDATA_CONTENT_ELEMENTS
        if tag in _CONTROLS:
            self._control(tag, given)
        elif tag == "form":
            self._form = Form(method=given.get("method", "get").lower(), action=given.get("action", ""), fields=[])
            _keep(self.page.forms, self._form)
        elif tag in ("a", "button", "title", "label") or re.fullmatch("h[1-6]", tag):
            if len(self._open) < _DEPTH:
                self._open.append(_Open(tag, given))
        else:
            self._head(tag, given)

    def handle_endtag(self, tag: str) -> None:
        self._unseen = False
        if tag == "form":
            self._form = None
        places = [at for at, one in enumerate(self._open) if one.tag == tag]
        if places:
            self._closed(self._open.pop(places[-1]))

    def handle_data(self, data: str) -> None:
        if self._unseen:
            return
        if not any(one.tag == "title" for one in self._open):
            self.page.words += len(data.split())
        for one in self._open:
            one.pieces.append(data)

    def _closed(self, one: _Open) -> None:
        if one.tag == "title":
            self.page.title = self.page.title or one.text
        elif one.tag == "label":
            self._labels.setdefault(one.attributes.get("for", ""), one.text)
        elif one.tag in ("a", "button"):
            self._action(one.text, one.tag, one.attributes)
        elif one.text:
            _keep(self.page.headings, Heading(level=int(one.tag[1]), text=one.text))

    def _action(self, text: str, tag: str, given: Attributes) -> None:
        said = text or given.get("aria-label", "")
        styled = _LOOKS.search(given.get("class", "")) or given.get("role") == "button"
        if said and (tag == "button" or styled or (_ACTION.search(said) and len(said) <= 40)):
            url = given.get("href") or None
            _keep(self.page.actions, Action(text=said, kind="button" if tag == "button" else "link", url=url))

    def _control(self, tag: str, given: Attributes) -> None:
        type_ = given.get("type", "text").lower() if tag == "input" else tag
        if type_ in ("submit", "image"):
            self._action(given.get("value") or given.get("alt") or "Submit", "button", {})
        if self._form is None or type_ in _SILENT:
            return
        around = next((one.text for one in reversed(self._open) if one.tag == "label"), "")
        label = given.get("aria-label") or given.get("placeholder") or around
        made = FormField(name=given.get("name", ""), type=type_, label=label, required="required" in given)
        _keep(self._form.fields, made)
        if "id" in given:
            _keep(self._fields, (made, given["id"]))

    def _head(self, tag: str, given: Attributes) -> None:
        page = self.page
        if tag == "html":
            page.language = given.get("lang") or None
        elif tag == "meta" and (name := (given.get("name") or given.get("property", "")).lower()):
            page.metas.setdefault(name, given.get("content", "")[:_TEXT_CHARS])
        elif tag == "link" and "stylesheet" in given.get("rel", "").lower().split():
            _load(page, "style", given.get("href"))
        elif tag == "script":
            page.scripts += 1
            _load(page, "script", given.get("src"))
        elif tag == "img":
            page.images += 1
            page.images_without_alt += "alt" not in given
            _load(page, "image", given.get("src"))


def _load(page: PageFacts, kind: FileKind, url: str | None) -> None:
    if url and not url.startswith("data:") and (kind, url) not in page.files:
        _keep(page.files, (kind, url))


def _keep(kept: list[T], one: T) -> None:
    if len(kept) < _LISTED:
        kept.append(one)
