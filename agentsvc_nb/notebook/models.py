"""The models: which there are, and the one that answers from now on (docs/models.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentsvc_nb.client.models import frame, to_dataframe
from agentsvc_nb.key_forms import A_NAME_IS_WANTED, LOOKS_LIKE_KEY, looks_like_key
from agentsvc_nb.language_models.prices import PER, dollars
from agentsvc_nb.notebook.connection import service_models
from agentsvc_nb.notebook.display.markdown import SMALL
from agentsvc_nb.notebook.display.results import PrintedText, ResultTable, code, grid
from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.notebook.state.session import EMBEDDED, Session
from agentsvc_nb.wire.runs import ModelInfo
from agentsvc_nb.wire.text import escape, label, plain

if TYPE_CHECKING:
    from agentsvc_nb.language_models.switch import AskKey, AskYes
    from agentsvc_nb.notebook.display.screens import Bar

SWITCH = "%agentsvc model"
_COLUMNS = {"id": "string", "default": "boolean", "state": "string", "needs": "string"}
_PER_MILLION = (f"in, {PER}", "out")
_PRICES = {"input_cents_per_million": "Float64", "output_cents_per_million": "Float64"}


def models(session: Session) -> ResultTable:
    """List the models that could answer: of the embedded service those that were found here, of another those that it
    offers. The one that answers is the first. Raises `AskError` when that service fails."""
    return _here(session) if session.base_url == EMBEDDED and not session.undecided() else _offered(session)


def _here(session: Session) -> ResultTable:
    from agentsvc_nb.language_models.catalog import models_here
    from agentsvc_nb.settings import SettingsError

    try:
        found = models_here()
    except SettingsError as error:
        raise AskError(str(error)) from None
    session.known.switches = [model.id for model in found]
    lacking = any(model.needs for model in found)
    priced = any(each.price and any(each.price) for each in found)
    rows = [
        (
            code(each.id),
            each.state,
            *([each.needs] if lacking else ()),
            *(_dollars(each.price, each.cost) if priced else (each.cost,)),
        )
        for each in found
    ]
    notes = [f"`{SWITCH} NAME` switches, also to any other: PROVIDER:MODEL, ollama:NAME, gguf:FILE."]
    prices = _PER_MILLION if priced else (f"price {PER}",)
    columns = ("model", "state", *(("to install first",) if lacking else ()), *prices)
    records = [
        {"id": each.id, "default": each.default, "state": each.state, "needs": each.needs}
        | dict(zip(_PRICES, each.price or (None, None), strict=True))
        for each in found
    ]
    return ResultTable(grid("Models", columns, rows, notes), lambda: frame(records, _COLUMNS | _PRICES))


def _offered(session: Session) -> ResultTable:
    found = service_models(session)
    rows = [(code(model.id), _hindered(model), _tokens(model), *_price(model)) for model in found]
    columns = ("model", "state", "context tokens", *_PER_MILLION)
    notes = [f"`{SWITCH} NAME` asks another from now on in this notebook; which there are is the operator's to say."]
    return ResultTable(grid("Models", columns, rows, notes), lambda: to_dataframe(ModelInfo, found))


def _hindered(model: ModelInfo) -> str:
    return ("default" if model.default else "") if model.available else (model.reason or "not available")


def _tokens(model: ModelInfo) -> str:
    return f"{model.context_tokens:,}" if model.context_tokens else ""


def _price(model: ModelInfo) -> tuple[str, str]:
    given, made = model.input_cents_per_million, model.output_cents_per_million
    return ("not known", "") if given is None or made is None else _dollars((given, made), "nothing")


def _dollars(price: tuple[float, float] | None, otherwise: str) -> tuple[str, str]:
    """Two cells; `otherwise` where there is no price, or it is nothing."""
    return (dollars(price[0]), dollars(price[1])) if price and any(price) else (otherwise, "")


def choose_model(session: Session, name: str) -> PrintedText:
    """Check that the connected service's model of this name can answer. Raises `AskError` otherwise."""
    if looks_like_key(name):
        raise AskError(f"{LOOKS_LIKE_KEY} Nothing was changed.", A_NAME_IS_WANTED)
    known = {model.id: model for model in service_models(session)}
    rest = "What else it offers, and the keys for it, are the operator's to say."
    if name not in known:
        raise AskError(f"{session.base_url} does not offer {label(name, 80)}: {', '.join(known)}.", rest)
    if not known[name].available:
        raise AskError(f"{name} can't answer at {session.base_url} now ({known[name].reason}).", rest)
    return PrintedText(f"{name} is asked in this notebook from now on (`%config Ask.model`). {rest}")


def switch_model(
    session: Session, name: str, bar: Bar, ask_key: AskKey | None, ask_yes: AskYes | None, *, new_key: bool = False
) -> PrintedText:
    """Make this model the embedded service's, once it has answered a question. Raises `AskError` when it does not;
    the model before then stays."""
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
    return PrintedText(done.told(SWITCH))
