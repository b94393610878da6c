"""Modules of `equinox.nn` and of Flax NNX: each that is listed computes, and calls the functions it was built with.

Modules, variables and streams of Flax NNX are objects that their owners change. A scan gives each layer back what it
wrote to variables of its own, so the modules are harmless where a layer calls its own; a variable that a loop reaches
in another way is a condition: the scan would read what was there before.
"""

import ast
from collections.abc import Mapping

from scanify.analysis.language import tables
from scanify.analysis.language.base import Base
from scanify.analysis.language.parts import element_of
from scanify.analysis.language.shapes import KEEPS_SHAPE, resized, weakened
from scanify.analysis.language.syntax.operators import noted_in, why_of
from scanify.analysis.language.types import (
    Array,
    Env,
    Function,
    Items,
    LibraryObject,
    Named,
    Nothing,
    Object,
    Static,
    Type,
    Types,
    Unknown,
    is_data,
    options,
    without_none,
)

_STATEFUL = ("BatchNorm", "SpectralNorm")

LAYER = "a layer of a class that is not shown"


class LibraryClasses(Base):
    """The part of the walker that knows modules of libraries.

    `level` is the number of functions around the loop's body, None outside of it; `bound` are the names that the loop
    binds, and `parts` the nodes of which only a part is read.
    """

    def construct_library(self, env: Env, node: ast.expr, qualname: str, args: Types, keywords: Named) -> Type:
        """An object of a class of a library, with the arguments of its constructor."""
        if not qualname.startswith("equinox.nn."):
            return self.note(env.module, node, f"`{qualname}` is not listed")
        for value in (*args, *keywords.values()) if not self.muted else ():
            if isinstance(without_none(value), Unknown) or (
                isinstance(value, Object)
                and qualname.rpartition(".")[2] not in ("Sequential", "Lambda", "WeightNorm", "SpectralNorm", "Shared")
            ):
                return self.note(env.module, node, why_of(node, value))
        named: list[tuple[str | int, Type]] = [*enumerate(args), *sorted(keywords.items())]
        return LibraryObject(qualname, tuple(named))

    def call_library_object(self, env: Env, node: ast.expr, value: LibraryObject, args: Types, keywords: Named) -> Type:
        """Call a module of a library: one that is listed computes, and calls the functions it was built with."""
        name = value.qualname.rpartition(".")[2]
        if value.qualname == LAYER:
            return Array()
        if value.qualname == "builtins.super" or not value.qualname.startswith("equinox.nn."):
            return self.note(env.module, node, f"calling a `{value.qualname}` is not listed")
        if self.classes.is_patched("__call__") or self.index.patches.in_module(value.qualname.split(".")[1], name):
            return self.note(env.module, node, f"code of the project stores another `{name}`, or another `__call__`")
        if value.arguments is None and self.classes.has_heirs(value.qualname):
            return self.note(env.module, node, f"a class of the project inherits from `{name}` and may be meant")
        if (noted := noted_in([*args, *keywords.values()])) is not None:
            return noted
        flat = (option for each in (*args, *keywords.values()) for option in options(each))
        bad = next((each for each in flat if not is_data(each) and not isinstance(each, LibraryObject)), None)
        if bad is not None:
            return self.note(env.module, node, why_of(node, bad))
        given = dict(value.arguments or ())
        if name == "Lambda" and (0 in given or "fn" in given):
            return self.call(env, node, given.get(0, given.get("fn", Nothing())), args[:1], {})
        if name == "Sequential" and (0 in given or "layers" in given):
            found: Type = args[0] if args else Array()
            layers = given.get(0, given.get("layers", Nothing()))
            inner = layers.parts if isinstance(layers, Items) and layers.parts is not None else [element_of(layers)]
            for each in inner:
                found = self.call(env, node, each, [found], {"key": Array()} if not isinstance(each, Function) else {})
            return found
        if name == "MLP":
            if value.arguments is None:
                return self.note(env.module, node, "the activation of the `MLP` is not shown")
            for key in ("activation", "final_activation", 4, 5):
                if key in given:
                    self.call(env, node, given[key], [Array()], {})
            return weakened(_kept(args))
        if name == "GRUCell":
            return args[1] if len(args) > 1 else Array()
        if name == "LSTMCell":
            return Items("tuple", (Array(), Array()), None, self.own)
        if name in _STATEFUL:
            return Items("tuple", (_kept(args), LibraryObject("equinox.nn.State")), None, self.own)
        if not name.startswith(tables.PLAIN_LAYERS):
            return self.note(env.module, node, f"calling an `{name}` is not listed")
        if name == "Linear":
            return weakened(_kept(args))
        if (
            _text(given.get("stride")) not in (None, "1")
            and _kept(args).shape is not None
            and name.startswith(("Conv", "MaxPool", "AvgPool"))
        ):
            return resized(Array(_kept(args).shape))
        return _kept(args) if name in KEEPS_SHAPE or self._same_padding(value, given) else Array()

    def _same_padding(self, value: LibraryObject, given: Mapping[str | int, Type]) -> bool:
        """True if a convolution has an input and an output of one shape."""
        if not value.qualname.rpartition(".")[2].startswith("Conv"):
            return False
        at = 3 if value.qualname.endswith(("Conv", "ConvTranspose")) else 2
        size, stride, padding = (
            _text(given.get(key, given.get(at + place, default)))
            for place, (key, default) in enumerate(
                {"kernel_size": None, "stride": Static("1"), "padding": Static("0")}.items()
            )
        )
        same = padding in ("'SAME'", "'same'") or (size, padding) in (("1", "0"), ("3", "1"), ("5", "2"), ("7", "3"))
        return same and stride == "1"


def _text(value: Type | None) -> str | None:
    return value.text if isinstance(value, Static) else None


def _kept(args: Types) -> Array:
    first = args[0] if args else Array()
    return first if isinstance(first, Array) else Array()
