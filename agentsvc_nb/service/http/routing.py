"""Routes by name to their handlers: the rows of `wire.routes` that are built."""

from __future__ import annotations

from starlette.routing import BaseRoute
from starlette.routing import Route as StarletteRoute

from agentsvc_nb.service.http import (
    chats,
    feedback,
    files,
    invoke,
    keys,
    landing_pages,
    media,
    runs,
    service,
    tools,
)
from agentsvc_nb.service.http.backend import Handler
from agentsvc_nb.service.http.guard import GuardedPath
from agentsvc_nb.wire.routes import ROUTES, Route

HANDLERS: dict[str, Handler] = {
    "runs.start": runs.start,
    "runs.get": runs.get,
    "runs.events": runs.events,
    "runs.cancel": runs.cancel,
    "runs.approve": runs.approve,
    "files.upload": files.upload,
    "files.list": files.list_,
    "files.search": files.search,
    "files.download": files.download,
    "files.rename": files.rename,
    "tools.list": tools.list_,
    "tools.describe": tools.describe,
    "tools.invoke": invoke.invoke,
    "jobs.submit": tools.submit,
    "jobs.status": tools.status,
    "jobs.result": tools.result,
    "jobs.cancel": tools.cancel,
    "feedback.send": feedback.send,
    "feedback.list": feedback.list_,
    "feedback.get": feedback.get,
    "media.get": media.get,
    "media.transcribe": media.transcribe,
    "labels.list": landing_pages.labels,  # before the pages: `labels` is no page's id
    "labels.get": landing_pages.get,
    "labels.write": landing_pages.write,
    "projects.create": chats.create_project,
    "projects.list": chats.list_projects,
    "chats.retire": chats.retire,
    "terms.get": keys.current_terms,
    "keys.create": keys.create,
    "keys.list": keys.list_,
    "keys.delete": keys.delete,
    "service.health": service.health,
    "service.openapi": service.openapi,
}


def routes() -> list[BaseRoute]:
    """One Starlette route a path, so that a wrong method is answered with every method that is right."""
    by_path: dict[str, dict[str, tuple[Route, Handler]]] = {}
    for name, handler in HANDLERS.items():
        route = ROUTES[name]
        by_path.setdefault(route.path, {})[route.method] = (route, handler)
    return [StarletteRoute(path, GuardedPath(methods)) for path, methods in by_path.items()]
