"""Define `web_search`, a tool that searches with the operator's SearXNG, Brave Search, or the package `ddgs`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Annotated, Any, ClassVar, Final

from pydantic import AliasChoices, AliasPath, BaseModel, Field, StringConstraints

from agentsvc_nb.extras import pip_install
from agentsvc_nb.settings import variable
from agentsvc_nb.tools.port import BaseTool, Filled, Outcome, ToolContext, WorkFailure
from agentsvc_nb.tools.support.fetching import is_web_address
from agentsvc_nb.tools.support.upstream import Upstream

RESULTS_MAX: Final = 20


class WebSearchInput(BaseModel):
    query: Annotated[Filled, StringConstraints(max_length=400)] = Field(description="What to search for.")
    count: int = Field(default=8, ge=1, le=RESULTS_MAX, description="The maximum number of results.")


class WebResult(BaseModel):
    title: str
    url: str
    snippet: str


class WebResults(BaseModel):
    query: str
    provider: str
    results: list[WebResult]


class _SearchResponse(BaseModel):
    """A response of SearXNG or Brave Search."""

    results: list[Any] = Field(default=[], validation_alias=AliasChoices("results", AliasPath("web", "results")))


BRAVE: Final = "https://api.search.brave.com"
_TITLE_CHARS: Final = 200
_SNIPPET_CHARS: Final = 500


class WebSearch(BaseTool):
    """Searches with the provider that the operator configured."""

    name: ClassVar[str] = "web_search"
    description: ClassVar[str] = "Searches the web: titles, addresses and snippets."
    settings_used: ClassVar[tuple[str, ...]] = ("web_search", "web_search_url", "web_search_key")
    requirements: ClassVar[str] = (
        "Needs your own SearXNG, a Brave Search API key, or the package `ddgs` (in `agentsvc-nb[agents]`), whose "
        "search engines limit the number of searches. A search costs one cent."
    )
    Input: ClassVar[type[BaseModel]] = WebSearchInput
    Output: ClassVar[type[BaseModel] | None] = WebResults

    def available(self) -> bool:
        return self._find_missing() is None

    def max_charges(self, given: WebSearchInput) -> Mapping[str, int]:
        return {"web_search": 1} if self.available() else {}

    async def run(self, given: WebSearchInput, context: ToolContext) -> Outcome:
        if missing := self._find_missing():
            raise WorkFailure("not_configured", missing)
        found = await self._search(given.query, given.count)
        context.charge("web_search")
        results = [made for one in found if (made := _result(one))][: given.count]
        data = WebResults(query=given.query, provider=str(self.services.settings.web_search), results=results)
        text = "\n\n".join(f"{one.title}\n{one.url}\n{one.snippet}" for one in results) or "Nothing was found."
        return Outcome(content=[{"type": "text", "text": text}], data=data.model_dump())

    def _find_missing(self) -> str | None:
        """Return a sentence that says which setting or package is missing, or None if none is."""
        settings = self.services.settings
        match settings.web_search:
            case None:
                return f"No web search is configured. Set {variable('web_search')} to searxng, brave or ddgs."
            case "searxng" if not settings.web_search_url:
                return f"Set {variable('web_search_url')} to the address of your SearXNG."
            case "brave" if not settings.web_search_key:
                return f"Set {variable('web_search_key')} to your Brave Search API key."
            case "ddgs" if find_spec("ddgs") is None:
                return f"The search package is missing: {pip_install('agents')}."
        return None

    async def _search(self, query: str, count: int) -> list[Any]:
        settings = self.services.settings
        if settings.web_search == "ddgs":
            return await asyncio.to_thread(_ddgs, query, count)
        if settings.web_search == "searxng":
            service = Upstream("SearXNG (it needs `json` in search.formats)", str(settings.web_search_url))
            path, params = "/search", {"q": query, "format": "json"}
        else:
            key = {"X-Subscription-Token": str(settings.web_search_key)}
            service = Upstream("Brave Search", settings.web_search_url or BRAVE, key)
            path, params = "/res/v1/web/search", {"q": query, "count": str(count)}
        return (await service.ask(_SearchResponse, "GET", path, params=params)).results


def _ddgs(query: str, count: int) -> list[Any]:
    package: Any = import_module("ddgs")
    try:
        with package.DDGS(timeout=15) as search:
            return list(search.text(query, max_results=count))
    except Exception as error:  # `ddgs` raises many undocumented types of errors
        if "no results" in str(error).lower():
            return []
        said = f"The search engines of ddgs did not answer ({type(error).__name__}). They limit the number of searches."
        raise WorkFailure("upstream_failed", said) from None


def _result(one: Any) -> WebResult | None:
    """Convert a result of any provider: each names the fields differently. Return None if the result has no web
    address."""
    if not isinstance(one, dict):
        return None
    url = str(one.get("url") or one.get("href") or "")
    snippet = str(one.get("content") or one.get("description") or one.get("body") or "")
    title = _line(str(one.get("title") or url), _TITLE_CHARS)
    return WebResult(title=title, url=url, snippet=_line(snippet, _SNIPPET_CHARS)) if is_web_address(url) else None


def _line(text: str, limit: int) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"
