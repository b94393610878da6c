"""The source of a proposed case: one function that builds a model and the arguments of its call."""

from __future__ import annotations

import ast
import textwrap
from dataclasses import dataclass, field, replace
from typing import Any

from scanify.propose.values.arguments import Argument, Arguments
from scanify.propose.values.expression import Call, Text, show
from scanify.propose.values.roles import ROLES
from scanify.propose.values.sizes import RESERVED, Size, Sizes

# Sizes that are counts rather than widths, so that no array of the model determines them.
_NO_WIDTHS = frozenset(("key", "depth", "heads", "kv_heads", "length", "batch", "size", "experts", "chosen"))
_KEY = Size("key", 1, "seed of the call's key; None for inference, without a key")


@dataclass(frozen=True)
class Written:
    """A case whose whole body comes from the project; `note` says where. It has no sizes of its own."""

    function: str
    body: tuple[str, ...]
    note: str
    imports: frozenset[str] = frozenset()

    def text(self) -> str:
        """The source of the function."""
        body = "\n".join(textwrap.indent(each, "    ") for each in self.body)
        return f'def {self.function}(module):\n    """{self.note}"""\n{body}\n'


@dataclass(frozen=True)
class Draft:
    """The parts of a case's source.

    `entry` is the method to call: `__call__` or another one. `state` is true if the model comes with an `eqx.nn.State`,
    from `eqx.nn.make_with_state` or, with `pair`, from the call itself. `prelude` are statements that come first. With
    an `axis` name, the call is mapped over examples. `declared` are the sizes that the constructor needed; all other
    widths are `width`, if that is a number, because the model's own arrays have that width, and `length` is the length
    of sequences. `notes` go into the docstring, `sweep` follows the function.
    """

    function: str
    model: Call
    entry: str
    sizes: Sizes
    arguments: Arguments = ()
    state: bool = False
    imports: frozenset[str] = frozenset()
    declared: frozenset[str] = frozenset()
    width: int | None = None
    length: int | None = None
    prelude: tuple[str, ...] = ()
    pair: bool = False
    axis: str = ""
    notes: tuple[str, ...] = ()
    sweep: tuple[dict[str, Any], ...] = field(default=())

    @property
    def key(self) -> Argument | None:
        """The call's random key, if it has one."""
        return next((each for each in self.arguments if each.key is not None), None)

    @property
    def variables(self) -> dict[str, Size]:
        """The sizes used in the source, in the order of the vocabulary, followed by the model's own names."""
        named = {node.id for node in ast.walk(ast.parse(f"if True:\n{self._body()}")) if isinstance(node, ast.Name)}
        known = {
            name: self.sizes.variables.get(name) or Size(name, role.value, role.why) for name, role in ROLES.items()
        }
        every = {**known, **self.sizes.variables}
        found = {name: self._measured(size) for name, size in every.items() if name in named}
        if self.key is not None and self.key.key == "optional":
            found["key"] = _KEY
        return found

    def _measured(self, size: Size) -> Size:
        if size.variable == "length" and self.length is not None and "length" not in self.declared:
            return replace(size, value=self.length, why="as long as an error says")
        if self.width is None or size.variable in self.declared or size.variable in _NO_WIDTHS:
            return size
        return replace(size, value=self.width, why="as wide as an array of the model")

    @property
    def widened(self) -> bool:
        """True if `width` or `length` is the value of any size in the source."""
        return any(self._measured(each) is not each for each in self.variables.values())

    def text(self) -> str:
        """The source of the function and its sweep."""
        signature = [f"def {self.function}(", "    module,"]
        for size in self.variables.values():
            names = [name for name in size.names if name != size.variable]
            comment = size.why + (f" ({', '.join(names)})" if names else "")
            signature.append(f"    {size.variable}={size.value},  # {comment}")
        lines = [*signature, "):", *self._docstring(), self._body()]
        text = "\n".join(lines)
        if self.sweep:
            entries = ", ".join(
                "{" + ", ".join(f'"{k}": {v!r}' for k, v in entry.items()) + "}" for entry in self.sweep
            )
            text += f"\n\n\n{self.function}.sweep = [{entries}]"
        return text + "\n"

    def construct_text(self) -> str:
        """The source of a function `construct` with the same sizes that returns only the model and any state."""
        answer = "model, state" if self.state else "model"
        return self._part("construct", [self._build(), f"    return {answer}"])

    def arguments_text(self) -> str:
        """The source of a function `arguments` that returns `(args, kwargs)`; it takes any state of the model too."""
        takes = "state=None, " if self.state else ""
        args, kwargs = self._passed()
        key = ["    key = jax.random.key(1)"] if self.key is not None else []
        return self._part("arguments", [*key, *self._assignments(), f"    return {args}, {kwargs}"], takes)

    def _part(self, name: str, body: list[str], takes: str = "") -> str:
        sizes = ", ".join(f"{each.variable}={each.value}" for each in self.variables.values() if each.variable != "key")
        return "\n".join([f"def {name}(module, {takes}{sizes}):", *body]) + "\n"

    def _docstring(self) -> list[str]:
        if len(self.notes) == 1:
            return [f'    """{self.notes[0]}"""']
        return (
            [f'    """{self.notes[0]}', "", *(f"    {note}" for note in self.notes[1:]), '    """']
            if self.notes
            else []
        )

    def _build(self) -> str:
        before = "".join(f"{textwrap.indent(each, '    ')}\n" for each in self.prelude)
        if not self.state:
            return f"{before}    model = {show(self.model)}"
        made = self.model if self.pair else replace(self.model, callee=f"eqx.nn.make_with_state({self.model.callee})")
        return f"{before}    model, state = {show(made)}"

    def _body(self) -> str:
        lines = [self._build(), *self._assignments()]
        key = self.key
        if key is not None and key.key == "optional":
            lines += ["    if key is None:", "        model = eqx.nn.inference_mode(model)", "    else:"]
            lines += ["        key = jax.random.key(key)"]
        elif key is not None:
            lines.append("    key = jax.random.key(1)")
        args, kwargs = self._passed()
        called = "model" if self.entry == "__call__" else f"model.{self.entry}"
        if self.axis:
            axes = _tuple(["0" if self._mapped(each) else "None" for each in self.arguments])
            out = ", out_axes=(0, None)" if self.state else ""
            called = f'eqx.filter_vmap({called}, axis_name="{self.axis}", in_axes={axes}{out})'
            args, kwargs = _tuple([*map(self._local, self.arguments)]), "{}"
        return "\n".join([*lines, f"    return {called}, {args}" + (f", {kwargs}" if kwargs != "{}" else "")])

    def _assignments(self) -> list[str]:
        lines = []
        for each in self.arguments:
            if each.key is not None or each.state:
                continue
            why = each.value.why
            comment = f"  # {why}" if why and isinstance(each.value, Text) else ""
            text = show(each.value)
            text = f"jnp.stack([{text}] * batch)" if self.axis and self._mapped(each) else text
            lines.append(f"    {self._local(each)} = {text}{comment}")
        return lines

    @staticmethod
    def _mapped(argument: Argument) -> bool:
        text = show(argument.value)
        return argument.key is None and not argument.state and text.startswith(("jax.random", "jnp."))

    def _local(self, argument: Argument) -> str:
        if argument.key is not None:
            return "key"
        if argument.state:
            return "state"
        taken = RESERVED | self.sizes.variables.keys() | ROLES.keys()
        return f"{argument.name}_" if argument.name in taken else argument.name

    def _passed(self) -> tuple[str, str]:
        args = [self._local(each) for each in self.arguments if not each.keyword]
        kwargs = [f'"{each.name}": {self._local(each)}' for each in self.arguments if each.keyword]
        return _tuple(args), "{" + ", ".join(kwargs) + "}"


def _tuple(parts: list[str]) -> str:
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
