"""Find the leaves that inputs of functions with derivative rules depend on, and the outputs they reach.

A rule may read which of its inputs are differentiated (`perturbed` in equinox, `symbolic_zeros` in jax), and which of
its outputs have a cotangent. Both follow from the differentiated leaves and the used outputs, so the choices of these
that a rule can distinguish are enumerated, and one of each kind is compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax.numpy as jnp

from scanify.jaxpr.reading.calls import callee, children, opened
from scanify.jaxpr.reading.scan import read_scan
from scanify.jaxpr.reading.user_rules import has_batching_rules, is_rule, reads_zeros

# The number of patterns up to which all are listed for a function.
MOST = 64
# Primitives whose derivative is zero, so that their results are never differentiated.
_FLAT = {"stop_gradient", "floor", "ceil", "round", "sign", "nextafter"}

Pattern = tuple[bool, ...]


@dataclass(frozen=True)
class Choice:
    """The differentiated leaves and the used outputs, as numbers of groups."""

    leaves: frozenset[int]
    outputs: frozenset[int]


@dataclass(frozen=True, eq=False)
class Site:
    """A call of a function whose rule reads zeros.

    For each input, `inputs` has the groups of leaves that it depends on; for each output, `outputs` has the outputs of
    the program that it reaches. Calls with the same `rule` call the same function.
    """

    rule: int
    inputs: tuple[frozenset[int], ...]
    outputs: tuple[frozenset[int], ...]

    def seen(self, choice: Choice) -> tuple[int, Pattern, Pattern]:
        """Return the patterns that the rule sees under a choice."""
        return self.rule, _pattern(self.inputs, choice.leaves), _pattern(self.outputs, choice.outputs)

    def seen_by(self, leaves: frozenset[int]) -> tuple[int, Pattern]:
        """Return the pattern that a batching rule sees if these leaves are batched."""
        return self.rule, _pattern(self.inputs, leaves)

    def choices_of_inputs(self) -> tuple[list[frozenset[int]], bool]:
        """Like `choices`, for the leaves only."""
        return _closed(self.inputs)

    def choices(self) -> tuple[list[Choice], bool]:
        """Return a choice for each pattern that the rule may see, and whether there are more than are listed."""
        found, more = zip(*(_closed(each) for each in (self.inputs, self.outputs)), strict=True)
        return [Choice(leaves, outputs) for leaves in found[0] for outputs in found[1]], any(more)


def _pattern(groups: Sequence[frozenset[int]], chosen: frozenset[int]) -> Pattern:
    return tuple(not each.isdisjoint(chosen) for each in groups)


def _closed(groups: Sequence[frozenset[int]]) -> tuple[list[frozenset[int]], bool]:
    """Return the largest choice for each possible pattern."""
    members: frozenset[int] = frozenset().union(*groups)
    seen = {_pattern(groups, frozenset([each])) for each in members}
    waiting, singles = list(seen), list(seen)
    while waiting and len(seen) <= MOST:
        one = waiting.pop()
        for other in singles:
            joined = tuple(a or b for a, b in zip(one, other, strict=True))
            if joined not in seen:
                seen.add(joined)
                waiting.append(joined)
    within = {each: _pattern(groups, frozenset([each])) for each in members}
    largest = [
        frozenset(each for each in members if all(not a or b for a, b in zip(within[each], pattern, strict=True)))
        for pattern in sorted(seen)
    ]
    return largest[:MOST], len(seen) > MOST


def sites(program: Any, groups: Sequence[int | None], *, batching: bool = False) -> list[Site]:
    """Return the calls in a `ClosedJaxpr` of functions whose rules read zeros.

    `groups` has the group of each input that may be differentiated, None for others. Outputs are numbered in order.
    With `batching`, return the calls with a custom batching rule, which reads which of its inputs are batched.
    """
    if not (has_batching_rules if batching else reads_zeros)(program):
        return []
    graph = _Graph(batching)
    jaxpr, _ = opened(program)
    inputs = [graph.new(var) if group is not None else None for var, group in zip(jaxpr.invars, groups, strict=True)]
    outputs = graph.walk(jaxpr, inputs)
    starts = [(node, group) for node, group in zip(inputs, groups, strict=True) if node is not None]
    ends = [(node, at) for at, node in enumerate(outputs) if node is not None]
    before = _reached(graph.edges, starts)  # type: ignore[arg-type]
    after = _reached([(to, start) for start, to in reversed(graph.edges)], ends)
    nothing: frozenset[int] = frozenset()
    return [
        Site(
            rule,
            tuple(nothing if node is None else before.get(node, nothing) for node in given),
            tuple(nothing if node is None else after.get(node, nothing) for node in made),
        )
        for rule, given, made in graph.sites
    ]


def _reached(edges: Sequence[tuple[int, int]], starts: Sequence[tuple[int, int]]) -> dict[int, frozenset[int]]:
    found: dict[int, frozenset[int]] = {}
    for node, group in starts:
        found[node] = found.get(node, frozenset()) | {group}
    changed = True
    while changed:
        changed = False
        for start, to in edges:
            more = found.get(start, frozenset()) | found.get(to, frozenset())
            if len(more) > len(found.get(to, ())):
                found[to], changed = more, True
    return found


@dataclass(eq=False)
class _Graph:
    """The values of a program that may be differentiated, as numbers, and the dependencies between them."""

    batching: bool = False
    edges: list[tuple[int, int]] = field(default_factory=list)
    sites: list[tuple[int, list[int | None], list[int | None]]] = field(default_factory=list)
    count: int = 0

    def new(self, var: Any) -> int | None:
        """Return a number for a value; None for integers, booleans and keys, which have no derivative."""
        dtype = getattr(var.aval, "dtype", None)
        if dtype is None or not (self.batching or jnp.issubdtype(dtype, jnp.inexact)):
            return None
        self.count += 1
        return self.count

    def join(self, starts: Sequence[int | None], ends: Sequence[int | None]) -> None:
        self.edges += [(a, b) for a in starts if a is not None for b in ends if b is not None]

    def walk(self, jaxpr: Any, inputs: Sequence[int | None]) -> list[int | None]:
        """Add the equations of an open jaxpr, and return the numbers of its outputs."""
        values: dict[Any, int | None] = dict(zip(jaxpr.invars, inputs, strict=True))
        for equation in jaxpr.eqns:
            given = [None if hasattr(atom, "val") else values.get(atom) for atom in equation.invars]
            values.update(zip(equation.outvars, self.equation(equation, given), strict=True))
        return [None if hasattr(atom, "val") else values.get(atom) for atom in jaxpr.outvars]

    def equation(self, equation: Any, given: list[int | None]) -> list[int | None]:
        name = equation.primitive.name
        made = [self.new(var) for var in equation.outvars]
        if has_batching_rules(equation) if self.batching else is_rule(equation):
            if self.batching or reads_zeros(equation):
                self.sites.append((id(equation), given, made))
        elif name in _FLAT and not self.batching:
            return made
        elif (called := callee(equation)) is not None:
            return self.walk(called[0], given)
        elif children(equation):
            for inner, operands, loops in _inside(equation, given):
                self.inner(inner, operands, loops, made)
            # If a condition or trip count is batched, so are the results.
            self.join(given if self.batching and name in ("cond", "while") else [], made)
            return made
        self.join(given, made)
        return made

    def inner(self, jaxpr: Any, operands: list[list[int | None]], loops: range, made: list[int | None]) -> None:
        """Add the jaxpr of a loop or branch; its first outputs become its inputs at `loops` in the next iteration."""
        entered = [self.new(var) for var in jaxpr.invars]
        for starts, to in zip(operands, entered, strict=True):
            self.join(starts, [to])
        left = self.walk(jaxpr, entered)
        for at, start in zip(loops, left, strict=False):
            self.join([start], [entered[at]])
        whole = len(left) == len(made)
        for start, to in zip(left, made, strict=True) if whole else ():
            self.join([start], [to])
        self.join([] if whole else left, made)


def _inside(equation: Any, given: list[int | None]) -> Iterator[tuple[Any, list[list[int | None]], range]]:
    """Yield the jaxprs of an equation, the possible operands of each input, and which inputs are carried."""
    params, each, none = equation.params, [[node] for node in given], range(0)
    if equation.primitive.name == "scan" and (scan := read_scan(params)) is not None:
        yield opened(scan.jaxpr)[0], each, range(scan.consts, scan.consts + scan.carry)
    elif equation.primitive.name == "while":
        body, first = opened(params["body_jaxpr"])[0], params["cond_nconsts"]
        yield body, each[first:], range(params["body_nconsts"], len(body.invars))
    elif equation.primitive.name == "cond":
        yield from ((opened(branch)[0], each[1:], none) for branch in params["branches"])
    else:  # unknown: any operand may be passed to any input
        for inner, _ in map(opened, children(equation)):
            yield inner, [given] * len(inner.invars), none
