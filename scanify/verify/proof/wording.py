"""Nodes of a value table in words: their operation, source line and layer."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from scanify.jaxpr.table import Place, Table
from scanify.verify.verdict import Difference, Operation

# The names of numpy's kinds of dtype for literals; bfloat16 and similar types have kind "V".
KINDS = {"f": "float", "i": "int", "u": "int", "b": "bool", "c": "complex"}


@dataclass(frozen=True)
class Programs:
    """Two programs in one table: the place where each computed a node first, and the names of the inputs."""

    table: Table
    places_before: Mapping[int, Place]
    places_after: Mapping[int, Place]
    names: Sequence[str]
    layers: Sequence[int | None]
    files: Callable[[str], str | None] | None


class Words:
    """Describes two nodes and their difference."""

    def __init__(self, programs: Programs) -> None:
        self.programs = programs
        self.table = programs.table

    def difference(
        self, before: int, after: int, reader: int | None, shown: int | None, other: int | None
    ) -> Difference:
        """Describe how the node `after` differs from `before`, which it replaces and which `reader` reads (None: an
        output).

        `shown` and `other` are the displayed operations of the two programs, if they are not the nodes themselves.
        """
        programs = self.programs
        layer = self.layer(before if shown is None else shown, before)
        old = self.operation(before if shown is None else shown, programs.places_before, layer)
        new = self.operation(after if other is None else other, programs.places_after, self.layer(after, after))
        if other is not None:
            new = Operation(new.text, new.file, new.line, layer)
        start = "" if layer is None else f"layer {layer}: "
        return Difference(start + self._how(before, after, reader), old, new)

    def unread(self, layer: int, leaves: list[int], reader: int, after: int | None) -> Difference:
        """Describe a layer of which the rewritten version reads nothing."""
        more = f" and {len(leaves) - 1} more of its inputs are" if len(leaves) > 1 else " is"
        what = f"layer {layer} is never applied: {self.name(leaves[0])}{more} not read"
        programs = self.programs
        return Difference(
            what,
            self.operation(reader, programs.places_before, layer),
            None if after is None else self.operation(after, programs.places_after, None),
        )

    def _how(self, before: int, after: int, reader: int | None) -> str:
        table = self.table
        old, new = table.op[before], table.op[after]
        if old == new == "token" or "token" in (old, new):
            return "effects (prints, callbacks) do not happen as often, or not in the same order, as in the loop"
        if old == new == "input":
            return f"reads {self.name(after)} where the loop reads {self.name(before)}"
        if reader is None and self._reads(before, after):
            return f"ends with {self.what(after)}, to which the loop then applies {self._verb(before)}"
        if reader is None and self._reads(after, before):
            return f"applies {self._verb(after)} to what the loop ends with"
        if {old, new} <= {"fill", "const"}:
            return f"uses {self.what(after)} where the loop uses {self.what(before)}"
        if old == new == "slice" and table.inputs[before] == table.inputs[after]:
            base = self.what(table.inputs[before][0])
            return f"takes {self._box(after)} of {base} where the loop takes {self._box(before)}"
        if old == new and table.inputs[before] == table.inputs[after]:
            return f"computes {self._verb(after)} with other parameters than the loop{self._params(before, after)}"
        return f"uses {self.what(after)} where the loop uses {self.what(before)}"

    def _reads(self, above: int, below: int) -> bool:
        """True if a node near below `above` is `below`: the statement that one version lacks."""
        near = {above}
        for _ in range(8):
            if below in near:
                return True
            near |= {node for top in near for node in self.table.inputs[top]}
        return False

    def _params(self, before: int, after: int) -> str:
        old, new = self.table.params[before], self.table.params[after]
        if not (isinstance(old, tuple) and isinstance(new, tuple)):
            return ""
        pairs = [(b, a) for b, a in zip(old, new, strict=False) if b != a]
        names = [str(b[0]) for b, _ in pairs if isinstance(b, tuple) and b and isinstance(b[0], str)]
        return f": {', '.join(names)}" if names else ""

    def _box(self, node: int) -> str:
        box = self.table.params[node]
        assert isinstance(box, tuple)
        whole = self.table.shape[self.table.inputs[node][0]]
        parts = []
        for (start, stop), size in zip(box, whole, strict=True):
            one = str(start) if stop - start == 1 else f"{start}:{stop}"
            parts.append(":" if (start, stop) == (0, size) else one)
        while len(parts) > 1 and parts[-1] == ":":
            parts.pop()
        return f"[{', '.join(parts)}]"

    def _verb(self, node: int) -> str:
        place = self.programs.places_before.get(node) or self.programs.places_after.get(node) or self.table.made[node]
        return str(place.equation.primitive.name) if place is not None else self.table.op[node]

    def name(self, leaf: int) -> str:
        """Return the key path of an input."""
        index = self.table.params[leaf]
        assert isinstance(index, int)
        return self.programs.names[index]

    def what(self, node: int) -> str:
        """Describe a node by a phrase: an input's key path, a literal's value, or its operation."""
        table = self.table
        op = table.op[node]
        if op == "input":
            return self.name(node)
        if op == "fill":
            kind = KINDS.get(table.dtype[node].kind, "float")
            text = f"{kind} literal {_number(table.fill_value(node))}"
            return text if not table.shape[node] else f"{text} in every element of {self.aval(node)}"
        if op == "const":
            return f"a constant {self.aval(node)}"
        if op == "slice":
            return f"{self._box(node)} of {self.what(table.inputs[node][0])}"
        if op in ("reshape", "convert_element_type", "random_wrap"):
            return self.what(table.inputs[node][0])
        if op == "broadcast":
            return f"{self.what(table.inputs[node][0])} broadcast to {self.aval(node)}"
        if op == "transpose":
            return f"the transpose of {self.what(table.inputs[node][0])}"
        if op == "concat":
            first, last = table.inputs[node][0], table.inputs[node][-1]
            return f"{self.what(first)} ... {self.what(last)} put together"
        return f"{self._verb(node)} {self.aval(node)}"

    def aval(self, node: int) -> str:
        """Return dtype[shape] of a node."""
        return f"{self.table.dtype[node]}[{','.join(map(str, self.table.shape[node]))}]"

    def operation(self, node: int, places: Mapping[int, Place], layer: int | None) -> Operation:
        """Return the operation that computes a node in one program, with its line in the user's source."""
        place = places.get(node) or self.table.made[node]
        if place is None or self.table.op[node] in ("input", "fill", "const"):
            return Operation(self.what(node), layer=layer)
        return self.at(place, layer)

    def at(self, place: Place, layer: int | None = None) -> Operation:
        """Return the operation at a place in a program, with its line in the user's source."""
        file, line = self._line(place)
        outputs = [variable.aval for variable in place.equation.outvars]
        text = place.equation.primitive.name
        if outputs and hasattr(outputs[0], "shape"):
            text += f" {outputs[0].dtype}[{','.join(map(str, outputs[0].shape))}]"
        return Operation(text, file, line, layer)

    def layer(self, *nodes: int) -> int | None:
        """Return the layer of the nearest input with a layer, going from a node towards the inputs.

        Without one (for values made of keys alone), the layer that the original program reads from next.
        """
        table = self.table
        level = set(nodes)
        seen = set(level)
        while level:
            leaves = [int(str(table.params[node])) for node in level if table.op[node] == "input"]
            found = [layer for leaf in leaves if (layer := self.programs.layers[leaf]) is not None]
            if found:
                return max(found)
            level = {below for node in level for below in table.inputs[node]} - seen
            seen |= level
        return self._next_layer(nodes[0])

    def _next_layer(self, node: int) -> int | None:
        started = False
        for later in self.programs.places_before:
            started = started or later == node
            if not started:
                continue
            for below in self.table.inputs[later]:
                if self.table.op[below] == "input":
                    layer = self.programs.layers[int(str(self.table.params[below]))]
                    if layer is not None:
                        return layer
        return None

    def _line(self, place: Place) -> tuple[str | None, int | None]:
        """Return the user's line of an equation: its own, or the line of an enclosing call.

        The jaxpr of a jitted function of jax (`jnp.where`) is traced once, and records the line of its first use; such
        an equation is no deeper in the user's code than the call, so the call's line is the right one. Other jaxprs (of
        a scan, of remat) are traced for their call, and those under remat record no frame outside of it.
        """
        best: list[tuple[str, int]] = []
        jitted = False
        for equation in (*place.calls, place.equation):
            frames = self._frames(equation)
            if frames and (not jitted or len(frames) > len(best)):
                best = frames
            jitted = jitted or equation.primitive.name in ("jit", "pjit")
        return best[-1] if best else (None, None)

    def _frames(self, equation: Any) -> list[tuple[str, int]]:
        """Return the frames of the user's source, outermost first, by their displayed names."""
        traceback = getattr(equation.source_info, "traceback", None)
        files = self.programs.files
        if traceback is None or files is None:
            return []
        found = []
        for frame in reversed(traceback.frames):
            shown = files(frame.file_name)
            if shown is not None:
                found.append((shown, int(frame.line_num)))
        return found


def _number(scalar: np.ndarray[Any, Any]) -> str:
    """Write a scalar as the shortest decimal that gives the same number in its dtype."""
    return str(scalar.item()) if scalar.dtype == np.float64 or scalar.dtype.kind != "f" else str(scalar[()])
