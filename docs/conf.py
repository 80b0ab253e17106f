"""How Sphinx builds these pages: offline, executed, warnings as errors.

sphinx-build -W --keep-going -b html docs docs/_build/html
"""

from __future__ import annotations

import os
from typing import Any

from sphinx.application import Sphinx
from sphinx.ext import napoleon

from parnidag import __version__

os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")
os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"  # else the kernel's debugger complains on standard error

project = "parnidag"
author = "The parnidag developers"
project_copyright = "The parnidag developers, BSD-3-Clause"
version = release = __version__
language = "en"

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build", "adr/README.md", "results/*.md"]
nitpicky = False  # docstrings name types of NumPy and pandas, whose pages are not at hand offline

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

# Pages with code cells run anew in every build, each in a folder of its own: they show what the code does today.
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_in_temp = True
nb_execution_timeout = 900  # compiling the kernels for the first time takes minutes on a slow machine
nb_merge_streams = True

default_role = "py:obj"  # a name in single quotes becomes a link where there is one
autodoc_typehints = "none"  # docstrings say what arguments are, and signatures stay readable
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False

html_theme = "furo"
html_title = f"parnidag {__version__}"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0072b2", "color-brand-content": "#00609a"},
    "dark_css_variables": {"color-brand-primary": "#5cb3e6", "color-brand-content": "#7cc4ee"},
}


def setup(app: Sphinx) -> None:
    """Keep the sentences of properties whole: napoleon takes what stands before a colon there for a type."""
    as_method: dict[str, list[str]] = {}

    def before(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
        if what == "property":
            as_method[name] = list(lines)
            napoleon._process_docstring(app, "method", name, thing, options, as_method[name])

    def after(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
        if name in as_method:
            lines[:] = as_method.pop(name)

    app.connect("autodoc-process-docstring", before, priority=400)
    app.connect("autodoc-process-docstring", after, priority=600)
