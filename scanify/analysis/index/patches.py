"""Names under which code puts something into a class or a module, of the project or of a library.

`Block.__call__ = traced`, `setattr(Block, "scale", half)`; `import blocks` and `blocks.build = counted`;
`mock.patch("blocks.build")`.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Patches:
    """What the files of a project put in the place of something else.

    `names` are those of methods and constants of some class, `computed` those among them that a property is put under;
    `modules` are names with the last name of the module that they may be in.
    """

    names: frozenset[str]
    computed: frozenset[str]
    modules: frozenset[tuple[str, str]]

    @cached_property
    def builtins(self) -> frozenset[str]:
        """Python's own names that mean something else."""
        return frozenset(name for holder, name in self.modules if holder == "builtins")


def patches_in(texts: Sequence[str]) -> Patches:
    """What some texts put in the place of something else."""
    return Patches(
        names=frozenset(name for text in texts for name in patched_in(text)) | patched_by_name(texts),
        computed=frozenset(name for text in texts if "property(" in text for name in _computed_in(text)),
        modules=frozenset(each for text in texts for each in patched_modules(text)),
    )


_CALLED = re.compile(r"(?:(?<!__)setattr|type\.__setattr__|patch\.object)\([^()]*")
_BY_PATH = re.compile(r"\bpatch\([ \t\n]*[\"']((?:\w+\.)*)(\w+)[\"']")  # of unittest.mock
_COMPUTED = re.compile(r"(?:\.([^\W\d]\w*)\s*=\s*|setattr\([^()]*[\"'](\w+)[\"'],\s*)[\w.]*property\(")
_QUOTED = re.compile(r"(?<=[\"'])[^\W\d]\w*(?=[\"'])")


def patched_in(text: str) -> frozenset[str]:
    """The names that a text stores by `setattr` or `mock.patch`; assignments are read off the tree (`stores`)."""
    found: set[str] = set()
    if "setattr" in text or "patch.object(" in text:
        found.update(name for each in _CALLED.finditer(text) for name in _QUOTED.findall(each[0]))
    if "patch(" in text:
        found.update(name for _, name in _BY_PATH.findall(text))
    return frozenset(found)


def _computed_in(text: str) -> set[str]:
    """The names that a text puts a property under, outside of a class's body."""
    return {stored or called for stored, called in _COMPUTED.findall(text)}


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
_SET_IN_MODULE = re.compile(r"\b(?:setattr|patch\.object)\([ \t]*([^\W\d]\w*)((?:\.\w+)*),[ \t]*[\"'](\w+)[\"']")


def patched_modules(text: str) -> frozenset[tuple[str, str]]:
    """The names that a text stores in what it imports, each with the last name of the module that it may be in."""
    stored = _IN_MODULE.findall(f"\n{text}")
    stored += _SET_IN_MODULE.findall(text) if "setattr(" in text or "patch.object(" in text else []
    found = {(inner.rpartition(".")[2] or each, name) for root, inner, name in stored for each in _imported(text, root)}
    if "patch(" in text:
        found.update((path.rstrip(".").rpartition(".")[2], name) for path, name in _BY_PATH.findall(text) if path)
    return frozenset(found)


def _imported(text: str, name: str) -> set[str]:
    """The last names of what a text imports under a name."""
    listed = rf"from\b[^\n(]*\bimport[ \t]*\([^)]*\b{name}\b[^)]*\)"
    lines = re.finditer(rf"^[ \t]*(?:{listed}|(?:from|import)\b[^\n]*\b{name}\b[^\n]*$)", text, re.MULTILINE)
    aliased = rf"([\w.]+)[ \t]+as[ \t]+{name}\b"
    return {
        (alias[1] if (alias := re.search(aliased, line[0])) is not None else name).rpartition(".")[2] for line in lines
    }
