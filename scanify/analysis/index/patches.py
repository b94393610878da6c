"""Names under which code puts something into a class or a module of the project.

`Block.__call__ = traced`, `setattr(Block, "scale", half)`; `import blocks` and `blocks.build = counted`.
"""

import re
from collections.abc import Iterable

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


_NAMED_ELSEWHERE = re.compile(r"\bsetattr\([ \t]*(?!self\b)[^\W\d][\w.]*,[ \t]*[^\W\d][\w.]*,")
_DEFINED = re.compile(r"^[ \t]*(?:async[ \t]+)?def[ \t]+(\w+)", re.MULTILINE)


def patched_by_name(texts: Iterable[str]) -> frozenset[str]:
    """The names that `setattr(cls, name, ...)` may store where `name` is a variable: those that stand in quotes in the
    same file, and those that any file gives to the function that does so."""
    texts = list(texts)
    found: set[str] = set()
    for text in texts:
        for each in _NAMED_ELSEWHERE.finditer(text):
            found.update(_QUOTED.findall(text))
            *_, function = ("", *_DEFINED.findall(text, 0, each.start()))
            called = re.compile(rf"\b{function}\([^()]*") if function else None
            others = (call[0] for other in texts if called is not None for call in called.finditer(other))
            found.update(name for call in others for name in _QUOTED.findall(call))
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
