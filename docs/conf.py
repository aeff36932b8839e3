"""Configuration of Sphinx for the documentation site; see README.md for the command.

Neither the build nor the site needs a network: MathJax is part of an installed package and is
copied into the site, pages of other projects are not looked up, and examples without their data
files use data that come with scikit-learn.
"""

import os
import re
import sys
import tomllib
import warnings
from pathlib import Path

DOCS = Path(__file__).parent
sys.path[:0] = [str(DOCS.parent), str(DOCS)]

import _site_links  # noqa: E402

import sklearn_halving  # noqa: E402

project = "sklearn_halving"
author = "the sklearn_halving developers"
copyright = author  # noqa: A001
version = release = sklearn_halving.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "**/_*.md"]
templates_path = ["_templates"]

# Markdown. Headings have the same anchors as on GitHub, so that links work in both places.
myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath", "substitution"]
myst_substitutions = {"version": version}
myst_heading_anchors = 4

# Quotes in types are part of the code, as in "auto".
smartquotes = False

# Reference. Each object has a page, generated from docs/api/*.rst. `name` in a docstring is a
# link if it is a public name of the package, and code otherwise.
default_role = "py:obj"
add_module_names = False
autosummary_generate = True
autosummary_generate_overwrite = True
autodoc_typehints = "none"
autodoc_preserve_defaults = True
maximum_signature_line_length = 80
numpydoc_show_class_members = False
numpydoc_use_plots = False
toc_object_entries_show_parents = "hide"

# Gallery. A script that fails stops the build: CI runs the examples in this way.
sphinx_gallery_conf = {
    "examples_dirs": ["../examples"],
    "gallery_dirs": ["auto_examples"],
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"^(?!plot_)",
    "abort_on_example_error": True,
    "backreferences_dir": "api/backreferences",
    "doc_module": ("sklearn_halving",),
    "prefer_full_module": {r"sklearn_halving"},
    "within_subsection_order": "FileNameSortKey",
    "remove_config_comments": True,
    "download_all_examples": False,
    "show_signature": False,
    # For examples that draw nothing.
    "default_thumb_file": str(DOCS / "images" / "quick_start.png"),
    "write_computation_times": False,
}
# The gallery saves and closes each figure, so it need not be shown.
warnings.filterwarnings("ignore", message=".*Agg.*cannot be shown", category=UserWarning)

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# Pages with wide tables use the space of the list of headings.
WIDE_PAGES = ["index", "policies", "coming_from", "evidence"]

html_theme = "pydata_sphinx_theme"
html_title = f"sklearn_halving {version}"
# The picture is also the preview of links.
html_static_path = ["_static", "images/quick_start.png"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navbar_align": "left",
    # Without the version, which is in the title of each page: a phone has no room for it.
    "logo": {"text": "sklearn_halving"},
    "header_links_before_dropdown": 8,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "show_prev_next": True,
    "secondary_sidebar_items": {"**": ["page-toc"], **{page: [] for page in WIDE_PAGES}},
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
PROJECT = tomllib.loads((DOCS.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
html_context = {"description": PROJECT["description"]}

# Each minor release has a folder of its own on the site. The list of folders, versions.json, is
# above them, so that old pages show new releases.
if os.environ.get("DOCS_URL"):
    folder = "dev" if "dev" in version else ".".join(version.split(".")[:2])
    address = os.environ["DOCS_URL"].rstrip("/")
    html_baseurl = f"{address}/{folder}/"
    html_theme_options |= {
        "switcher": {"json_url": f"{address}/versions.json", "version_match": folder},
        "check_switcher": False,  # the list may not be there yet
        "navbar_end": ["version-switcher", "theme-switcher", "navbar-icon-links"],
        "show_version_warning_banner": True,
    }
WITHOUT_SIDEBAR = ("index", "getting_started", "recipes")
html_sidebars = {page: [] for page in WITHOUT_SIDEBAR}

# A link to the repository, once its address in pyproject.toml is a real one.
REPOSITORY = PROJECT["urls"]["Repository"]
if not REPOSITORY.split("/")[2].endswith(".invalid"):
    html_theme_options["external_links"] = [{"name": "Repository", "url": REPOSITORY}]

_ROLE = re.compile(r":(?:ref|term|doc|class|func|meth|mod|attr|obj):`~?([^`<]*?)(?:\s*<[^`>]*>)?`")
_ITEM = re.compile(r"\w[\w, ]* : ")
_PARAMETER = re.compile(r" *\*\*(\w+)\*\* : ")
LONGEST_SIGNATURE = 8
"""Number of defaults in the signature of a class up to which all of them are shown."""


def clean_docstring(app, what, name, obj, options, lines):
    """Convert text that would be mistaken for markup to plain text.

    Docstrings inherited from scikit-learn contain roles whose targets are pages of its own site,
    which this build does not look up. ``(*batch, n_arms)`` and ``n_features_in_`` in a type are
    neither emphasis nor a link.
    """
    for at, line in enumerate(lines):
        if _ITEM.match(line):
            line = re.sub(r"\*(?=\w)|_(?!\w)", r"\\\g<0>", line)
        lines[at] = _ROLE.sub(r"``\1``", line)


def group_parameters(app, what, name, obj, options, lines):
    """Divide the parameters of a search into those of every day, its own, and rare ones.

    Numpydoc has made a field list of the sections. Docstrings have the parameters in this order.
    """
    if what != "class" or not name.endswith("SearchCV"):
        return
    found = {match[1]: at for at, line in enumerate(lines) if (match := _PARAMETER.match(line))}
    names = list(found)
    own = names[names.index("verbose") + 1]
    for first, title in (("checkpoint", "Rarely needed"), (own, "Of this search")):
        lines[found[first] : found[first]] = [f":{title}:", ""]
    at = lines.index(":Parameters:")
    lines[at] = ":Everyday parameters:"


def example_first(app, what, name, obj, options, lines):
    """Move the example of a class or function above its parameters: readers look for it first."""
    if what not in ("class", "function") or ":Parameters:" not in lines:
        return
    start = next((at for at, line in enumerate(lines) if line == ".. rubric:: Examples"), None)
    if start is None:
        return
    ends = (at for at in range(start + 1, len(lines)) if lines[at].startswith(".. rubric::"))
    end = next(ends, len(lines))
    example = [*lines[start:end], ""]
    del lines[start:end]
    at = lines.index(":Parameters:")
    lines[at:at] = example


def short_signature(app, what, name, obj, options, signature, returns):
    """Show no signature of a protocol, which is not called, and the start of a long one.

    The section of parameters has all of them, with their defaults.
    """
    if getattr(obj, "_is_protocol", False):
        return "", None
    if what == "class" and signature and signature.count("=") > LONGEST_SIGNATURE:
        return f"{signature.partition('=')[0].rpartition(',')[0]}, ...)", returns
    return signature, returns


def setup(app):
    # Before numpydoc, which rewrites the sections.
    app.connect("autodoc-process-docstring", clean_docstring, priority=100)
    # After it.
    app.connect("autodoc-process-docstring", example_first, priority=900)
    app.connect("autodoc-process-docstring", group_parameters, priority=901)
    app.connect("autodoc-process-signature", short_signature)
    app.connect("source-read", _site_links.link_to_gallery)
    app.connect("source-read", _site_links.group_the_sidebar)
    app.connect("missing-reference", _site_links.resolve_public_name)
    app.connect("doctree-read", _site_links.strip_blocks)
    app.connect("doctree-resolved", _site_links.link_literals)
