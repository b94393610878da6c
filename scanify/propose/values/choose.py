"""Choose a value for every parameter that a constructor needs, as source of the case."""

from __future__ import annotations

import dataclasses
import enum
import inspect
import re
import typing
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from scanify.propose.values.annotations import (
    Shape,
    array_shape,
    is_callable,
    is_key,
    plain,
    sequence_item,
    shown,
    union,
)
from scanify.propose.values.arrays import array_text
from scanify.propose.values.expression import Call, Expression, Text, show
from scanify.propose.values.known import attributes, is_count, is_indexed, known_value
from scanify.propose.values.names import GiveUp, References
from scanify.propose.values.roles import role_of
from scanify.propose.values.signature import Parameter, constructor_parameters, function_parameters
from scanify.propose.values.sizes import Sizes

_DEPTH = 5
# Sizes that keep their defaults, since they determine how a layer works rather than how large it is.
_KEPT = frozenset(("kernel", "groups", "factor", "spatial"))
_SMALL = 16
_PER_AXIS = frozenset(("modes", "kernel", "groups", "patch", "size", "length"))

_FLOATS = (
    (r"(\w+_)?(dropout|drop|pdrop|drop_?path|p|rate|prob|probability)(_(rate|prob|p))?", "0.1"),
    (r"(\w+_)?(eps|epsilon)", "1e-5"),
    (r"(\w+_)?(ratio|factor|expansion|mult|multiplier)", "2.0"),
    (r"(\w+_)?(theta|base)", "10000.0"),
    (r"(\w+_)?(scale|std|stddev|temperature|gain|sigma|beta|alpha|gamma|tau|dt|lr)", "1.0"),
    (r"(\w+_)?(momentum|decay)", "0.9"),
)
_FLAGS = r"(use|with|has|is|do|add|apply|enable|return|tie|train|training|causal|inference|deterministic|bias)(_\w+)?"
_ACTIVATION = re.compile(r"(\w+_)?(activation|act|nonlinearity|non_linearity|gate)(_?(fn|fun|func|function|layer))?")


@dataclass(frozen=True)
class Style:
    """A way to choose sizes. `equal`: all widths are equal. `shrink`: which sizes with a default become small.

    `raw_keys`: keys are uint32 arrays, for code older than typed keys.
    """

    equal: bool = False
    shrink: typing.Literal["all", "depth", "none"] = "all"
    raw_keys: bool = False


@dataclass
class Chooser:
    """Chooses values for constructors. The same name always gets the same size.

    `state` is true if a state may be passed to calls. `first` are kinds and shapes of inputs for the model's first
    layer, which are tried first.
    """

    module: ModuleType
    style: Style = field(default_factory=Style)

    def __post_init__(self) -> None:
        self.sizes = Sizes(equal=self.style.equal)
        self.references = References(self.module)
        self.state = False
        self.first: tuple[tuple[str, tuple[str, ...]], ...] = ()
        self._keys = 0

    def construct(self, cls: type, inside: tuple[type, ...] = ()) -> Call:
        """Return the call that builds an instance of `cls`: a model, a layer, or a configuration. Raises GiveUp."""
        if len(inside) >= _DEPTH or cls in inside:
            raise GiveUp(f"{cls.__name__} is built from {' from '.join(each.__name__ for each in inside[::-1])}")
        if inspect.isabstract(cls) or getattr(cls, "__abstractvars__", None):
            return self._concrete(cls, inside)
        try:
            parameters = constructor_parameters(cls)
        except (TypeError, ValueError) as error:
            raise GiveUp(f"the signature of {cls.__name__} cannot be read: {error}") from None
        callee = self.references.to(cls)
        chosen = []
        for each in parameters:
            value = self.value(each, (*inside, cls)) if each.required else self.instead(each, (*inside, cls))
            if value is not None:
                chosen.append((None if each.positional else each.name, value))
        return Call(callee, tuple(chosen))

    def _concrete(self, cls: type, inside: tuple[type, ...]) -> Call:
        """Build the first concrete subclass of an abstract class."""
        failed = GiveUp(f"{cls.__name__} is abstract, and no class of it is known")
        subclasses: list[type] = type.__subclasses__(cls)
        for each in subclasses:
            try:
                return dataclasses.replace(self.construct(each, (*inside, cls)), why=f"a {cls.__name__}")
            except GiveUp as error:
                failed = error
        raise failed

    def call(self, name: str) -> Call:
        """Return the call of the function `name` of the module. Raises GiveUp."""
        asked = [each for each in function_parameters(getattr(self.module, name)) if each.required]
        owner = type(name, (), {})
        return Call(f"module.{name}", tuple((each.name, self.value(each, (owner,))) for each in asked))

    def instead(self, parameter: Parameter, inside: tuple[type, ...]) -> Expression | None:
        """Return a replacement for a default; None if the default is kept."""
        default, options = parameter.default, union(parameter.annotation)
        if default is None and is_key(parameter.annotation, parameter.name):
            return self.key()
        if isinstance(default, int) and not isinstance(default, bool):
            role = role_of(parameter.name)
            wanted = {"all": role not in _KEPT, "depth": role == "depth", "none": False}[self.style.shrink]
            text = self.sizes.parameter(parameter.name) if wanted and self._worth(role, default) else None
            return None if text is None else Text(text, f"{default} by default")
        configs = [each for each in options if is_config(each)]
        if configs and default is not None and self.style.shrink != "none":
            try:
                built = self.construct(configs[0], inside)
            except GiveUp:
                return None
            return built if built.arguments else None
        return None

    @staticmethod
    def _worth(role: str | None, default: int) -> bool:
        return role is not None and default > 0 and (role != "other" or default >= _SMALL)

    def value(self, parameter: Parameter, inside: tuple[type, ...]) -> Expression:
        """Return a value for a parameter without default. Raises GiveUp with the parameter and its type."""
        name = parameter.name
        if is_key(parameter.annotation, name):
            return self.key()
        try:
            value = self._by_annotation(name, parameter.annotation, inside)
        except GiveUp:
            if type(None) not in union(parameter.annotation):
                raise
            value = None
        if value is not None:
            return value
        if type(None) in union(parameter.annotation):
            return Text("None", "it may be None")
        text = known_value(self.module, name, _suits(parameter.annotation))
        if text is not None:
            return Text(text, "as the module has it for this name")
        if name == "axis_name":
            return Text('"batch"', "the axis of vmap")
        untyped = parameter.annotation is None
        kind = "no type that says more" if untyped else f"type {shown(parameter.annotation)} is not known"
        raise GiveUp(f"parameter `{name}` of {inside[-1].__name__} has no default and {kind}")

    def key(self) -> Text:
        """A new random key."""
        made = "PRNGKey" if self.style.raw_keys else "key"
        self._keys += 1
        return Text(f"jax.random.{made}({self._keys - 1})")

    def _by_annotation(self, name: str, annotation: Any, inside: tuple[type, ...]) -> Expression | None:
        """Return a value for the first member of a union for which one is known."""
        failed: GiveUp | None = None
        for option in [each for each in union(annotation) if each is not type(None)] or [None]:
            try:
                value = self._by_type(name, plain(option), inside)
            except GiveUp as error:
                failed = error
                continue
            if value is not None:
                return value
        if failed is not None:
            raise failed
        return None

    def _by_type(self, name: str, kind: Any, inside: tuple[type, ...]) -> Expression | None:
        simple = self.simple(name, kind)
        if simple is not None:
            return simple
        shape = array_shape(kind)
        if shape is not None:
            return self._array(name, shape)
        sequence = sequence_item(kind)
        if sequence is not None:
            return self._sequence(name, sequence, inside)
        if typing.get_origin(kind) is type:
            found = [each for each in union(typing.get_args(kind)[0]) if isinstance(each, type)]
            return Text(self.references.to(found[0]), "the first of its kind") if found else None
        if isinstance(kind, type) and (is_config(kind) or is_layer(kind)):
            return self.construct(kind, inside)
        return self._by_name(name, inside) if kind is None or kind is Any or isinstance(kind, str) else None

    def simple(self, name: str, kind: Any) -> Text | None:
        """Return a value for a simple type: numbers by name, flags, choices, functions, dtypes."""
        if typing.get_origin(kind) is typing.Literal:
            return Text(repr(typing.get_args(kind)[0]), "the first of " + ", ".join(map(repr, typing.get_args(kind))))
        if isinstance(kind, type) and issubclass(kind, enum.Enum):
            first = next(iter(kind), None)
            return None if first is None else Text(f"{self.references.to(kind)}.{first.name}", "the first of its kind")
        if kind is bool:
            return Text(str(bool(re.fullmatch(r"(use|with)_\w+|bias|causal", name))))
        if kind is int:
            text = self.sizes.parameter(name)
            return Text("2", "a guess: its name says nothing known") if text is None else Text(text)
        if kind is float:
            known = _float(name)
            return Text(known) if known else Text("1.0", "a guess: its name says nothing known")
        if _ACTIVATION.fullmatch(name.lower()) and (is_callable(kind) or kind in (None, Any) or isinstance(kind, str)):
            return Text("jax.nn.gelu")
        if re.fullmatch(r"(\w+_)?dtype", name) and kind is not str:
            return Text("jnp.float32")
        return None

    def _array(self, name: str, shape: Shape) -> Text:
        if shape.dims is None:
            raise GiveUp(f"parameter `{name}` has no default and its type does not say which shape of array")
        return array_text(name, shape.kind or "float", shape.dims, self.sizes, seed=100 + len(name))

    def _sequence(
        self, name: str, sequence: tuple[type, Any, int | None], inside: tuple[type, ...]
    ) -> Expression | None:
        made, item, count = sequence
        item = next(iter(union(item)), None)
        if isinstance(item, type) and is_layer(item) and count is None:
            call = self.construct(item, inside)
            depth = self.sizes.parameter("depth")
            # Each layer has its own key, so that no two are equal.
            fresh = tuple((n, Text("k") if _is_key_text(v) else v) for n, v in call.arguments)
            keyed = fresh != call.arguments
            over = f"k in jax.random.split({self.key().text}, {depth})" if keyed else f"_ in range({depth})"
            text = f"{show(Call(call.callee, fresh), 0)} for {over}"
            return Text(f"[{text}]" if made is list else f"tuple({text})")
        one = self._by_annotation(_singular(name), item, inside)
        if isinstance(one, Call):
            one = Text(show(one, 0))
        if one is None:
            return None
        if count is not None:
            return Text(f"({', '.join([one.text] * count)}{',' if count == 1 else ''})", one.why)
        if role_of(_singular(name)) in _PER_AXIS:  # One entry per axis of a convolution: one axis.
            return Text(f"[{one.text}]" if made is list else f"({one.text},)", one.why)
        times = self.sizes.parameter("depth")
        return Text(f"[{one.text}] * {times}" if made is list else f"({one.text},) * {times}", one.why)

    def _by_name(self, name: str, inside: tuple[type, ...]) -> Expression | None:
        """Return a value for a parameter without a usable type, from the vocabulary or the module's configuration."""
        if re.fullmatch(r"cfg|conf|config|configuration|args|hparams|params|options|hyperparams", name.lower()):
            read = attributes(self.module, name)
            found = [each for each in vars(self.module).values() if is_config(each) and _is_own(each, self.module)]
            found = [each for each in found if len(found) == 1 or all(hasattr(each, one) for one in read)]
            if found:
                call = self.construct(found[0], inside)
                return dataclasses.replace(call, why="the configuration in the file")
            if not read:
                return None
            self.references.imports.add("import types")
            owner = type(name, (), {})
            values = tuple((one, self.value(Parameter(one), (*inside, owner))) for one in read)
            return Call("types.SimpleNamespace", values, why="what the file reads of it")
        text = self.sizes.parameter(name)
        if text is not None and is_indexed(self.module, name):
            return Text(f"[{text}] * {self.sizes.parameter('depth')}", "indexed in the file")
        if text is not None:
            return Text(text)
        known = _float(name)
        if known is not None:
            return Text(known)
        if re.fullmatch(_FLAGS, name):
            return Text(str(name.startswith("use_")))
        return Text("1", "a guess: the file compares it") if is_count(self.module, name) else None


def is_layer(kind: Any) -> bool:
    """True if a type is an Equinox module that can have instances."""
    import equinox as eqx

    return isinstance(kind, type) and issubclass(kind, eqx.Module) and kind is not eqx.Module


def is_config(kind: Any) -> bool:
    """True if a type is a dataclass or a NamedTuple, which is fully described by its fields."""
    if not isinstance(kind, type) or is_layer(kind):
        return False
    return dataclasses.is_dataclass(kind) or (issubclass(kind, tuple) and hasattr(kind, "_fields"))


def _is_own(kind: type, module: ModuleType) -> bool:
    return kind.__module__ == module.__name__ or kind.__module__.partition(".")[0] == module.__name__.partition(".")[0]


def _is_key_text(value: Expression) -> bool:
    return isinstance(value, Text) and re.fullmatch(r"jax\.random\.(key|PRNGKey)\(\d+\)", value.text) is not None


def _suits(annotation: Any) -> typing.Callable[[Any], bool]:
    """Return a predicate for values of a parameter for which no rule has a value."""
    options = union(annotation)
    if any(map(is_callable, options)):
        return callable
    kinds = tuple(each for each in options if isinstance(each, type) and each is not type(None))
    if kinds or not (annotation is None or annotation is Any):
        return lambda value: isinstance(value, kinds)
    return lambda value: isinstance(value, str | int | float) or callable(value)


def _float(name: str) -> str | None:
    return next((text for pattern, text in _FLOATS if re.fullmatch(pattern, name.lower())), None)


def _singular(name: str) -> str:
    return name[:-1] if name.endswith("s") and not name.endswith("ss") else name
