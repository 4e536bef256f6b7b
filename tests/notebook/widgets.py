"""What is in the widget of an output."""

from __future__ import annotations

from typing import Any

import ipywidgets
from ipywidgets.widgets.widget import _instances

from tests.notebook.allowlist import offences

VIEW = "application/vnd.jupyter.widget-view+json"
OF_OUR_OWN = {"<div class>", "<pre class>"}
"""Classes of the style sheet; nothing of others' text can have one, for it is escaped."""


def inside(bundle: dict[str, Any]) -> list[ipywidgets.Widget]:
    """The widget of an output and all that is in it, outermost first."""
    found = [_instances[bundle[VIEW]["model_id"]]]
    for widget in found:
        found.extend(getattr(widget, "children", ()))
    return found


def buttons(bundle: dict[str, Any]) -> list[ipywidgets.Button]:
    return [widget for widget in inside(bundle) if isinstance(widget, ipywidgets.Button)]


def html(bundle: dict[str, Any]) -> list[str]:
    """The markup that the widget holds, but for the style sheet."""
    kinds = ipywidgets.HTML | ipywidgets.HTMLMath
    return [part.value for part in inside(bundle) if isinstance(part, kinds) and "<style>" not in part.value]


def hostile(bundle: dict[str, Any]) -> list[str]:
    """What may not stand in the markup of the widget."""
    return [found for part in html(bundle) for found in offences(part) if found not in OF_OUR_OWN]
