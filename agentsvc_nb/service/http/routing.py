"""Routes by name to their handlers: the rows of `wire.routes` that are built."""

from __future__ import annotations

from starlette.routing import BaseRoute
from starlette.routing import Route as StarletteRoute

from agentsvc_nb.service.http.context import Handler
from agentsvc_nb.service.http.endpoints import ask, developer, files, media, runs, tools
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
    "tools.invoke": ask.invoke,
    "jobs.submit": tools.submit,
    "jobs.status": tools.status,
    "jobs.result": tools.result,
    "jobs.cancel": tools.cancel,
    "feedback.send": developer.send_feedback,
    "feedback.list": developer.list_feedback,
    "feedback.get": developer.get_feedback,
    "media.get": media.get,
    "media.transcribe": media.transcribe,
    "labels.list": media.labels,  # before the pages: `labels` is no page's id
    "labels.get": media.get_page,
    "labels.write": media.write_labels,
    "projects.create": files.create_project,
    "projects.list": files.list_projects,
    "chats.retire": files.retire,
    "terms.get": developer.current_terms,
    "keys.create": developer.create_key,
    "keys.list": developer.list_keys,
    "keys.delete": developer.delete_key,
    "service.health": developer.health,
    "service.openapi": developer.openapi,
}


def routes() -> list[BaseRoute]:
    """One Starlette route a path, so that a wrong method is answered with every method that is right."""
    by_path: dict[str, dict[str, tuple[Route, Handler]]] = {}
    for name, handler in HANDLERS.items():
        route = ROUTES[name]
        by_path.setdefault(route.path, {})[route.method] = (route, handler)
    return [StarletteRoute(path, GuardedPath(methods)) for path, methods in by_path.items()]
