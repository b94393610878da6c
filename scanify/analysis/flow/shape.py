"""A loop as a transformation, from its syntax and the dataflow of its body, given the walk over its layers.

    shape_of(loop, layer)

The shape has the carry, xs, names shared by all layers, ys, exits and reads after the loop, and the problems that are
visible without values and effects. The interpreter finds values (names that hold arrays or modules, the initial
carry) and effects; from here it reads `starts`, `concretized` and `read_after`.
"""

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from scanify.analysis.flow.around import captures, caught, lost_values, read_after
from scanify.analysis.flow.beside import is_walked, walked_beside
from scanify.analysis.flow.call import layer_call, only_sums
from scanify.analysis.flow.collections import Collected, collected
from scanify.analysis.flow.exits import Exit, exit_problems, exits_of
from scanify.analysis.flow.heads import head_problems
from scanify.analysis.flow.last_values import LastValues, last_values
from scanify.analysis.flow.names import Names, flow, target_names
from scanify.analysis.flow.starts import Starts, concretized, start_problems
from scanify.analysis.flow.statements import appended_to
from scanify.analysis.flow.unsupported import number_types, unsupported
from scanify.analysis.lower.loop import Index, Loop, Problem, Walk
from scanify.analysis.lower.nodes import mentions
from scanify.analysis.plan import Adds, Collection, LayerCall, PerLayer

__all__ = ["LoopShape", "Problem", "shape_of"]


@dataclass(frozen=True, eq=False)
class LoopShape:
    """The carries, xs, ys and problems of one loop, with `layer` as its layers.

    `layer_names` are the names of a layer: several if it is a tuple that the head unpacks.

    `carry`: names that are read before they are written, and written; then `last`, names that the body recomputes and
    that are read after the loop, of which `unset` have no value before it.

    `xs`: the texts of the other iterables, starting with the index if it is one of them (`index`); `beside` are the
    walks of the others, in the same order.

    `broadcast`: names of the enclosing function that every layer reads alike. `captured`: free names of the body that
    are bound in outer scopes, or nowhere. `rebound`: targets that the body assigns to; in a function of one layer they
    are simply locals.

    `collections`: the ys; `collected` has more about them. `exits`: early ends of an iteration, including those in
    `problems`. `read_after`: names whose values from the loop are read after it, with the place.

    `concretized`: names of the body whose values Python needs, with the expression that needs it. `starts`: the
    expressions that each carry may start with, as far as assignments show. `applies_layer`: the body reads a layer at
    all.
    """

    loop: Loop
    layer: Walk
    names: Names
    layer_names: tuple[str, ...]
    carry: tuple[str, ...]
    last: tuple[str, ...]
    unset: tuple[str, ...]
    index: Index | None
    beside: tuple[Walk, ...]
    xs: tuple[PerLayer, ...]
    broadcast: tuple[str, ...]
    captured: tuple[str, ...]
    rebound: tuple[str, ...]
    collected: Collected
    exits: tuple[Exit, ...]
    read_after: Mapping[str, ast.AST]
    starts: Mapping[str, tuple[ast.expr, ...]]
    concretized: tuple[tuple[str, ast.expr], ...]
    call: LayerCall | None
    only_sums: bool
    problems: tuple[Problem, ...]
    obligations: tuple[str, ...]

    @property
    def collections(self) -> tuple[Collection, ...]:
        return self.collected.collections

    @property
    def ys(self) -> tuple[str, ...]:
        """The names of the collections."""
        return self.collected.names if self.loop.appends_to is None else (self.loop.appends_to,)

    @property
    def applies_layer(self) -> bool:
        return any(name in self.names.read_first for name in self.layer_names) or any(
            name in self.rebound for name in self.layer_names
        )

    @property
    def exit_words(self) -> frozenset[str]:
        """The kinds of early exits: "continue", "break", "return"."""
        return frozenset(each.word for each in self.exits)

    @property
    def ends_early(self) -> bool:
        """True if the loop may end before its last layer."""
        return bool(self.exit_words - {"continue"})


def shape_of(loop: Loop, layer: Walk) -> LoopShape:
    """Read the body of a loop whose layers are the elements of `layer`."""
    names, targets = flow(loop.body), loop.targets
    layers = frozenset(target_names(layer.target))
    read = tuple(name for name in names.read_first if name in names.bound and name not in targets)
    after = read_after(loop)
    is_element = loop.element is not None and loop.appends_to is None
    gathered = Collected() if is_element else collected(loop, names, layers)
    read = tuple(name for name in read if name not in gathered.names)
    last = (
        LastValues()
        if loop.element is not None
        else last_values(loop, _bound_anew(names, gathered, targets), read, after)
    )
    carry = (*read, *last.names)
    exits = tuple(exits_of(loop.body))
    starts = Starts(loop)
    index = loop.index if loop.index is not None and is_walked(loop.index, layer) else None
    beside = tuple(walk for walk in loop.walks if walk is not layer)
    own = {*carry, *gathered.names, *targets}
    free = [name for name in names.read_first if name not in own and name not in layers]
    local = _locals_around(loop)
    problems = _problems(loop, layer, names, carry, read, gathered, exits, starts, after)
    unset = [f"the loop has a layer to apply: else `{name}` has no value after it" for name in last.unset[:1]]
    return LoopShape(
        loop=loop,
        layer=layer,
        names=names,
        layer_names=tuple(target_names(layer.target)),
        carry=carry,
        last=last.names,
        unset=last.unset,
        index=index,
        beside=beside,
        xs=walked_beside(loop, index, beside, layer),
        broadcast=tuple(name for name in free if name in local),
        captured=tuple(name for name in free if name not in local),
        rebound=tuple(name for name in names.bound if name in targets),
        collected=gathered,
        exits=exits,
        read_after=after,
        starts={name: starts.values(name) for name in carry},
        concretized=tuple(concretized(loop)),
        call=layer_call(loop, layer, carry, set(targets)) if not gathered.names else None,
        only_sums=only_sums(loop, carry),
        problems=tuple(problems),
        obligations=tuple(unset),
    )


def _bound_anew(names: Names, gathered: Collected, targets: Sequence[str]) -> Names:
    """Return the dataflow without collections and without targets of the head."""
    bound = {name: node for name, node in names.bound.items() if name not in (*gathered.names, *targets)}
    return Names(names.read_first, bound, names.definite, names.ends, names.exits)


def _locals_around(loop: Loop) -> set[str]:
    """Return the local names of the functions and comprehensions around a loop, except the instance's."""
    scopes = [scope for scope in loop.scope.chain() if scope.parent is not None and not scope.is_class]
    return {name for scope in scopes for name in scope.locals} - {loop.scope.self_name or ""}


def _without_carry(
    loop: Loop, gathered: Collected, exits: Sequence[Exit], others: Sequence[Problem]
) -> Iterator[Problem]:
    """Yield why a loop over independent layers is neither a fold nor a map, unless another problem explains it."""
    reason = "no value goes from one layer to the next"
    if not gathered.names and all(each.rule == "SCN209" for each in others):
        yield Problem("SCN210", reason, loop.node)
    elif (
        gathered.names and not others and (exits or not all(_appended_once(loop, one) for one in gathered.collections))
    ):
        what = " and ".join(f"`{name}`" for name in gathered.names)
        verb = "keeps" if len(gathered.names) == 1 else "keep"
        keeps = f"{what} {verb} what independent layers give: in a map each appends once to each list"
        yield Problem("SCN210", f"{reason}, and {keeps}", loop.node, "append to each list once per iteration")


def _appended_once(loop: Loop, one: Collection) -> bool:
    """True if a body appends exactly one element to a list in each iteration, on every path."""
    appends = [each for each in loop.body if appended_to(each, one.name) is not None]
    return one.adds is Adds.LIST and one.surely and len(appends) == len(mentions(one.name, *loop.body)) == 1


# -- problems --------------------------------------------------------------------------------------------------------


def _problems(
    loop: Loop,
    layer: Walk,
    names: Names,
    carry: Sequence[str],
    read: Sequence[str],
    gathered: Collected,
    exits: Sequence[Exit],
    starts: Starts,
    after: dict[str, ast.AST],
) -> list[Problem]:
    layers, targets = frozenset(target_names(layer.target)), loop.targets
    problems = [loop.problem] if loop.problem is not None else []
    problems += head_problems(loop, layer)
    problems += exit_problems(loop, exits, names.bound.keys(), layers, bool(gathered.names))
    problems += unsupported(loop)
    problems += number_types(loop, frozenset({*names.bound, *targets, *carry}))
    problems += gathered.problems
    kept = (*carry, *gathered.names)
    if loop.element is not None:
        if loop.is_statement:
            problems += lost_values(loop, after, (), (), targets)
            problems += captures(loop, names, (), set(targets))
    else:
        problems += lost_values(loop, after, tuple(names.bound), kept, targets)
        problems += captures(loop, names, carry, {*names.bound, *targets, *gathered.names})
        problems += start_problems(loop, starts, read, names)
        problems = [*_without_carry(loop, gathered, exits, problems), *problems] if not carry else problems
    problems += _walruses(loop)
    problems += caught(loop)
    return problems


def _walruses(loop: Loop) -> list[Problem]:
    """Return a problem for each name that `:=` binds in an expression that becomes a function."""
    bound = flow([loop.element]).bound if loop.element is not None else {}
    return [
        Problem("SCN212", f"`{name}` is assigned by `:=` for code around the element", node)
        for name, node in bound.items()
    ]
