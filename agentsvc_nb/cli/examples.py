"""The examples at the end of each command's `--help`. The most common use comes first."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Final

from agentsvc_nb.cli.arguments import Parser

EXAMPLES: Final = {
    "agentsvc": ('agentsvc ask "Who is the audience?" --file brief.md', "agentsvc lab", "agentsvc runs attach last"),
    "agentsvc serve": ("agentsvc serve", "agentsvc serve --port 0 --ready-file ready.json --idle-stop 600"),
    "agentsvc worker": ("AGENTSVC_DATABASE=postgresql://db/agentsvc agentsvc worker",),
    "agentsvc status": ("agentsvc status", "agentsvc status --json | jq -r .base_url"),
    "agentsvc sign-in": ("agentsvc sign-in", 'xdg-open "$(agentsvc sign-in)"'),
    "agentsvc stop": ("agentsvc stop", "agentsvc stop --data trial"),
    "agentsvc restart": ("agentsvc restart --model offline", "AGENTSVC_RUN_CAPACITY=8 agentsvc restart"),
    "agentsvc migrate": ("agentsvc migrate --data /srv/agentsvc",),
    "agentsvc keys": ("agentsvc keys list", "agentsvc keys create --name ci --scope runs"),
    "agentsvc keys create": (
        "agentsvc keys create --name ci --scope runs --budget-cents 500",
        "SERVICE_API_KEY=$(agentsvc keys create --name laptop)",
    ),
    "agentsvc keys list": ("agentsvc keys list", "agentsvc keys list --json | jq -r '.[].name'"),
    "agentsvc keys suspend": ("agentsvc keys suspend ci",),
    "agentsvc keys resume": ("agentsvc keys resume ci",),
    "agentsvc keys revoke": ("agentsvc keys revoke key_1", "agentsvc keys revoke ci --json"),
    "agentsvc account": ("agentsvc account show", "agentsvc account throttle --minutes 10"),
    "agentsvc account show": ("agentsvc account show --json",),
    "agentsvc account suspend": ("agentsvc account suspend --minutes 60",),
    "agentsvc account throttle": ("agentsvc account throttle --minutes 10",),
    "agentsvc account resume": ("agentsvc account resume",),
    "agentsvc account plan": ("agentsvc account plan off",),
    "agentsvc account reconcile": ("agentsvc account reconcile",),
    "agentsvc feedback": ("agentsvc feedback list --status open",),
    "agentsvc feedback list": ("agentsvc feedback list --status open", "agentsvc feedback list --json"),
    "agentsvc feedback reply": ('agentsvc feedback reply fb_1 "It is faster now."',),
    "agentsvc feedback close": ("agentsvc feedback close fb_1",),
    "agentsvc media": ("agentsvc media add spot.mp4",),
    "agentsvc media add": (
        "agentsvc media add spot.mp4 --duration 12.5 --transcript spot.json",
        "agentsvc media add radio.wav --json",
    ),
    "agentsvc model": (
        "agentsvc model",
        "agentsvc model ollama:llama3.2",
        "agentsvc model pull smollm2",
        "agentsvc model --json | jq -r '.[].id'",
    ),
    "agentsvc pages": ("agentsvc pages add https://example.com/spring",),
    "agentsvc pages add": ("agentsvc pages add https://example.com/spring",),
    "agentsvc lab": ("agentsvc lab", "agentsvc lab --no-browser --port 8888 -- --ServerApp.ip=127.0.0.1"),
    "agentsvc mcp": ("agentsvc mcp", "agentsvc mcp --stdio"),
    "agentsvc ask": (
        'agentsvc ask "Who is the audience?" --file brief.md',
        "git diff | agentsvc ask - --timeout 120",
        'agentsvc ask "List the campaigns" --schema @campaigns.json --json | jq .structured_output',
        'agentsvc ask "And in one word?" --chat chat_1 --model offline',
    ),
    "agentsvc check": (
        "agentsvc check questions.yaml",
        "agentsvc check questions.yaml --each offline --each ollama:llama3.2",
        "agentsvc check questions.yaml --max-cents 50 --record answers",
        "agentsvc check questions.yaml --replay answers --junit results.xml",
    ),
    "agentsvc runs": ("agentsvc runs list --status failed", "agentsvc runs attach last"),
    "agentsvc runs list": ("agentsvc runs list --limit 5", "agentsvc runs list --status failed --json"),
    "agentsvc runs show": ("agentsvc runs show last", "agentsvc runs show last --json | jq -r .output"),
    "agentsvc runs attach": ("agentsvc runs attach last",),
    "agentsvc runs cancel": ("agentsvc runs cancel last",),
    "agentsvc runs raise": ("agentsvc runs raise last 100",),
    "agentsvc runs resume": ("agentsvc runs resume last",),
    "agentsvc runs undo": ("agentsvc runs undo last",),
    "agentsvc runs redo": ("agentsvc runs redo last",),
    "agentsvc runs approve": (
        "agentsvc runs approve last",
        "agentsvc runs approve last --edit",
        "agentsvc runs approve last --for run",
        'agentsvc runs approve last --refuse --reason "Not before Monday."',
    ),
    "agentsvc runs approvals": ("agentsvc runs approvals", "agentsvc runs approvals --revoke standing_1"),
    "agentsvc files": ("agentsvc files list --chat chat_1", "agentsvc files put prices.csv --chat chat_1"),
    "agentsvc files list": ("agentsvc files list --chat chat_1", "agentsvc files list --chat chat_1 --json"),
    "agentsvc files put": ("agentsvc files put prices.csv brief.md --chat chat_1",),
    "agentsvc files get": (
        "agentsvc files get reports/plan.md --chat chat_1 --to downloads/",
        "agentsvc files get reports/plan.md --chat chat_1 --to - | less",
    ),
    "agentsvc files versions": ("agentsvc files versions uploads/prices.csv --chat chat_1",),
    "agentsvc files restore": ("agentsvc files restore uploads/prices.csv 1 --chat chat_1",),
    "agentsvc files search": ("agentsvc files search '\"autumn sale\" -draft' --chat chat_1 --json",),
    "agentsvc tools": ("agentsvc tools list", "agentsvc tools show create_images"),
    "agentsvc tools list": ("agentsvc tools list",),
    "agentsvc tools show": ("agentsvc tools show create_images",),
    "agentsvc jobs": ("agentsvc jobs list", "agentsvc jobs run create_images @request.json --to pictures"),
    "agentsvc jobs list": ("agentsvc jobs list --status running", "agentsvc jobs list --chat chat_1 --json"),
    "agentsvc jobs run": (
        'agentsvc jobs run create_images \'{"request": {"brief": "Headline: Autumn sale"}}\' --to pictures',
        "agentsvc jobs run create_images @request.json --json",
        "jq .request brief.json | agentsvc jobs run create_images - --timeout 600",
    ),
    "agentsvc jobs show": ("agentsvc jobs show job_1 --chat chat_1",),
    "agentsvc jobs cancel": ("agentsvc jobs cancel job_1 --chat chat_1",),
    "agentsvc backup": ("agentsvc backup", "agentsvc backup before-upgrade.tar --data /srv/agentsvc"),
    "agentsvc restore": (
        "agentsvc restore before-upgrade.tar --data again",
        "AGENTSVC_DATABASE=postgresql://db/agentsvc AGENTSVC_BLOBS=s3://files agentsvc restore monday.tar --data again",
    ),
    "agentsvc doctor": ("agentsvc doctor", "agentsvc doctor --json | jq '.[] | select(.level == \"fail\")'"),
    "agentsvc docs": ("agentsvc docs", "agentsvc docs --no-browser"),
    "agentsvc completion": (
        "agentsvc completion bash > ~/.local/share/bash-completion/completions/agentsvc",
        "agentsvc completion zsh > ~/.zfunc/_agentsvc     # with ~/.zfunc in fpath, before compinit",
        "agentsvc completion fish > ~/.config/fish/completions/agentsvc.fish",
    ),
}


def add_examples(parser: Parser) -> None:
    """Add the examples to the help of the parser and of all its subparsers."""
    for each in parsers(parser):
        lines = "".join(f"  {line}\n" for line in EXAMPLES[each.prog])
        each.epilog = f"examples:\n{lines}"
        each.formatter_class = argparse.RawDescriptionHelpFormatter


def parsers(parser: Parser) -> Iterator[Parser]:
    """Yield the parser and all its subparsers, at any depth."""
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from parsers(below)
