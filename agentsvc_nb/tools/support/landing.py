"""The contents of a landing page, and checks of them by rules with numeric limits. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final, Literal, TypeVar

from pydantic import Field

from agentsvc_nb.documents.documents import Tolerant
from agentsvc_nb.tools.port import Check, ToolInput, ToolOutput, WebAddress
from agentsvc_nb.wire.limits import MB


class ReviewFunnelInput(ToolInput):
    url: WebAddress = Field(description="The landing page, http or https.", examples=["https://example.com/"])
    weigh: bool = Field(default=True, description="Whether the files that the page loads are fetched and weighed, too.")


class Heading(ToolOutput):
    level: int
    text: str


class Action(ToolOutput):
    """A call to action: a button, or a link that reads or looks like one."""

    text: str
    kind: Literal["link", "button"]
    url: str | None = None


class FormField(ToolOutput):
    name: str
    type: str
    label: str = Field(description="What a visitor reads beside it; empty when there is nothing.")
    required: bool = False


class Form(ToolOutput):
    method: str
    action: str
    fields: list[FormField]


class Weight(ToolOutput):
    """Bytes as they were sent."""

    html_bytes: int
    total_bytes: int = Field(description="The page and what it loads, as far as it was fetched.")
    files: dict[str, int] = Field(description="How many files the page names, by kind: script, style, image.")
    measured: int = Field(description="How many of them were fetched.")
    unreachable: list[str] = Field(description="Those that could not be.")


class FunnelReview(ToolOutput):
    page_id: str = Field(description="The stored landing page, to be labelled.")
    url: str
    final_url: str = Field(description="Where the redirects ended.")
    status: int
    redirects: list[str]
    language: str | None
    title: str
    description: str
    headings: list[Heading]
    actions: list[Action]
    forms: list[Form]
    words: int = Field(description="Words that a visitor reads.")
    images: int
    images_without_alt: int
    weight: Weight
    checks: list[Check]


T = TypeVar("T")
FileKind = Literal["script", "style", "image"]
_LISTED: Final = 200
"""At most so many headings, actions and so on are kept of a page."""
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
    """The contents of a page as its server sends it, before any script runs."""

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
    """The facts of a page's HTML.

    >>> facts("<html lang=en><title>Tents</title><h1>Pack light</h1><a class=btn href=/buy>Buy now</a>").actions
    [Action(text='Buy now', kind='link', url='/buy')]
    """
    parser = _Outline()
    for _ in parser.read(html):
        pass
    return parser.finished()


@dataclass
class _Open:
    """An open element whose text is being collected."""

    tag: str
    attributes: Attributes
    collected: str = ""

    def add(self, text: str) -> None:
        if (room := _TEXT_CHARS * 4 - len(self.collected)) > 0:
            self.collected += text[:room]

    @property
    def text(self) -> str:
        return " ".join(self.collected.split())[:_TEXT_CHARS]


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
            one.add(data)

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


TITLE_CHARS: Final = (15, 60)
"""Search results show about 60 characters of a title and 160 of a description."""
DESCRIPTION_CHARS: Final = (50, 160)
FIELDS_MAX: Final = 5
ACTIONS_MAX: Final = 7
HTML_BYTES: Final = 200_000
TOTAL_BYTES: Final = 3 * MB
FILES_MAX: Final = 60
WORDS_MIN: Final = 30


def checks(page: PageFacts, url: str, status: int, redirects: int, weight: Weight) -> list[Check]:
    """All checks of a page, those of its address first."""
    return [*_address(url, status, redirects, page), *_head(page), *_body(page), *_forms(page, url), *_weight(weight)]


def _address(url: str, status: int, redirects: int, page: PageFacts) -> list[Check]:
    hidden = "noindex" in page.metas.get("robots", "").lower()
    return [
        _check("status", status == 200, "high", f"The server answers {status}.", "It should answer 200."),
        _check("https", url.startswith("https:"), "high", f"The address is {url.partition(':')[0]}.", "Use https."),
        _check("redirects", redirects <= 1, "medium", f"{redirects} redirects.", "Link to the final address."),
        _check(
            "indexable", not hidden, "low", f"Search engines are {'kept out' if hidden else 'let in'}.", "Is it meant?"
        ),
    ]


def _head(page: PageFacts) -> list[Check]:
    return [
        _length("title", page.title, TITLE_CHARS, "high"),
        _length("description", page.description, DESCRIPTION_CHARS, "medium"),
        _check("language", bool(page.language), "low", f"Language: {page.language or 'none'}.", "Set <html lang>."),
        _check(
            "viewport",
            "width" in page.metas.get("viewport", ""),
            "high",
            f"Viewport: {page.metas.get('viewport') or 'none'}.",
            "Without a viewport phones show the page tiny: width=device-width, initial-scale=1.",
        ),
        _check(
            "preview",
            "og:title" in page.metas and "og:image" in page.metas,
            "low",
            f"Open Graph: {', '.join(sorted(name for name in page.metas if name.startswith('og:'))) or 'none'}.",
            "Set og:title and og:image for links that are shared.",
        ),
    ]


def _body(page: PageFacts) -> list[Check]:
    heads = sum(heading.level == 1 for heading in page.headings)
    missing, seen = page.images_without_alt, page.words >= WORDS_MIN
    return [
        _check("headline", heads == 1, "high", f"{heads} headings of level 1.", "There should be exactly one."),
        _check(
            "actions",
            1 <= len(page.actions) <= ACTIONS_MAX,
            "high",
            f"{len(page.actions)} calls to action.",
            f"Give one main action, and not more than {ACTIONS_MAX} in all.",
        ),
        _check(
            "text",
            seen,
            "medium",
            f"{page.words} words in what the server sends.",
            "The page may be drawn by its scripts, which this review does not run.",
        ),
        _check("alt", missing == 0, "low", f"{missing} of {page.images} pictures without a text.", "Set alt."),
    ]


def _forms(page: PageFacts, url: str) -> list[Check]:
    found = []
    for number, form in enumerate(page.forms, 1):
        bare = [field.name or field.type for field in form.fields if not field.label]
        insecure = form.action.startswith("http:") or (not form.action.startswith("https:") and url.startswith("http:"))
        said = f"Form {number}: "
        many = f"{said}{len(form.fields)} fields."
        found += [
            _check("form_fields", len(form.fields) <= FIELDS_MAX, "medium", many, f"Ask for {FIELDS_MAX} or fewer."),
            _check(
                "form_labels", not bare, "medium", f"{said}without label: {', '.join(bare) or 'none'}.", "Label it."
            ),
            _check(
                "form_secure",
                not insecure,
                "high",
                f"{said}is sent {'in the clear' if insecure else 'encrypted'}.",
                "Send it to an https address.",
            ),
        ]
    return found


def _weight(weight: Weight) -> list[Check]:
    files = sum(weight.files.values())
    return [
        _check(
            "html_weight", weight.html_bytes <= HTML_BYTES, "medium", f"HTML: {weight.html_bytes:,} bytes.", "Trim it."
        ),
        _check(
            "total_weight",
            weight.total_bytes <= TOTAL_BYTES,
            "high",
            f"In all: {weight.total_bytes:,} bytes.",
            f"Stay under {TOTAL_BYTES:,}: compress pictures, drop scripts.",
        ),
        _check("files", files <= FILES_MAX, "low", f"{files} scripts, styles and pictures.", "Load fewer."),
        _check(
            "unreachable",
            not weight.unreachable,
            "medium",
            f"{len(weight.unreachable)} files could not be fetched.",
            f"Mend: {', '.join(weight.unreachable[:3])}",
        ),
    ]


def _length(name: str, text: str, limits: tuple[int, int], severity: str) -> Check:
    low, high = limits
    said = f"{name.capitalize()}: {len(text)} characters." if text else f"No {name}."
    return _check(name, low <= len(text) <= high, severity, said, f"Write {low} to {high} characters.")


def _check(name: str, passed: bool, severity: str, found: str, advice: str) -> Check:
    message = found if passed else f"{found} {advice}"
    return Check.model_validate({"name": name, "passed": passed, "severity": severity, "message": message})
