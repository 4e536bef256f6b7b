"""`review_funnel`: a landing page, looked at."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from agentsvc_nb.wire.toolset.shapes import Check, ToolInput, ToolOutput, WebAddress


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
