"""Modules of `equinox.nn`: each that is listed only computes."""

import ast
from collections.abc import Mapping

from scanify.analysis.language import tables
from scanify.analysis.language.base import Base
from scanify.analysis.language.shapes import KEEPS_SHAPE, resized, weakened
from scanify.analysis.language.syntax.operators import noted_in, why_of
from scanify.analysis.language.types import (
    Array,
    Env,
    LibraryObject,
    Named,
    Object,
    Static,
    Type,
    Types,
    Unknown,
    is_data,
    without_none,
)

LAYER = "a layer of a class that is not shown"


class LibraryClasses(Base):
    """The part of the walker that knows modules of libraries."""

    def construct_library(self, env: Env, node: ast.expr, qualname: str, args: Types, keywords: Named) -> Type:
        """An object of a class of a library, with the arguments of its constructor."""
        if not qualname.startswith("equinox.nn."):
            return self.note(env.module, node, f"`{qualname}` is not listed")
        for value in (*args, *keywords.values()) if not self.muted else ():
            if isinstance(without_none(value), Unknown | Object):
                return self.note(env.module, node, why_of(node, value))
        return LibraryObject(qualname, (*enumerate(args), *sorted(keywords.items())))

    def call_library_object(self, env: Env, node: ast.expr, value: LibraryObject, args: Types, keywords: Named) -> Type:
        """Call a module of a library: one that is listed computes, and calls the functions it was built with."""
        name = value.qualname.rpartition(".")[2]
        if value.qualname == LAYER:
            return Array()
        if not value.qualname.startswith("equinox.nn.") or not name.startswith((*tables.PLAIN_LAYERS, "MLP")):
            return self.note(env.module, node, f"calling a `{value.qualname}` is not listed")
        if self.classes.is_patched("__call__") or self.index.patches.in_module("nn", name):
            return self.note(env.module, node, f"code of the project stores another `{name}`, or another `__call__`")
        if value.arguments is None and self.classes.has_heirs(value.qualname):
            return self.note(env.module, node, f"a class of the project inherits from `{name}` and may be meant")
        if (noted := noted_in([*args, *keywords.values()])) is not None:
            return noted
        for each in (*args, *keywords.values()):
            if not is_data(each):
                return self.note(env.module, node, why_of(node, each))
        given = dict(value.arguments or ())
        if name == "MLP" and value.arguments is None:
            return self.note(env.module, node, "the activation of the `MLP` is not shown")
        for key in ("activation", "final_activation", 4, 5):
            if name == "MLP" and key in given:
                self.call(env, node, given[key], [Array()], {})
        first = args[0] if args and isinstance(args[0], Array) else Array()
        if name in ("Linear", "MLP"):
            return weakened(first)
        if name.startswith(("Conv", "MaxPool", "AvgPool")):
            return _strided(name, given, first)
        return first if name in KEEPS_SHAPE else Array()


def _strided(name: str, given: Mapping[str | int, Type], image: Array) -> Array:
    """What a convolution or a pool, built with some arguments, makes of an image."""
    at = 3 if name in ("Conv", "ConvTranspose") else 2
    defaults = (("kernel_size", None), ("stride", Static("1")), ("padding", Static("0")))
    found = (given.get(key, given.get(at + place, default)) for place, (key, default) in enumerate(defaults))
    size, stride, padding = map(_text, found)
    same = padding in ("'SAME'", "'same'") or (size, padding) in (("1", "0"), ("3", "1"), ("5", "2"), ("7", "3"))
    if stride not in (None, "1") and image.shape is not None:
        return resized(Array(image.shape))
    return image if same and stride == "1" and name.startswith("Conv") else Array()


def _text(value: Type | None) -> str | None:
    return value.text if isinstance(value, Static) else None
