"""Links from the name of a public object to its page, wherever the name is written."""

import re

from docutils import nodes
from sphinx.util.nodes import make_refnode

# Words that are also names of objects, and mean something else on most pages.
ORDINARY_WORDS = {"Arms", "Bracket", "Plan", "Pull", "Pulls", "Round", "simulate"}
GALLERY_LIST = re.compile(r"\.\. toctree::\n   :hidden:\n\n(?:   /auto_examples/\w+\n)+")
GALLERY_GROUP = re.compile(r"^(.+)\n-+\n\n\.\. minigallery::\n\n((?:   \S+\n)+)", re.MULTILINE)
EXAMPLE = re.compile(r"\]\(((?:\.\./)*)\.\./examples/(plot_\w+)\.py\)")


def public_objects(env):
    """Return {name: (document, anchor)} of everything that has a page."""
    found = env.temp_data.get("public_objects")
    if found is None:
        found = {}
        for full, entry in env.domains["py"].objects.items():
            if entry.objtype in {"class", "function", "exception", "data"}:
                found[full] = found[full.rpartition(".")[2]] = (entry.docname, entry.node_id)
            elif entry.objtype in {"method", "property"}:
                owner, method = full.split(".")[-2:]
                found[f"{owner}.{method}"] = (entry.docname, entry.node_id)
        env.temp_data["public_objects"] = found
    return found


def resolve_public_name(app, env, node, contnode):
    """Resolve `Hyperband` to sklearn_halving.policies.Hyperband from every module."""
    if node.get("refdomain") != "py":
        return None
    entry = public_objects(env).get(node["reftarget"].removesuffix("()"))
    if entry is None:
        return None
    return make_refnode(app.builder, node["refdoc"], *entry, contnode)


def link_literals(app, doctree, docname):
    """Make a link of every `name` in running text that is a public object of the package."""
    found = public_objects(app.env)
    for literal in list(doctree.findall(nodes.literal)):
        name = literal.astext().removesuffix("()")
        is_free = not isinstance(literal.parent, nodes.reference | nodes.title)
        if is_free and name in found and name not in ORDINARY_WORDS:
            document, anchor = found[name]
            if document != docname:
                link = make_refnode(app.builder, docname, document, anchor, literal.deepcopy())
                literal.replace_self(link)


def strip_blocks(app, doctree):
    """Leave out the blank line that doctest wants at the end of a block."""
    for block in doctree.findall(nodes.literal_block):
        if block.rawsource == block.astext():  # else Sphinx would not highlight it
            block.rawsource = block.rawsource.rstrip()
        block[:] = [nodes.Text(block.astext().rstrip())] if len(block) == 1 else block[:]


def link_to_gallery(app, docname, source):
    """Make links to an example's script, which GitHub shows, links to its page."""
    source[0] = EXAMPLE.sub(r"](\1auto_examples/\2.rst)", source[0])


def group_the_sidebar(app, docname, source):
    """List the examples in the groups of the gallery's page, in place of one list of all."""
    if docname != "auto_examples/index":
        return

    def with_list(found):
        entries = found[2].replace("../examples/", "/auto_examples/").replace(".py", "")
        return f"{found[0]}\n.. toctree::\n   :hidden:\n   :caption: {found[1]}\n\n{entries}\n"

    source[0] = GALLERY_GROUP.sub(with_list, GALLERY_LIST.sub("", source[0]))
