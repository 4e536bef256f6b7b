"""The contents of a landing page, and checks of them by rules with numeric limits. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import islice
from typing import Any, Final, Literal, TypeVar

from pydantic import Field

from agentsvc_nb.tools.port import Check, ToolInput, ToolOutput, WebAddress
from agentsvc_nb.wire.limits import MB

PAGES_MAX: Final = 5


class ReviewFunnelInput(ToolInput):
    url: WebAddress = Field(description="The landing page, http or https.", examples=["https://example.com/"])
    weigh: bool = Field(default=True, description="Whether the files that the page loads are fetched and weighed, too.")
    pages: int = Field(
        default=PAGES_MAX,
        ge=1,
        le=PAGES_MAX,
        description="How many pages of the same site are looked at, the given one and those that its calls to action "
        "lead to.",
    )


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


class FunnelPage(ToolOutput):
    """A page that the one before leads to."""

    url: str
    said: str = Field(description="The call to action that leads to it.")
    source: str = Field(description="The page with that call to action.")
    status: int | None = Field(description="What the server answered; null when it did not.")
    fault: str | None = Field(default=None, description="Why it could not be looked at.")
    title: str = ""
    actions: list[str] = Field(default=[])
    fields: int = Field(default=0, description="Fields of its forms that a visitor fills in.")
    checks: list[Check] = Field(default=[], description="The checks that it did not pass.")
    hidden: list[str] = Field(default=[], description="What of it can't be known without running its scripts.")


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
    hidden: list[str] = Field(description="What of the page can't be known without running its scripts.")
    following: list[FunnelPage] = Field(description="The pages that it leads to, in the order that they were found.")


T = TypeVar("T")
FileKind = Literal["script", "style", "image"]
_LISTED: Final = 200
"""At most so many headings, actions and so on are kept of a page."""
_TEXT_CHARS: Final = 300
_CONTROLS: Final = ("input", "select", "textarea")
_SILENT: Final = frozenset({"hidden", "submit", "button", "image", "reset"})
_ACTION = re.compile(
    r"\b(?:buy|order|shop|get|start|try|sign up|register|subscribe|download|book|request|join|claim|add to cart|"
    r"contact|learn more|see plans|kauf\w*|bestell\w*|jetzt|anmeld\w*|registrier\w*|testen|herunterladen|buchen|"
    r"anfrag\w*|mehr erfahren|acheter|commander|essayer|s'inscrire|télécharger|réserver|en savoir plus|comprar|"
    r"pedir|probar|suscr\w*|descargar|reservar|más información)\b",
    re.I,
)
_LOOKS: Final = re.compile(r"(?:^|[\s_-])(?:btn|button|cta)(?:$|[\s_-])", re.I)


class PageFacts(ToolOutput):
    """The contents of a page as its server sends it, before any script runs."""

    language: str | None = None
    title: str = ""
    metas: dict[str, str] = Field(default_factory=dict)
    headings: list[Heading] = Field(default_factory=list)
    actions: list[Action] = Field(default_factory=list)
    forms: list[Form] = Field(default_factory=list)
    files: list[tuple[FileKind, str]] = Field(default_factory=list)
    images: int = 0
    images_without_alt: int = 0
    words: int = 0
    scripts: int = 0

    @property
    def description(self) -> str:
        return self.metas.get("description", "")


def facts(html: str) -> PageFacts:
    """Return the facts of a page's HTML; run it in a process with limits (`tools.support.pages`).

    Raises:
        ValueError: Elements are nested too deeply.

    >>> facts("<html lang=en><title>Tents</title><h1>Pack light</h1><a class=btn href=/buy>Buy now</a>").actions
    [Action(text='Buy now', kind='link', url='/buy')]
    """
    from agentsvc_nb.documents.markup import parse_html, visible_text

    page, whole = PageFacts(), parse_html(html, keep_hidden=True)
    page.language = whole.get("lang") or None
    page.title = (whole.get("title") or "")[:_TEXT_CHARS]
    for element in whole.iter("meta", "link", "script", "img"):
        _add_from_head(page, element)
    seen = parse_html(html)
    page.words = sum(len(text.split()) for text in seen.itertext())
    for element in seen.iter("h1", "h2", "h3", "h4", "h5", "h6", "a", "button", "input"):
        text = visible_text(element)[:_TEXT_CHARS]
        if element.tag in ("a", "button"):
            _add_action(page, text, element)
        elif element.tag == "input":
            if element.get("type", "").lower() in ("submit", "image"):
                said = element.get("value") or element.get("alt") or "Submit"
                _keep(page.actions, Action(text=said[:_TEXT_CHARS], kind="button"))
        elif text:
            _keep(page.headings, Heading(level=int(element.tag[1]), text=text))
    # Each label is read once: a page may have a label around a hundred thousand fields.
    labels = {label: visible_text(label)[:_TEXT_CHARS] for label in whole.iter("label")}
    page.forms = [_form(form, labels) for form in islice(whole.iter("form"), _LISTED)]
    return page


def _add_from_head(page: PageFacts, element: Any) -> None:
    """Add a `<meta>`, or a file that the page loads."""
    if element.tag == "meta" and (name := element.get("name", element.get("property", "")).lower()):
        page.metas.setdefault(name, element.get("content", "").strip()[:_TEXT_CHARS])
    elif element.tag == "link" and "stylesheet" in element.get("rel", "").lower().split():
        _load(page, "style", element.get("href"))
    elif element.tag == "script":
        page.scripts += 1
        _load(page, "script", element.get("src"))
    elif element.tag == "img":
        page.images += 1
        page.images_without_alt += element.get("alt") is None
        _load(page, "image", element.get("src"))


def _add_action(page: PageFacts, text: str, element: Any) -> None:
    """Add a button, or a link that reads or looks like one."""
    said = text or element.get("aria-label", "")
    styled = _LOOKS.search(element.get("class", "")) or element.get("role") == "button"
    if said and (element.tag == "button" or styled or (_ACTION.search(said) and len(said) <= 40)):
        url = element.get("href", "").strip() or None
        _keep(page.actions, Action(text=said, kind="button" if element.tag == "button" else "link", url=url))


def _form(form: Any, labels: Mapping[Any, str]) -> Form:
    """Return a form with the fields that a visitor fills in, each with the words that label it."""
    found = Form(method=form.get("method", "get").lower(), action=form.get("action", ""), fields=[])
    by_id = {label.get("for"): text for label, text in labels.items() if label.get("for")}
    for control in form.iter(*_CONTROLS):
        if len(found.fields) == _LISTED:
            break
        kind = control.get("type", "text").lower() if control.tag == "input" else str(control.tag)
        if kind in _SILENT:
            continue
        around = next((labels[label] for label in control.iterancestors("label")), "")
        label = control.get("aria-label") or control.get("placeholder") or around or by_id.get(control.get("id"), "")
        required = control.get("required") is not None
        found.fields.append(
            FormField(name=control.get("name", ""), type=kind, label=label[:_TEXT_CHARS], required=required)
        )
    return found


def _load(page: PageFacts, kind: FileKind, url: str | None) -> None:
    url = (url or "").strip()
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
