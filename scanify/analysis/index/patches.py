"""Names under which code puts something into a class or a module of the project.

`Block.__call__ = traced`, `setattr(Block, "scale", half)`; `import blocks` and `blocks.build = counted`.
"""

import re

_STORED = re.compile(r"\.([^\W\d]\w*)\s*=(?!=)")
_OF_CLASS = re.compile(r"(?:\b[A-Z]\w*|\bcls|\bklass|\btype\([^()]*\))\Z")  # what is assigned to, up to the last name
_CALLED = re.compile(r"setattr\([^()]*")
_QUOTED = re.compile(r"(?<=[\"'])[^\W\d]\w*(?=[\"'])")


def patched_in(text: str) -> frozenset[str]:
    """The names that a text stores in what looks like a class, or by `setattr` in anything."""
    found = {
        each[1]
        for each in _STORED.finditer(text)
        if _OF_CLASS.search(text, text.rfind("\n", 0, each.start()) + 1, each.start())
    }
    if "setattr(" in text:
        found.update(name for each in _CALLED.finditer(text) for name in _QUOTED.findall(each[0]))
    return frozenset(found)


# What begins a line, as one pattern that also looks inside of lines takes four times as long.
_IN_MODULE = re.compile(r"\n[ \t]*(?!self\b|cls\b)([^\W\d]\w*)((?:\.\w+)*)\.(\w+)[ \t]*(?:=(?!=)|[-+*/|&]=)")
_SET_IN_MODULE = re.compile(r"\bsetattr\([ \t]*([^\W\d]\w*)((?:\.\w+)*),[ \t]*[\"'](\w+)[\"']")


def patched_modules(text: str) -> frozenset[tuple[str, str]]:
    """The names that a text stores in what it imports, each with the last name of the module that it may be in."""
    stored = _IN_MODULE.findall(f"\n{text}")
    stored += _SET_IN_MODULE.findall(text) if "setattr(" in text else []
    return frozenset(
        (inner.rpartition(".")[2] or each, name) for root, inner, name in stored for each in _imported(text, root)
    )


def _imported(text: str, name: str) -> set[str]:
    """The last names of what a text imports under a name."""
    listed = rf"from\b[^\n(]*\bimport[ \t]*\([^)]*\b{name}\b[^)]*\)"
    lines = re.finditer(rf"^[ \t]*(?:{listed}|(?:from|import)\b[^\n]*\b{name}\b[^\n]*$)", text, re.MULTILINE)
    aliased = rf"([\w.]+)[ \t]+as[ \t]+{name}\b"
    return {
        (alias[1] if (alias := re.search(aliased, line[0])) is not None else name).rpartition(".")[2] for line in lines
    }
