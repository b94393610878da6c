"""Modules of `equinox.nn`: each that is listed only computes."""

import ast
from collections.abc import Mapping

from scanify.analysis.language import tables
from scanify.analysis.language import types as t
from scanify.analysis.language.base import Base
from scanify.analysis.language.shapes import KEEPS_SHAPE, resized, weakened
from scanify.analysis.language.syntax.operators import noted_in, why_of

LAYER = "a layer of a class that is not shown"


class LibraryClasses(Base):
    """The part of the walker that knows modules of libraries."""

    def construct_library(self, env: t.Env, node: ast.expr, qualname: str, args: t.Types, keywords: t.Named) -> t.Type:
        """An object of a class of a library, with the arguments of its constructor."""
        if not qualname.startswith("equinox.nn."):
            return self.note(env.module, node, f"`{qualname}` is not listed")
        for value in (*args, *keywords.values()) if not self.muted else ():
            if isinstance(t.without_none(value), t.Unknown | t.Object):
                return self.note(env.module, node, why_of(node, value))
        return t.LibraryObject(qualname, (*enumerate(args), *sorted(keywords.items())))

    def call_library_object(
        self, env: t.Env, node: ast.expr, value: t.LibraryObject, args: t.Types, keywords: t.Named
    ) -> t.Type:
        """Call a module of a library: one that is listed computes, and calls the functions it was built with."""
        name = value.qualname.rpartition(".")[2]
        if value.qualname == LAYER:
            return t.Array()
        if not value.qualname.startswith("equinox.nn.") or not name.startswith((*tables.PLAIN_LAYERS, "MLP")):
            return self.note(env.module, node, f"calling a `{value.qualname}` is not listed")
        if self.classes.is_patched("__call__") or self.index.patches.in_module("nn", name):
            return self.note(env.module, node, f"code of the project stores another `{name}`, or another `__call__`")
        if value.arguments is None and self.classes.has_heirs(value.qualname):
            return self.note(env.module, node, f"a class of the project inherits from `{name}` and may be meant")
        if (noted := noted_in([*args, *keywords.values()])) is not None:
            return noted
        for each in (*args, *keywords.values()):
            if not t.is_data(each):
                return self.note(env.module, node, why_of(node, each))
        given = dict(value.arguments or ())
        if name == "MLP" and value.arguments is None:
            return self.note(env.module, node, "the activation of the `MLP` is not shown")
        for key in ("activation", "final_activation", 4, 5):
            if name == "MLP" and key in given:
                self.call(env, node, given[key], [t.Array()], {})
        first = args[0] if args and isinstance(args[0], t.Array) else t.Array()
        if name in ("Linear", "MLP"):
            return weakened(first)
        if name.startswith(("Conv", "MaxPool", "AvgPool")):
            return _strided(name, given, first)
        return first if name in KEEPS_SHAPE else t.Array()


def _strided(name: str, given: Mapping[str | int, t.Type], image: t.Array) -> t.Array:
    """What a convolution or a pool, built with some arguments, makes of an image."""
    at = 3 if name in ("Conv", "ConvTranspose") else 2
    defaults = (("kernel_size", None), ("stride", t.Static("1")), ("padding", t.Static("0")))
    found = (given.get(key, given.get(at + place, default)) for place, (key, default) in enumerate(defaults))
    size, stride, padding = map(_text, found)
    same = padding in ("'SAME'", "'same'") or (size, padding) in (("1", "0"), ("3", "1"), ("5", "2"), ("7", "3"))
    if stride not in (None, "1") and image.shape is not None:
        return resized(t.Array(image.shape))
    return image if same and stride == "1" and name.startswith("Conv") else t.Array()


def _text(value: t.Type | None) -> str | None:
    return value.text if isinstance(value, t.Static) else None
