"""Extract the contents of a landing page, check them by fixed rules, and find where its calls to action lead."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import islice
from typing import Any, Final, Literal
from urllib.parse import urldefrag, urlsplit

from pydantic import BaseModel, Field

from agentsvc_nb.tools.port import Check, Severity, WebAddress
from agentsvc_nb.tools.support.fetching import is_web_address, resolve_link
from agentsvc_nb.wire.limits import MB

PAGES_MAX: Final = 5


class ReviewFunnelInput(BaseModel):
    url: WebAddress = Field(description="The landing page, http or https.", examples=["https://example.com/"])
    weigh: bool = Field(default=True, description="Whether to fetch and weigh the files that the page loads.")
    pages: int = Field(
        default=PAGES_MAX,
        ge=1,
        le=PAGES_MAX,
        description="The maximum number of pages of the same site to check: the given one, and those that its calls to "
        "action lead to.",
    )


class Heading(BaseModel):
    level: int
    text: str


class Action(BaseModel):
    """A call to action: a button, or a link whose text or style is that of a call to action."""

    text: str
    kind: Literal["link", "button"]
    url: str | None = None


class FormField(BaseModel):
    name: str
    type: str
    label: str = Field(description="The text next to the field; empty if there is none.")
    required: bool = False


class Form(BaseModel):
    method: str
    action: str
    fields: list[FormField]


class Weight(BaseModel):
    """The sizes of a page and of the files that it loads, in bytes as sent."""

    html_bytes: int
    total_bytes: int = Field(description="The size of the page and of the fetched files, in bytes.")
    files: dict[str, int] = Field(description="The number of files that the page names, by kind: script, style, image.")
    measured: int = Field(description="The number of files that were fetched.")
    unreachable: list[str] = Field(description="Files that could not be fetched.")


class FunnelPage(BaseModel):
    """A page to which a call to action leads, with the results of its checks."""

    url: str
    said: str = Field(description="The call to action that leads to this page.")
    source: str = Field(description="The page with that call to action.")
    status: int | None = Field(description="The HTTP status of the response; null if there is a fault.")
    fault: str | None = Field(default=None, description="Why the page could not be checked.")
    title: str = ""
    actions: list[str] = Field(default=[])
    fields: int = Field(default=0, description="The number of form fields that a visitor fills in.")
    checks: list[Check] = Field(default=[], description="The failed checks.")
    hidden: list[str] = Field(default=[], description="What the review cannot know, because it runs no scripts.")


class PageContents(BaseModel):
    """The contents of a page as its server sends it, before any script runs."""

    language: str | None
    title: str
    description: str
    headings: list[Heading]
    actions: list[Action]
    forms: list[Form]
    words: int = Field(description="The number of words that a visitor reads.")
    images: int
    images_without_alt: int


class FunnelReview(PageContents):
    page_id: str = Field(description="The ID of the stored landing page, for its labels.")
    url: str
    final_url: str = Field(description="The address after all redirects.")
    status: int
    redirects: list[str]
    weight: Weight
    checks: list[Check]
    hidden: list[str] = Field(description="What the review cannot know, because it runs no scripts.")
    following: list[FunnelPage] = Field(
        description="The pages to which its calls to action lead, in the order of discovery."
    )


# ---- contents --------------------------------------------------------------------------------------------------------

FileKind = Literal["script", "style", "image"]
_FILES: Final[dict[str, tuple[FileKind, str]]] = {
    "link": ("style", "href"), "script": ("script", "src"), "img": ("image", "src"),
}  # fmt: skip
_LISTED: Final = 200
"""The maximum number of headings to keep per page. It also applies to actions, and to each other kind of part."""
_TEXT_CHARS: Final = 300
_HEADINGS: Final = ("h1", "h2", "h3", "h4", "h5", "h6")
_SILENT: Final = frozenset({"hidden", "submit", "button", "image", "reset"})
_ACTION = re.compile(
    r"\b(?:buy|order|shop|get|start|try|sign up|register|subscribe|download|book|request|join|claim|add to cart|"
    r"contact|learn more|see plans|kauf\w*|bestell\w*|jetzt|anmeld\w*|registrier\w*|testen|herunterladen|buchen|"
    r"anfrag\w*|mehr erfahren|acheter|commander|essayer|s'inscrire|télécharger|réserver|en savoir plus|comprar|"
    r"pedir|probar|suscr\w*|descargar|reservar|más información)\b",
    re.I,
)
_LOOKS: Final = re.compile(r"(?:^|[\s_-])(?:btn|button|cta)(?:$|[\s_-])", re.I)


class PageFacts(PageContents):
    """The contents of a page, and further facts that only the checks need."""

    metas: dict[str, str]
    files: list[tuple[FileKind, str]]
    scripts: int


def extract_facts(html: str) -> PageFacts:
    """Return the facts of a page from its HTML. Call this only in a process with limits (`tools.support.untrusted`).

    Raises:
        ValueError: Elements are nested too deeply.

    >>> extract_facts("<html lang=en><title>Tents</title><h1>Pack light</h1><a class=btn href=/buy>Buy now</a>").actions
    [Action(text='Buy now', kind='link', url='/buy')]
    """
    from agentsvc_nb.documents.markup import parse_html, visible_text

    whole, seen = parse_html(html, keep_hidden=True), parse_html(html)
    metas: dict[str, str] = {}
    for meta in whole.iter("meta"):
        name = meta.get("name", meta.get("property", "")).lower()
        metas.setdefault(name, meta.get("content", "").strip()[:_TEXT_CHARS])
    texts = [
        (element, visible_text(element)[:_TEXT_CHARS]) for element in seen.iter(*_HEADINGS, "a", "button", "input")
    ]
    headings = [Heading(level=int(tag.tag[1]), text=text) for tag, text in texts if tag.tag in _HEADINGS and text]
    images = [image.get("alt") for image in whole.iter("img")]
    # Extract the text of each label once, because a label may surround a hundred thousand fields.
    labels = {label: visible_text(label)[:_TEXT_CHARS] for label in whole.iter("label")}
    return PageFacts(
        language=whole.get("lang") or None,
        title=(whole.get("title") or "")[:_TEXT_CHARS],
        description=metas.get("description", ""),
        headings=headings[:_LISTED],
        actions=list(islice(filter(None, (_action(element, text) for element, text in texts)), _LISTED)),
        forms=[_form(form, labels) for form in islice(whole.iter("form"), _LISTED)],
        words=sum(len(text.split()) for text in seen.itertext()),
        images=len(images),
        images_without_alt=images.count(None),
        metas=metas,
        files=list(islice(dict.fromkeys(filter(None, map(_file, whole.iter(*_FILES)))), _LISTED)),
        scripts=sum(1 for _ in whole.iter("script")),
    )


def _file(element: Any) -> tuple[FileKind, str] | None:
    """Return the kind and address of the file that an element loads, or None if it loads none."""
    kind, attribute = _FILES[element.tag]
    url = element.get(attribute, "").strip()
    is_loaded = kind != "style" or "stylesheet" in element.get("rel", "").lower().split()
    return (kind, url) if url and is_loaded and not url.startswith("data:") else None


def _action(element: Any, text: str) -> Action | None:
    """Return the element as an `Action`, or None if it is not a call to action."""
    if element.tag == "input":
        text = element.get("value") or element.get("alt") or "Submit"
        is_button = element.get("type", "").lower() in ("submit", "image")
        return Action(text=text[:_TEXT_CHARS], kind="button") if is_button else None
    said = text or element.get("aria-label", "")[:_TEXT_CHARS]
    styled = element.tag == "button" or _LOOKS.search(element.get("class", "")) or element.get("role") == "button"
    if element.tag in _HEADINGS or not said or not (styled or (_ACTION.search(said) and len(said) <= 40)):
        return None
    url = element.get("href", "").strip() or None
    return Action(text=said, kind="button" if element.tag == "button" else "link", url=url)


def _form(form: Any, labels: Mapping[Any, str]) -> Form:
    """Return a form with the fields that visitors fill in, each with the text of its label."""
    found = Form(method=form.get("method", "get").lower(), action=form.get("action", ""), fields=[])
    by_id = {label.get("for"): text for label, text in labels.items() if label.get("for")}
    for control in form.iter("input", "select", "textarea"):
        kind = control.get("type", "text").lower() if control.tag == "input" else str(control.tag)
        if kind in _SILENT or len(found.fields) == _LISTED:
            continue
        around = next((labels[label] for label in control.iterancestors("label")), "")
        label = control.get("aria-label") or control.get("placeholder") or around or by_id.get(control.get("id"), "")
        required = control.get("required") is not None
        found.fields.append(
            FormField(name=control.get("name", ""), type=kind, label=label[:_TEXT_CHARS], required=required)
        )
    return found


# ---- checks ----------------------------------------------------------------------------------------------------------

TITLE_CHARS: Final = (15, 60)
"""The recommended minimum and maximum length of a title. Search results show about 60 characters of a title and 160 of
a description."""
DESCRIPTION_CHARS: Final = (50, 160)
FIELDS_MAX: Final = 5
ACTIONS_MAX: Final = 7
HTML_BYTES: Final = 200_000
TOTAL_BYTES: Final = 3 * MB
FILES_MAX: Final = 60
WORDS_MIN: Final = 30
_Row = tuple[str, bool, Severity, str, str]
"""A check: its name, True if it passed, its severity, its finding, and the advice if it failed."""
_VIEWPORT: Final = "Without a viewport phones show the page tiny: width=device-width, initial-scale=1."
_ACTIONS: Final = f"Use one main action, and at most {ACTIONS_MAX} actions in all."
_TEXT: Final = "Scripts, which this review does not run, may create the page."
_WEIGHT: Final = f"Stay under {TOTAL_BYTES:,}: compress pictures, remove scripts."


def check_page(page: PageFacts, url: str, status: int, redirects: int, weight: Weight) -> list[Check]:
    """Return the results of all checks of a page."""
    robots, viewport = page.metas.get("robots", "").lower(), page.metas.get("viewport", "")
    graph = ", ".join(sorted(name for name in page.metas if name.startswith("og:"))) or "none"
    heads, actions = sum(heading.level == 1 for heading in page.headings), len(page.actions)
    has_preview = "og:title" in page.metas and "og:image" in page.metas
    files, lost, total = sum(weight.files.values()), weight.unreachable, weight.total_bytes
    rows: list[_Row] = [
        ("status", status == 200, "high", f"The server answers {status}.", "It should answer 200."),
        ("https", url.startswith("https:"), "high", f"The address is {url.partition(':')[0]}.", "Use https."),
        ("redirects", redirects <= 1, "medium", f"{redirects} redirects.", "Link to the final address."),
        ("indexable", "noindex" not in robots, "low", f"Robots: {robots or 'none'}.", "Remove `noindex`."),
        _length("title", page.title, TITLE_CHARS, "high"),
        _length("description", page.description, DESCRIPTION_CHARS, "medium"),
        ("language", bool(page.language), "low", f"Language: {page.language or 'none'}.", "Set <html lang>."),
        ("viewport", "width" in viewport, "high", f"Viewport: {viewport or 'none'}.", _VIEWPORT),
        ("preview", has_preview, "low", f"Open Graph: {graph}.", "Set og:title and og:image for shared links."),
        ("headline", heads == 1, "high", f"{heads} headings of level 1.", "There should be exactly one."),
        ("actions", 1 <= actions <= ACTIONS_MAX, "high", f"{actions} calls to action.", _ACTIONS),
        ("text", page.words >= WORDS_MIN, "medium", f"The server sends {page.words} words of text.", _TEXT),
        ("alt", not page.images_without_alt, "low", f"{page.images_without_alt} pictures without alt.", "Set alt."),
    ]
    for number, form in enumerate(page.forms, 1):
        said, bare = f"Form {number}", ", ".join(field.name or field.type for field in form.fields if not field.label)
        is_clear = form.action.startswith("http:") or (url.startswith("http:") and not form.action.startswith("https:"))
        sent = f"{said} is sent {'unencrypted' if is_clear else 'encrypted'}."
        fields, fewer = len(form.fields), f"Ask for {FIELDS_MAX} or fewer."
        rows += [
            ("form_fields", fields <= FIELDS_MAX, "medium", f"{said}: {fields} fields.", fewer),
            ("form_labels", not bare, "medium", f"{said}: without label: {bare or 'none'}.", "Label it."),
            ("form_secure", not is_clear, "high", sent, "Send it to an https address."),
        ]
    rows += [
        ("html_weight", weight.html_bytes <= HTML_BYTES, "medium", f"HTML: {weight.html_bytes:,} bytes.", "Trim it."),
        ("total_weight", total <= TOTAL_BYTES, "high", f"Total: {total:,} bytes.", _WEIGHT),
        ("files", files <= FILES_MAX, "low", f"{files} scripts, styles and pictures.", "Load fewer."),
        ("unreachable", not lost, "medium", f"{len(lost)} files could not be fetched.", f"Fix: {', '.join(lost[:3])}"),
    ]
    return [
        Check(name=name, passed=passed, severity=severity, message=found if passed else f"{found} {advice}")
        for name, passed, severity, found, advice in rows
    ]


def _length(name: str, text: str, limits: tuple[int, int], severity: Severity) -> _Row:
    low, high = limits
    said = f"{name.capitalize()}: {len(text)} characters." if text else f"No {name}."
    return name, low <= len(text) <= high, severity, said, f"Write {low} to {high} characters."


# ---- where it leads --------------------------------------------------------------------------------------------------

_DOES: Final = re.compile(
    r"log[-_]?out|sign[-_]?out|abmelden|unsubscribe|delete|remove|add[-_]?to[-_]?cart|\badd=|/cart/(?:add|change)|token=",
    re.I,
)
"""Matches addresses that may change something when they are fetched, such as those that log out."""
_NO_PAGE: Final = re.compile(r"\.(?:pdf|zip|docx?|xlsx?|pptx?|png|jpe?g|gif|webp|svg|mp4|mp3|exe|dmg|apk)$", re.I)


def find_next_pages(page: PageFacts, at: str) -> list[tuple[str, str]]:
    """Return the pages of the same site to which calls to action lead, in order. Each is (address, text of the call to
    action).

    Addresses that may change something when they are fetched are left out.

    >>> find_next_pages(extract_facts('<a class=btn href="/buy?size=2#top">Buy now</a>'), "https://shop.example/")
    [('https://shop.example/buy?size=2', 'Buy now')]
    """
    found: dict[str, str] = {}
    for action in page.actions:
        url = urldefrag(resolve_link(at, action.url or "")).url
        is_page = is_web_address(url) and urlsplit(url)[:2] == urlsplit(at)[:2] and not _NO_PAGE.search(url)
        if is_page and url != urldefrag(at).url and not _DOES.search(url):
            found.setdefault(url, action.text)
    return list(found.items())


def describe_hidden(page: PageFacts) -> list[str]:
    """Return sentences about what could not be checked, because scripts may add it to the page."""
    found = []
    if page.scripts and page.words < WORDS_MIN:
        found.append(
            f"The server sends {page.words} words and {page.scripts} scripts. The scripts create what "
            "visitors read, so the text, headings, forms and links of the page were not checked."
        )
    submits = sum(bool(form.fields) for form in page.forms)
    dead = [action.text for action in page.actions if not action.url or action.url in ("#", "javascript:void(0)")]
    if page.scripts and len(dead) > submits:
        shown = ", ".join(repr(text) for text in dead[:3])
        found.append(f"Scripts decide where these links lead, so they were not followed: {shown}.")
    return found
