"""What is good and bad about a landing page, by rules with numbers in them. Pure."""

from __future__ import annotations

from typing import Final

from agentsvc_nb.service.rules.landing import PageFacts
from agentsvc_nb.wire.limits import MB
from agentsvc_nb.wire.toolset.funnel import Weight
from agentsvc_nb.wire.toolset.shapes import Check

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
