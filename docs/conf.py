"""The site: `make docs` builds it from these pages, the docstrings, the commands and examples/, without a network."""

import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

from public_names import members_by_class

import pairsift

project = "pairsift"
author = "The pairsift developers"
copyright = f"2026, {author}"
release = version = pairsift.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.doctest",
    "numpydoc",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "command_reference",
    "error_messages",
    "math_without_network",
    "pages_of_the_repository",
    "whole_options",
]
exclude_patterns = ["_build", "_ext", "_templates", "gallery/*.py", "gallery/sg_execution_times.rst"]
templates_path = ["_templates"]
default_role = "py:obj"
smartquotes = False  # they would change C="auto" in a title
myst_enable_extensions = ["colon_fence", "dollarmath", "deflist"]
myst_heading_anchors = 3

html_math_renderer = "outlines"
html_theme = "pydata_sphinx_theme"
html_title = "pairsift"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "pairsift"},
    "navbar_align": "left",
    "header_links_before_dropdown": 8,
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": True,
    "navigation_with_keys": False,
    "pygments_light_style": "default",
    "pygments_dark_style": "github-dark",
}
html_context = {"default_mode": "auto"}
html_sidebars = {"start": [], "changelog": [], "results": [], "measured": []}  # the last two have wide tables

autodoc_typehints = "none"  # the docstrings say what a parameter is
autodoc_mock_imports = ["dask", "distributed", "pyspark"]  # a page of a class that needs an extra does not
autosummary_generate = True
autosummary_context = {"members_by_class": members_by_class()}
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "gallery_style.TeachingOrder",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "remove_config_comments": True,
    "plot_gallery": "True",
    "doc_module": (),
    "min_reported_time": 0,
    "write_computation_times": False,
    "reset_modules": ("matplotlib", "gallery_style.set_style"),
}
# An example that warns would teach its readers to ignore warnings.
warnings.filterwarnings("error", module=r"pairsift(\.|$)")
