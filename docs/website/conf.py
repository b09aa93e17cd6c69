"""How Sphinx builds the site: everything stays on the machine, formulas are MathML, and a missing page is an error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from heldout import __version__

HERE = Path(__file__).parent

project = "heldout"
author = "The heldout developers"
copyright = "the heldout developers"  # noqa: A001 - Sphinx reads this name
version = release = __version__
language = "en"

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "myst-nb", ".ipynb": "myst-nb"}
exclude_patterns = ["**/.ipynb_checkpoints", "reference/gallery/files/*"]
nitpicky = True
# Two hyphens begin an option, and are not a dash.
smartquotes = False

# Markdown
myst_enable_extensions = ["attrs_block", "colon_fence", "deflist", "dollarmath", "fieldlist"]
myst_heading_anchors = 4
myst_links_external_new_tab = False
# A price is not a formula.
myst_dmath_allow_digits = False
myst_dmath_allow_space = False

# Notebooks have their outputs stored; one without is executed.
nb_execution_mode = "auto"
nb_execution_timeout = 1200
nb_execution_raise_on_error = True
nb_ipywidgets_js: dict[str, Any] = {}

# The reference of Python names: types stand in the descriptions, in words.
autodoc_typehints = "none"
autodoc_member_order = "groupwise"
napoleon_google_docstring = False
napoleon_numpy_docstring = True
napoleon_use_param = False
napoleon_use_rtype = False
napoleon_use_ivar = True
napoleon_preprocess_types = False

highlight_language = "default"
pygments_style = "a11y-high-contrast-light"

html_theme = "pydata_sphinx_theme"
html_title = "heldout"
html_short_title = "heldout"
html_static_path = [str(HERE / "static")]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_favicon = str(HERE / "static" / "favicon.svg")
html_show_sourcelink = False
html_copy_source = False
html_show_sphinx = False
html_math_renderer = "mathml"
# Pages by themselves: without others in their section, the column beside them would be an empty heading.
ALONE = ("index", "search", "start", "coming-from", "errata", "faq", "glossary")
html_sidebars: dict[str, list[str]] = {name: [] for name in ALONE}
html_theme_options: dict[str, Any] = {
    "logo": {"text": "heldout"},
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "show_prev_next": False,
    "show_nav_level": 1,
    "navigation_depth": 3,
    "collapse_navigation": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "navbar_end": ["theme-switcher"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "back_to_top_button": False,
    "show_toc_level": 2,
}


def visit_formula(writer: Any, node: Any) -> None:
    """Write a formula within a sentence as MathML, which browsers draw without a script."""
    _write_formula(writer, node, as_block=False)


def visit_displayed_formula(writer: Any, node: Any) -> None:
    """Write a formula on a line of its own."""
    _write_formula(writer, node, as_block=True)


def _write_formula(writer: Any, node: Any, *, as_block: bool) -> None:
    from docutils import nodes
    from docutils.utils.math import latex2mathml

    writer.body.append(latex2mathml.tex2mathml(node.astext(), as_block=as_block))
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Tell Sphinx how formulas are written, and that a colon in the first line of a property's docstring is one."""
    from sphinx.ext.napoleon import docstring

    def read_property(text: Any) -> Any:
        # Napoleon reads "The gap: training less test" as the type of an attribute and its description.
        return text._dedent(text._consume_to_end())  # noqa: SLF001

    setattr(docstring.NumpyDocstring, "_parse_attribute_docstring", read_property)  # noqa: B010
    app.add_html_math_renderer(
        "mathml", inline_renderers=(visit_formula, None), block_renderers=(visit_displayed_formula, None)
    )
    return {"parallel_read_safe": True, "parallel_write_safe": True}
