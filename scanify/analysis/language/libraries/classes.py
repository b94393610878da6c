"""Modules of `equinox.nn` and of Flax NNX: each that is listed computes, and calls the functions it was built with.

Modules, variables and streams of Flax NNX are objects that their owners change. A scan gives each layer back what it
wrote to variables of its own, so the modules are harmless where a layer calls its own; a variable that a loop reaches
in another way is a condition: the scan would read what was there before.
"""

import ast
from collections.abc import Mapping

from scanify.analysis.classes import nnx
from scanify.analysis.language import tables
from scanify.analysis.language.base import Base, code_of
from scanify.analysis.language.parts import element_of
from scanify.analysis.language.shapes import KEEPS_SHAPE, resized, weakened
from scanify.analysis.language.syntax.operators import noted_in, why_of
from scanify.analysis.language.types import (
    GIVEN,
    Applied,
    Array,
    ClassOf,
    Env,
    Function,
    Items,
    LibraryFunction,
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

_HOW = frozenset("bias_init dtype kernel_init param_dtype precision rngs use_bias".split())

_PLAIN_CONV = frozenset({0, 1, 2}) | _HOW


class LibraryClasses(Base):
    """The part of the walker that knows modules of libraries.

    `level` is the number of functions around the loop's body, None outside of it; `bound` are the names that the loop
    binds, and `parts` the nodes of which only a part is read.
    """

    def construct_library(self, env: Env, node: ast.expr, qualname: str, args: Types, keywords: Named) -> Type:
        """An object of a class of a library, with the arguments of its constructor."""
        if qualname.startswith(nnx.PACKAGE):
            return self.construct_nnx(env, node, qualname, args, keywords)
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
        if value.qualname == "builtins.super" or not value.qualname.startswith(("equinox.nn.", nnx.PACKAGE)):
            return self.note(env.module, node, f"calling a `{value.qualname}` is not listed")
        if self.classes.is_patched("__call__") or self.index.patches.in_module(value.qualname.split(".")[1], name):
            return self.note(env.module, node, f"code of the project stores another `{name}`, or another `__call__`")
        if value.arguments is None and self.classes.has_heirs(value.qualname):
            return self.note(env.module, node, f"a class of the project inherits from `{name}` and may be meant")
        if (noted := noted_in([*args, *keywords.values()])) is not None:
            return noted
        if value.qualname.startswith(nnx.PACKAGE):
            return self.call_nnx(env, node, value, args, keywords)
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

    level: int | None = None
    bound: frozenset[str] = frozenset()
    layers_text = ""

    def construct_nnx(self, env: Env, node: ast.expr, qualname: str, args: Types, keywords: Named) -> Type:
        """An object of Flax NNX. Its constructor calls initializers, each with a key, a shape and a dtype."""
        if qualname in nnx.WRAPPERS and len(args) == 1 and not keywords:
            return self._wrapped(env, node, qualname, args[0])
        named: list[tuple[str | int, Type]] = [*enumerate(args), *sorted(keywords.items())]
        for key, value in named:
            for option in options(value):
                if str(key).endswith("_init") and isinstance(option, Function | Applied | ClassOf | LibraryFunction):
                    if not (isinstance(option, LibraryFunction) and tables.is_listed(option.qualname)):
                        self.call(env, node, option, [Array(), Static(), Static()], {})
                elif isinstance(option, LibraryFunction) and not tables.is_listed(option.qualname):
                    return self.note(env.module, node, f"`{option.qualname}` is not listed")
                elif not is_data(option) and not (isinstance(option, LibraryObject) and option.qualname in nnx.STREAMS):
                    return self.note(env.module, node, why_of(node, option))
        return LibraryObject(qualname, tuple(named))

    def _wrapped(self, env: Env, node: ast.expr, qualname: str, value: Type) -> Type:
        if not qualname.endswith(".List"):
            return value
        if isinstance(value, Items):
            return Items("list", value.parts, value.each, self.own)
        return self.note(env.module, node, why_of(node, value))

    def call_nnx(self, env: Env, node: ast.expr, value: LibraryObject, args: Types, keywords: Named) -> Type:
        """Call a module that is listed, or draw a key from a stream, which only constructors do."""
        name, given = value.qualname.removeprefix(nnx.PACKAGE), dict(value.arguments or ())
        if value.qualname in nnx.STREAMS:
            if self.muted or self.making:
                return Array()
            return self.note(env.module, node, "it draws from a stream of random numbers that others may draw from")
        if name not in nnx.LAYERS:
            return self.note(env.module, node, f"calling an `nnx.{name}` is not listed")
        other = next((key for key, each in keywords.items() if key not in nnx.CALL_ARGUMENTS and _is_set(each)), None)
        if other is not None or not all(map(is_data, (*args, *keywords.values()))):
            return self.note(env.module, node, f"calling an `nnx.{name}` with `{other or 'an object'}` is not listed")
        first = args[0] if args and isinstance(args[0], Array) else Array()
        cast = _cast(given.get("dtype", Nothing()), first.cast)
        kept = Array(first.shape, cast)
        if name in nnx.KEEPING_SHAPE and not given.keys() & {"out_features", 3}:
            return kept
        plain = name == "Linear" or (name == "Conv" and given.keys() <= _PLAIN_CONV)
        return weakened(kept) if plain else Array(None, cast)

    def of_nnx(self, env: Env, node: ast.expr, value: LibraryObject, name: str) -> Type:
        """An attribute of an object of Flax NNX."""
        if value.qualname in nnx.VARIABLES and name == "value":
            return Array()
        if value.qualname in nnx.STREAMS:
            return LibraryObject(f"{nnx.PACKAGE}RngStream")
        if value.qualname.removeprefix(nnx.PACKAGE) in nnx.LAYERS:
            if name == "__call__":
                return value
            if name in nnx.FIELDS:
                return LibraryObject(f"{nnx.PACKAGE}{nnx.FIELDS[name]}")
        return self.note(env.module, node, f"`{name}` of a `{value.qualname}` is not listed")

    def writes_variable(self, target: ast.expr, env: Env) -> bool:
        """True for `self.count.value = ...` and `self.count[...] = ...` of a variable, in a function that the loop
        calls; that it is one of a layer is a condition."""
        if not isinstance(target, ast.Subscript) and getattr(target, "attr", "") != "value":
            return False
        with self.silent():
            holders = list(options(self.evaluate(target.value, env)))  # type: ignore[attr-defined]
        if not all(isinstance(each, LibraryObject) and each.qualname in nnx.VARIABLES for each in holders):
            return False
        if self.level is None or env.depth <= self.level or not holders:
            return False
        function = getattr(self.active[-1], "name", "")
        where = f"{env.owner.name}.{function}" if env.owner is not None else function
        text = f"`{code_of(env.module, target)}` in `{where}` is a variable of a layer"
        self.condition(env.module, target, f"{text}, and of no object beside the layers")
        return True

    # -- objects beside the layers -----------------------------------------------------------------------------------

    def note_beside(self, env: Env, node: ast.expr, value: Type, name: str = "") -> None:
        """Note what must hold of an object of Flax NNX that the loop reaches in another way than by its layers: by a
        default of the argument `name`, or by a name that is bound outside of the loop."""
        if self.level is None or self.muted:
            return
        if not name:
            root = node
            while isinstance(root, ast.Attribute | ast.Subscript):
                root = root.value
            if not isinstance(root, ast.Name) or not self._is_outside(env, root.id):
                return
            name = root.id
        for option in options(value):
            if isinstance(option, LibraryObject) and option.qualname in nnx.STREAMS:
                text = f"no layer writes to `{code_of(env.module, node)}`, which the loop gives to all of them"
            elif self._holds_variables(option) and (isinstance(option, LibraryObject) or id(node) not in self.parts):
                text = f"no variable that the layers in `{self.layers_text}` write to is one of `{name}`, too"
            else:
                continue
            self.condition(env.module, node, text)

    def _is_outside(self, env: Env, name: str) -> bool:
        """True if a name is bound before the loop, or to what is carried."""
        holder: Env | None = env
        while holder is not None and name not in holder.names:
            holder = holder.outer
        return holder is None or (holder.depth <= (self.level or 0) and name not in self.bound)

    def _holds_variables(self, value: Type | None) -> bool:
        match value:
            case LibraryObject(qualname=qualname):
                return qualname.startswith(nnx.PACKAGE)
            case Object(cls=cls):
                return self.classes.is_nnx(cls)
            case Function(bound=bound):
                return self._holds_variables(bound)
            case Applied(function=function):
                parts = (function, *value.arguments, *(each for _, each in value.keywords))
                return any(map(self._holds_variables, parts))
            case Items():
                return any(map(self._holds_variables, options(value.element)))
            case _:
                return False


def _text(value: Type | None) -> str | None:
    return value.text if isinstance(value, Static) else None


def _kept(args: Types) -> Array:
    first = args[0] if args else Array()
    return first if isinstance(first, Array) else Array()


def _cast(dtype: Type, before: str | None) -> str | None:
    """The dtype of the result of a module with a `dtype`."""
    if isinstance(dtype, Nothing):
        return before
    text = dtype.qualname if isinstance(dtype, LibraryFunction) else getattr(dtype, "text", None) or GIVEN
    return "complex" if "complex" in text else "dtype" if text.startswith(GIVEN) else text.rpartition(".")[2]


def _is_set(value: Type) -> bool:
    return not isinstance(value, Nothing)
