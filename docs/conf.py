"""The site: Markdown pages by MyST, the reference from docstrings (`make docs`)."""

import driftmap

project = "Driftmap"
author = "The Driftmap developers"
version = release = driftmap.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
html_theme = "pydata_sphinx_theme"
html_title = "Driftmap"
html_theme_options = {"navbar_center": [], "navigation_with_keys": False}
html_sidebars = {"**": ["globaltoc.html"]}
html_show_sourcelink = False
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # docstrings say what parameters are
napoleon_google_docstring = False
autodoc_default_options = {
    "exclude-members": "get_metadata_routing, get_params, set_params, set_output, get_feature_names_out, "
    "set_fit_request, set_partial_fit_request, set_transform_request, set_score_request",
}
