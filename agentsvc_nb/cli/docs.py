"""`agentsvc docs`: open the documentation of this version, which is part of the installation, in a browser."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from agentsvc_nb.cli.arguments import Parser, Subparsers

PACKED: Final = Path(__file__).parents[1] / "docs.tar.xz"
"""The documentation's archive. `python -m docs.site` creates it in a clone, and wheels built there include it."""


class NoDocs(Exception):
    """Raised if this installation does not contain the documentation. The message says how to build it."""


def add_parsers(commands: Subparsers, data: Parser) -> None:
    docs = commands.add_parser("docs", help="open the documentation in a browser; needs no network")
    docs.add_argument("--no-browser", action="store_true", help="print the address, and open no browser")
    docs.set_defaults(run=_docs)


def _docs(args: argparse.Namespace) -> int:
    """Print the address of the first page, and open the page. Raises `NoDocs` and `OSError`."""
    import webbrowser

    address = (_site() / "index.html").as_uri()
    print(address, flush=True)
    if not args.no_browser:
        webbrowser.open(address)
    return 0


def _site() -> Path:
    if not PACKED.is_file():
        raise NoDocs(
            "This installation does not contain the documentation. In a clone, `python -m docs.site` builds it."
        )
    from platformdirs import user_cache_path

    return unpack(PACKED, user_cache_path("agentsvc-nb"))


def unpack(packed: Path, cache: Path) -> Path:
    """Unpack the site into a folder in `cache` whose name is the archive's hash, and return this folder.

    Remove the folders of other versions.
    """
    import hashlib
    import shutil
    import tarfile
    import tempfile

    folder = cache / f"docs-{hashlib.sha256(packed.read_bytes()).hexdigest()[:16]}"
    if folder.is_dir():
        return folder
    cache.mkdir(parents=True, exist_ok=True)
    for other in cache.glob("docs-*"):
        shutil.rmtree(other, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=cache, prefix="unpacking-") as scratch, tarfile.open(packed) as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # Python 3.11.3 has no `data_filter`
        archive.extractall(scratch)
        (Path(scratch) / "site").rename(folder)
    return folder
