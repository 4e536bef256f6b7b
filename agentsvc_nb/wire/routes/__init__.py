"""The endpoint table: one row per endpoint (docs/api; rows marked `ours` are not in the original API).

The client takes from it paths and what it may send again; the service its routes, scopes and rate limits.
`docs/routes.md` and the OpenAPI document are rendered from it. The rows are in `work` and `resources`.
"""

from __future__ import annotations

from typing import Final

from agentsvc_nb.wire.routes.resources import RESOURCES
from agentsvc_nb.wire.routes.route import Route
from agentsvc_nb.wire.routes.work import WORK

ROUTES: Final[dict[str, Route]] = {row.name: row for row in (*WORK, *RESOURCES)}
