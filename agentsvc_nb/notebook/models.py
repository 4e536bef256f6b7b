"""List models, and choose the model that answers this notebook's questions (docs/models.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentsvc_nb.client.models import frame, to_dataframe
from agentsvc_nb.key_forms import A_NAME_IS_WANTED, LOOKS_LIKE_KEY, looks_like_key
from agentsvc_nb.language_models.prices import PER, dollars
from agentsvc_nb.notebook.display.markdown import SMALL
from agentsvc_nb.notebook.display.results import PrintedText, ResultTable, Row, code, grid
from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.notebook.state.session import EMBEDDED, Session, convert_errors
from agentsvc_nb.wire.runs import ModelInfo
from agentsvc_nb.wire.text import escape, label, plain

if TYPE_CHECKING:
    from agentsvc_nb.language_models.switch import AskKey, AskYes
    from agentsvc_nb.notebook.display.screens import Bar

SWITCH = "%agentsvc model"
_COLUMNS = {"id": "string", "default": "boolean", "state": "string", "needs": "string"}
_PRICES = {"input_cents_per_million": "Float64", "output_cents_per_million": "Float64"}


def models(session: Session) -> ResultTable:
    """List the models that could answer, the current model first.

    For the embedded service, these are the models found on this machine. For another service, these are the models that
    it offers.

    Raises `AskError` when a setting is invalid, or the request to the other service fails.
    """
    if session.base_url != EMBEDDED or session.address_error():
        return _service_table(session)
    from agentsvc_nb.language_models.catalog import available_models
    from agentsvc_nb.settings import SettingsError

    try:
        found = available_models()
    except SettingsError as error:
        raise AskError(str(error)) from None
    session.known.switchable_models = [model.id for model in found]
    needed = any(model.needs for model in found)
    priced = any(each.price and any(each.price) for each in found)
    columns = ["model", "state", *(["to install first"] if needed else [])]
    columns += [f"in, {PER}", "out"] if priced else [f"price {PER}"]
    rows: list[Row] = []
    for each in found:
        price = _dollars(each.price, each.cost) if priced else (each.cost,)
        rows.append((code(each.id), each.state, *([each.needs] if needed else []), *price))
    notes = [f"Choose a model with `{SWITCH} NAME`. NAME can also be another PROVIDER:MODEL, ollama:NAME or gguf:FILE."]
    records = [
        {"id": each.id, "default": each.default, "state": each.state, "needs": each.needs}
        | dict(zip(_PRICES, each.price or (None, None), strict=True))
        for each in found
    ]
    return ResultTable(grid("Models", columns, rows, notes), lambda: frame(records, _COLUMNS | _PRICES))


def _service_table(session: Session) -> ResultTable:
    found = service_models(session)
    rows: list[Row] = []
    for model in found:
        state = ("default" if model.default else "") if model.available else (model.reason or "not available")
        given, made = model.input_cents_per_million, model.output_cents_per_million
        price = ("unknown", "") if given is None or made is None else _dollars((given, made), "nothing")
        rows.append((code(model.id), state, f"{model.context_tokens:,}" if model.context_tokens else "", *price))
    columns = ("model", "state", "context tokens", f"in, {PER}", "out")
    notes = [
        f"Choose a model for this notebook with `{SWITCH} NAME`. The service's operator decides which models it offers."
    ]
    return ResultTable(grid("Models", columns, rows, notes), lambda: to_dataframe(ModelInfo, found))


def _dollars(price: tuple[float, float] | None, otherwise: str) -> tuple[str, str]:
    """Return two table cells with the prices of input and output tokens.

    If the prices are unknown or zero, return the text `otherwise` and an empty cell.
    """
    return (dollars(price[0]), dollars(price[1])) if price and any(price) else (otherwise, "")


def service_models(session: Session) -> list[ModelInfo]:
    """Return the models that the service offers, its default first. Raises `AskError` when the request fails."""
    with convert_errors(session):
        found = session.client().models.list()
    session.known.models = [model.id for model in found]
    return found


def choose_model(session: Session, name: str) -> PrintedText:
    """Check that the connected service offers this model and that it can answer now. Raises `AskError` if not."""
    if looks_like_key(name):
        raise AskError(f"{LOOKS_LIKE_KEY} Nothing was changed.", A_NAME_IS_WANTED)
    known = {model.id: model for model in service_models(session)}
    rest = "The service's operator decides which models it offers, and sets their keys."
    if name not in known:
        raise AskError(f"{session.base_url} does not offer {label(name, 80)}. It offers {', '.join(known)}.", rest)
    if not known[name].available:
        raise AskError(f"{name} can't answer at {session.base_url} now ({known[name].reason}).", rest)
    said = f"This notebook now uses {name} (`%config Ask.model`). {rest}"
    return PrintedText(" ".join(filter(None, (said, known[name].only_reads))))


def switch_model(
    session: Session, name: str, bar: Bar, ask_key: AskKey | None, ask_yes: AskYes | None, *, new_key: bool = False
) -> PrintedText:
    """Switch the embedded service to this model if the model answers a test question. Otherwise, raise `AskError`."""
    from agentsvc_nb.embedded import EmbeddedError
    from agentsvc_nb.language_models.switch import Dialogue, SwitchError, switch
    from agentsvc_nb.settings import SettingsError

    def say(line: str) -> None:
        if not bar.live:
            print(plain(line), flush=True)
        bar.draw({"text/plain": plain(line), "text/html": f'<div style="{SMALL}">{escape(line, 400)}</div>'})

    try:
        done = switch(name, Dialogue(ask_key, ask_yes, say, SWITCH), new_key=new_key)
    except SwitchError as error:
        raise AskError(error.message, error.hint) from None
    except (EmbeddedError, SettingsError) as error:
        raise AskError(str(error)) from None
    finally:
        bar.clear()
    session.known.models = []
    return PrintedText(done.describe(SWITCH))
