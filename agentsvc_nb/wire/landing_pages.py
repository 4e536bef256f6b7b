"""Landing pages and their labels (contract.md §6)."""

from __future__ import annotations

from pydantic import Field

from agentsvc_nb.wire.envelope import Model, Request
from agentsvc_nb.wire.limits import INTEGER_MAX


class Label(Model):
    """A label that landing pages may carry, with every value that it may have."""

    name: str
    description: str = ""
    values: list[str] = Field(default_factory=list)


class LabelList(Model):
    object: str = "list"
    labels: list[Label] = Field(default_factory=list)


class LandingPage(Model):
    """A landing page. `version` counts the writes of its labels, from 1."""

    object: str = "landing_page"
    id: str
    url: str = ""
    labels: dict[str, str] = Field(default_factory=dict)
    version: int = 1


class NewLabels(Request):
    """The body of `PUT /landing-pages/{page_id}/labels`: all labels that the page has from now on."""

    labels: dict[str, str] = Field(
        description="Value by label name; a label that is left out is taken away.", examples=[{"goal": "buy"}]
    )
    expected_version: int = Field(ge=1, le=INTEGER_MAX, description="The `version` that was read.", examples=[1])
