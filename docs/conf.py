"""The site's settings for Sphinx."""

import re
import tomllib
from importlib import import_module
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.errors import SphinxError
from sphinx.search.en import SearchEnglish

from agentsvc_nb import __all__, __version__

project = html_title = "agentsvc-nb"
version = release = __version__
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode", "docs.markdown_copies"]
root_doc = "docs/index"
include_patterns = ["CONTRIBUTING.md", "SECURITY.md", "docs/**.md", "notebooks/*.ipynb"]
exclude_patterns = [".*", "agentsvc_nb", "build", "tests"]
nb_execution_mode = "off"  # what they show is written by docs/notebooks.py and held by tests/notebook/test_notebooks.py
nb_render_error_lexer = "text"  # ours are a sentence, no traceback
myst_heading_anchors = 4
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_inherit_docstrings = False
napoleon_type_aliases = {name: f"agentsvc_nb.{name}" for name in __all__}  # exceptions, as docstrings name them
python_maximum_signature_line_length = 80
html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_search_scorer = str(Path(__file__).parent / "static" / "scorer.js")
html_copy_source = html_show_copyright = False


class Search(SearchEnglish):
    """Finds the statuses of errors, such as 429, too: Sphinx indexes no numbers, and drops them from what is asked
    (that half is in static/scorer.js)."""

    def word_filter(self, word: str) -> bool:
        return bool(re.fullmatch(r"[45]\d\d", word)) or super().word_filter(word)


def add_search_words(app: Sphinx, page: nodes.document) -> None:
    """Add the words of search.toml to the index as main entries, which lead the results."""
    words = tomllib.loads(Path(__file__).with_name("search.toml").read_text("utf-8"))
    for section, entries in words.get(app.env.docname.removeprefix("docs/"), {}).items():
        if section not in page.ids:
            raise SphinxError(f"search.toml names a section that {app.env.docname} does not have: {section}")
        page += addnodes.index(entries=[("single", entry, section, "main", None) for entry in entries])


def module_of_class(app: Sphinx, module: str, attribute: str) -> str | None:
    """Return where the class of a method is. By default viewcode looks up the function, which `blocking` takes from
    elsewhere, and the module of `ask` then has dead links back to this site."""
    name, _, method = attribute.partition(".")
    return getattr(getattr(import_module(module), name, None), "__module__", None) if method else None


def setup(app: Sphinx) -> None:
    app.add_search_language(Search)
    app.connect("doctree-read", add_search_words)
    app.connect("viewcode-follow-imported", module_of_class)
