"""Names under which code puts something into a class: `Block.__call__ = traced`, `setattr(Block, "scale", half)`."""

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
