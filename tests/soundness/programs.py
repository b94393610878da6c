"""Random small programs, as data: typed steps on a pool of values, with programs inside them (of scans, branches, calls).

A program says what is computed; how it is spelled in jax is chosen later (`kinds`), so that one program has many
spellings of equal value, and a changed program is one that may differ.
"""

import dataclasses
import random
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

Random = random.Random

# Types of values: m is a float[4, 3], v a float[3], i an int32[], k a typed key.
ROWS, COLUMNS = 4, 3


@dataclass(frozen=True)
class Kind:
    """A kind of step: the types of its operands and its value, what its attributes may be, the programs inside it.

    bodies: per program inside, the types of its inputs and outputs. weight: how often it is drawn.
    """

    args: str
    out: str
    attrs: tuple[tuple[Any, ...], ...] = ()
    bodies: tuple[tuple[str, str], ...] = ()
    weight: int = 1


@dataclass(frozen=True)
class Step:
    """One step: the kind's name, the places of its operands in the pool, attributes, the programs inside."""

    kind: str
    args: tuple[int, ...]
    attrs: tuple[Any, ...] = ()
    bodies: "tuple[Program, ...]" = ()


@dataclass(frozen=True)
class Program:
    """inputs and outputs: one letter a value; the pool is the inputs and then the value of each step."""

    inputs: str
    steps: tuple[Step, ...]
    results: tuple[int, ...]

    def __str__(self) -> str:
        lines = [
            f"{len(self.inputs) + n} = {s.kind}{s.attrs or ''} of {', '.join(map(str, s.args))}"
            + "".join(f"\n  | {line}" for body in s.bodies for line in str(body).splitlines())
            for n, s in enumerate(self.steps)
        ]
        return "\n".join([*lines, f"gives {', '.join(map(str, self.results))}"])


Kinds = dict[str, Kind]


def draw(rng: Random, kinds: Kinds, inputs: str, outputs: str, length: int, depth: int) -> Program:
    """A program of about so many steps, whose last values are its results."""
    pool = list(inputs)
    steps: list[Step] = []
    usable = [name for name, kind in kinds.items() if depth or not kind.bodies]
    weights = [kinds[name].weight for name in usable]
    assert any(set(kinds[name].args) <= set(pool) for name in usable), "no kind of step has its operands"
    while len(steps) < length or not set(outputs) <= set(pool):
        name = rng.choices(usable, weights)[0]
        kind = kinds[name]
        if not set(kind.args) <= set(pool):
            continue
        steps.append(draw_step(rng, kinds, name, pool, depth))
        pool.append(kind.out)
    return Program(inputs, tuple(steps), tuple(recent(rng, pool, type_) for type_ in outputs))


def draw_step(rng: Random, kinds: Kinds, name: str, pool: Sequence[str], depth: int) -> Step:
    kind = kinds[name]
    args = tuple(recent(rng, pool, type_) for type_ in kind.args)
    attrs = tuple(rng.choice(options) for options in kind.attrs)
    bodies = tuple(draw(rng, kinds, i, o, rng.randint(1, 3), depth - 1) for i, o in kind.bodies)
    return Step(name, args, attrs, bodies)


def recent(rng: Random, pool: Sequence[str], type_: str) -> int:
    """A value of a type, the last ones more often, so that few steps are dead."""
    found = [place for place, one in enumerate(pool) if one == type_]
    return found[-1] if rng.random() < 0.6 else rng.choice(found)


def live(program: Program, effects: Collection[str]) -> Program:
    """The program without the steps that no result reads and that have no effect, inside others too."""
    steps = [
        dataclasses.replace(s, bodies=tuple(live(body, effects) for body in s.bodies)) if s.bodies else s
        for s in program.steps
    ]
    given = len(program.inputs)
    needed = set(program.results)
    kept: list[int] = []
    for place in range(len(steps) - 1, -1, -1):
        alone = Program("", (steps[place],), ())
        if given + place in needed or any(step.kind in effects for step in walk(alone)):
            kept.insert(0, place)
            needed |= set(steps[place].args)
    moved = {place: place for place in range(given)} | {given + old: given + new for new, old in enumerate(kept)}
    return Program(
        program.inputs,
        tuple(dataclasses.replace(steps[p], args=tuple(moved[a] for a in steps[p].args)) for p in kept),
        tuple(moved[place] for place in program.results),
    )


def walk(program: Program) -> Iterator[Step]:
    """All steps, those inside others included."""
    for step in program.steps:
        yield step
        for body in step.bodies:
            yield from walk(body)


def same(one: Program, other: Program) -> bool:
    """Whether two programs are the same, for which 0.0 is not -0.0."""
    return repr(one) == repr(other)


def mutated(rng: Random, kinds: Kinds, program: Program, depth: int = 2) -> Program:
    """The program with one thing changed, where a change was found that is one."""
    for _ in range(30):
        changed = _change(rng, kinds, program, depth)
        if not same(changed, program):
            return changed
    return program


def _change(rng: Random, kinds: Kinds, program: Program, depth: int) -> Program:
    if not program.steps:
        return program
    place = rng.randrange(len(program.steps))
    step = program.steps[place]
    pool = [*program.inputs, *(kinds[s.kind].out for s in program.steps)]
    if step.bodies and rng.random() < 0.6:
        which = rng.randrange(len(step.bodies))
        bodies = list(step.bodies)
        bodies[which] = _change(rng, kinds, bodies[which], depth - 1)
        return _with(program, place, dataclasses.replace(step, bodies=tuple(bodies)))
    before = pool[: len(program.inputs) + place]
    how = rng.choice(["attribute"] * 6 + ["operands", "operand", "drop", "order", "results", "kind", "bodies"])
    return CHANGES[how](rng, kinds, program, place, before)


def _with(program: Program, place: int, step: Step) -> Program:
    steps = (*program.steps[:place], step, *program.steps[place + 1 :])
    return dataclasses.replace(program, steps=steps)


def _attribute(rng: Random, kinds: Kinds, program: Program, place: int, before: list[str]) -> Program:
    step = program.steps[place]
    options = kinds[step.kind].attrs
    if not options:
        return program
    which = rng.randrange(len(options))
    attrs = (*step.attrs[:which], rng.choice(options[which]), *step.attrs[which + 1 :])
    return _with(program, place, dataclasses.replace(step, attrs=attrs))


def _operands(rng: Random, kinds: Kinds, program: Program, place: int, before: list[str]) -> Program:
    step, types = program.steps[place], kinds[program.steps[place].kind].args
    pairs = [(a, b) for a in range(len(types)) for b in range(a) if types[a] == types[b]]
    if not pairs:
        return program
    a, b = rng.choice(pairs)
    args = list(step.args)
    args[a], args[b] = args[b], args[a]
    return _with(program, place, dataclasses.replace(step, args=tuple(args)))


def _operand(rng: Random, kinds: Kinds, program: Program, place: int, before: list[str]) -> Program:
    step = program.steps[place]
    if not step.args:
        return program
    which = rng.randrange(len(step.args))
    other = recent(rng, before, kinds[step.kind].args[which])
    args = (*step.args[:which], other, *step.args[which + 1 :])
    return _with(program, place, dataclasses.replace(step, args=args))


def _drop(rng: Random, kinds: Kinds, program: Program, place: int, before: list[str]) -> Program:
    """The step's value is one of its operands instead."""
    step = program.steps[place]
    same = [arg for arg in step.args if before[arg] == kinds[step.kind].out]
    if not same:
        return program
    gone, kept = len(before), rng.choice(same)

    def moved(place: int) -> int:
        return kept if place == gone else place - (place > gone)

    rest = tuple(dataclasses.replace(s, args=tuple(map(moved, s.args))) for s in program.steps[place + 1 :])
    if not (place or rest):
        return program
    return Program(program.inputs, (*program.steps[:place], *rest), tuple(map(moved, program.results)))


def _order(rng: Random, kinds: Kinds, program: Program, place: int, before: list[str]) -> Program:
    """Two steps that do not read each other change places: only effects can tell."""
    if place + 1 == len(program.steps):
        return program
    here, there = len(before), len(before) + 1
    first, second = program.steps[place : place + 2]
    if here in second.args:
        return program
    swap = {here: there, there: here}
    rest = (dataclasses.replace(s, args=tuple(swap.get(a, a) for a in s.args)) for s in program.steps[place + 2 :])
    steps = (*program.steps[:place], second, first, *rest)
    return Program(program.inputs, steps, tuple(swap.get(r, r) for r in program.results))


def _results(rng: Random, kinds: Kinds, program: Program, place: int, before: list[str]) -> Program:
    pool = [*program.inputs, *(kinds[s.kind].out for s in program.steps)]
    which = rng.randrange(len(program.results))
    other = recent(rng, pool, pool[program.results[which]])
    return dataclasses.replace(program, results=(*program.results[:which], other, *program.results[which + 1 :]))


def _kind(rng: Random, kinds: Kinds, program: Program, place: int, before: list[str]) -> Program:
    """Another kind of step with the same types of operands and value."""
    step = program.steps[place]
    now = kinds[step.kind]
    alike = [n for n, k in kinds.items() if (k.args, k.out, k.bodies) == (now.args, now.out, now.bodies)]
    name = rng.choice(alike)
    attrs = tuple(rng.choice(options) for options in kinds[name].attrs)
    return _with(program, place, dataclasses.replace(step, kind=name, attrs=attrs))


def _bodies(rng: Random, kinds: Kinds, program: Program, place: int, before: list[str]) -> Program:
    """The programs inside a step change places: the branches of a choice."""
    step = program.steps[place]
    if len(set(kinds[step.kind].bodies)) != 1:
        return program
    return _with(program, place, dataclasses.replace(step, bodies=step.bodies[::-1]))


CHANGES = {
    "attribute": _attribute,
    "operands": _operands,
    "operand": _operand,
    "drop": _drop,
    "order": _order,
    "results": _results,
    "kind": _kind,
    "bodies": _bodies,
}
