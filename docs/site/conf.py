"""The documentation site. script/docs builds it; every warning is an error there."""

import inspect
import pathlib
import re
import sys
import warnings

import matplotlib

import shoal
import shoal.plot  # sphinx-gallery and autodoc find it on the package

matplotlib.use("Agg")
HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))  # gallery_order

project = "shoal"
author = "the shoal developers"
copyright = "the shoal developers; Apache License 2.0"
version = release = shoal.__version__
language = "en"
exclude_patterns = [
    "gallery/**/*.ipynb",
    "gallery/**/*.py",
    "gallery/**/*.md5",
    "gallery/**/*.zip",
    "gallery/**/*.json",
]
templates_path = ["_templates"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]

# Markdown: the guide, and the documents of docs/ that it shares with the repository.
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
# docs/performance.md has levels of headings that are its script's.
suppress_warnings = ["myst.header"]

# The reference: what shoal's classes add or say anew; what scikit-learn's base classes give is documented there.
autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
copybutton_exclude = ".linenos, .gp, .go"

sphinx_gallery_conf = {
    "examples_dirs": str(HERE / "../../examples/python"),
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "within_subsection_order": "gallery_order.GalleryOrder",
    "abort_on_example_error": True,
    "min_reported_time": 3600,
    "show_memory": False,
    "show_signature": False,
    "download_all_examples": False,
    "remove_config_comments": True,
    "doc_module": ("shoal",),
    "backreferences_dir": None,
    "image_scrapers": ("matplotlib",),
    "capture_repr": (),
    "thumbnail_size": (500, 330),
}

html_theme = "pydata_sphinx_theme"
html_title = "shoal"
html_logo = "_static/shoal.svg"
html_favicon = "_static/fish.svg"
html_static_path = ["_static"]
html_css_files = ["shoal.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_sidebars = {"index": [], "gallery/index": []}
html_theme_options = {
    "logo": {"text": "shoal", "alt_text": "shoal: to the first page"},
    "show_toc_level": 2,
    "header_links_before_dropdown": 6,
    "navbar_align": "left",
    "navigation_with_keys": False,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": [], "gallery/index": []},
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
    "pygments_light_style": "friendly",
    "pygments_dark_style": "github-dark",
}


def leave_out(app, what, name, member, skip, options):
    """What scikit-learn puts into the classes refers to its own pages; fields of named tuples are told as attributes."""
    borrowed = (getattr(member, "__module__", None) or "").startswith("sklearn")
    field = inspect.isdatadescriptor(member) and "Alias for field" in (member.__doc__ or "")
    return True if borrowed or field else None


def unlink_what_is_not_here(app, relative_path, parent_docname, content):
    """The documents of docs/ also link to folders of the repository and to decisions, which have no page here."""
    content[0] = re.sub(r"\[([^]]+)\]\((?:\.\./|decisions/)[^)]+\)", r"\1", content[0])


def setup(app):
    warnings.filterwarnings("error", module="shoal")
    app.connect("include-read", unlink_what_is_not_here)
    app.connect("autodoc-skip-member", leave_out)
