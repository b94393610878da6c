"""Keys of jaxprs, equal only for the same programs up to the values of scalar operands.

This is stricter than the value numbering of `scanify.jaxpr.number`, which finds programs with equal values: one scan
must also have the derivatives, the remat and the names of both. So equations are compared one by one, in order; nothing
is folded, and only unread results are dropped.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from scanify.jaxpr.reading.calls import opened
from scanify.jaxpr.reading.canonical import Canonical, NotUnderstood
from scanify.nn.programs.derivative_rules import RULES, WITH_RULES, rule_key

# Constants of a program that are larger than this are the same only if they are one object.
COMPARED_BYTES = 1 << 20

# Calls through which a scalar operand can be followed: `jit` computes the same as its jaxpr, and so do its derivatives.
# This is not true for `cond`, `scan` or custom derivatives, whose parameters refer to their operands.
TRANSPARENT = ("jit", "pjit")

# Parameters that only name the operation.
NAMES = {"jit": ("name",), "pjit": ("name",)}


@dataclass(frozen=True, eq=False, slots=True)
class Constant:
    """A number in a jaxpr that is a scalar operand, or the start of a `slice`.

    `place` holds the index of the equation, then of an equation in its jaxpr, and so on; the last entry is the index of
    the operand, or `start_of(axis)`.
    """

    place: tuple[int, ...]
    value: np.ndarray[Any, Any]
    weak_type: bool

    @property
    def bits(self) -> bytes:
        """Return the bits that equal constants share; 0.0 is not -0.0."""
        return self.value.tobytes()


def start_of(axis: int) -> int:
    """Return the last entry of the place of a slice's start along an axis: negative, unlike operands."""
    return -1 - axis


class Known:
    """A cache shared by many skeletons, whose keys are only compared with one another.

    jax makes one jaxpr for all calls of a function with one type of operands, so most parameters and avals of many
    layers are the same objects. Equal ones are numbered, and so are equal equations, so that a key is short.
    """

    def __init__(self) -> None:
        self.numbers: dict[Hashable, int] = {}
        self.avals: dict[int, tuple[Hashable, Any]] = {}
        self.params: dict[Hashable, tuple[Hashable, list[Any]]] = {}
        self.read: dict[Hashable, tuple[Hashable, tuple[Constant, ...], list[Any]]] = {}
        self.reading: set[Hashable] = set()
        self.objects: dict[int, tuple[Hashable, list[Any]]] = {}
        self.live: dict[Hashable, tuple[dict[int, list[bool]], list[bool]]] = {}
        self.alive: list[Any] = []


@dataclass(frozen=True, eq=False)
class Skeleton:
    """The key of an open jaxpr, and the parts of which it covers only the types: scalar operands, and `captured`, the
    indices of the constants that are read like inputs, in the order of their first reads."""

    key: Hashable
    constants: tuple[Constant, ...] = ()
    captured: tuple[int, ...] = ()


def skeleton(jaxpr: Any, consts: Sequence[Any], *, derivatives: bool = True, known: Known | None = None) -> Skeleton:
    """Return the skeleton of an open jaxpr; without `derivatives`, custom derivative rules are ignored. `known` is
    shared by many of them, all with the same `derivatives`: their keys are only compared with one another.

    The key holds the objects that it compares by identity, so it may be stored. If the jaxpr has parameters of unknown
    meaning, the key is equal to no other.
    """
    alive: list[Any] = []
    reader = _Reader(alive, derivatives, Known() if known is None else known, numbered=known is not None)
    if known is not None:
        known.alive.append(alive)  # whatever becomes of this one: the others refer to its equations
    try:
        key = reader.jaxpr(jaxpr, consts, (), [True] * len(jaxpr.outvars))
    except NotUnderstood:
        return Skeleton(_Unlike())
    return Skeleton(_Key(key, alive), tuple(reader.constants), tuple(reader.captured))


def const_key(const: Any) -> Hashable:
    """Return a key, equal for two constants only if they are the same object, or small arrays of the same values."""
    plain = isinstance(const, np.ndarray | np.generic | jax.Array) and not isinstance(const, jax.core.Tracer)
    if not plain or not isinstance(const.dtype, np.dtype) or const.nbytes > COMPARED_BYTES:
        return ("const", id(const))
    if isinstance(const, jax.Array) and not const.is_fully_addressable:
        return ("const", id(const))
    weak = bool(getattr(const, "weak_type", False))
    return ("const", const.dtype, const.shape, weak, np.asarray(const).tobytes())


def live(jaxpr: Any, used: Sequence[bool], known: Known) -> tuple[dict[int, list[bool]], list[bool]]:
    """Return the equations that the used results need, or that have effects, with their used results; and the used
    inputs."""
    which = (id(jaxpr), tuple(used))
    if which not in known.live:
        known.alive.append(jaxpr)
        known.live[which] = _live(jaxpr, used, known)
    return known.live[which]


def without_dead(jaxpr: Any) -> Any:
    """Return the open jaxpr without unused equations, which may read values that a key does not cover."""
    read, _ = live(jaxpr, [True] * len(jaxpr.outvars), Known())
    return jaxpr.replace(eqns=[jaxpr.eqns[at] for at in sorted(read)])


def _live(jaxpr: Any, used: Sequence[bool], known: Known) -> tuple[dict[int, list[bool]], list[bool]]:
    needed = {id(out) for out, use in zip(jaxpr.outvars, used, strict=True) if use}
    found: dict[int, list[bool]] = {}
    equations = jaxpr.eqns  # a new list on each access
    for index in range(len(equations) - 1, -1, -1):
        equation = equations[index]
        outs = [id(out) in needed for out in equation.outvars]
        if True not in outs and not equation.effects:
            continue
        found[index] = outs
        if equation.primitive.name not in TRANSPARENT:
            needed.update(map(id, equation.invars))
            continue
        reads = live(opened(equation.params["jaxpr"])[0], outs, known)[1]
        needed.update(id(atom) for atom, read in zip(equation.invars, reads, strict=True) if read)
    return found, [id(invar) in needed for invar in jaxpr.invars]


class _Unlike:
    """A key that is equal to itself alone."""


class _Key:
    """A key with the objects whose identities are in it."""

    def __init__(self, key: Hashable, alive: list[Any]) -> None:
        self.key, self.alive = key, alive

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


class _Reader:
    def __init__(self, alive: list[Any], derivatives: bool, known: Known, *, numbered: bool) -> None:
        self.alive = alive
        self._numbered = numbered
        self._derivatives = derivatives
        self._known = known
        self.constants: list[Constant] = []
        self.captured: list[int] = []
        self._canonical = Canonical(self._inner, alive)

    def _inner(self, jaxpr: Any) -> Hashable:
        """Return the key of a jaxpr in a parameter, in which every number counts."""
        return self._nested(jaxpr, None, [True] * len(opened(jaxpr)[0].outvars))

    def _nested(self, jaxpr: Any, place: tuple[int, ...] | None, used: Sequence[bool]) -> Hashable:
        """Return the key of a jaxpr in a parameter, read once for all equations that have it."""
        which = (id(jaxpr), place is None, tuple(used))
        if which in self._known.reading:
            raise NotUnderstood("a jaxpr that stands in its own parameters")
        if which not in self._known.read:
            alive: list[Any] = [jaxpr]
            self._known.alive.append(alive)
            reader = _Reader(alive, self._derivatives, self._known, numbered=self._numbered)
            self._known.reading.add(which)
            try:
                key = reader.jaxpr(*opened(jaxpr), None if place is None else _INSIDE, used)
            finally:
                self._known.reading.discard(which)
            self._known.read[which] = (key, tuple(reader.constants), alive)
        key, constants, alive = self._known.read[which]
        self.alive.append(alive)
        if place is not None:
            inside = len(_INSIDE)
            self.constants += [Constant(place + one.place[inside:], one.value, one.weak_type) for one in constants]
        return key

    def jaxpr(self, jaxpr: Any, consts: Sequence[Any], place: tuple[int, ...] | None, used: Sequence[bool]) -> Hashable:
        """Return the key of the used results. `place` is the place of the jaxpr; None if its scalar operands cannot be
        extracted."""
        read, _ = live(jaxpr, used, self._known)
        numbers: dict[int, Hashable] = {}  # by the identity of a variable; literals have none
        for which, (constvar, const) in enumerate(zip(jaxpr.constvars, consts, strict=True)):
            aval = constvar.aval
            if place == () and isinstance(aval, jax.core.ShapedArray):
                numbers[id(constvar)] = _Lazy(lambda which=which, aval=aval: self._captured(which, aval))  # type: ignore[misc]
            else:
                numbers[id(constvar)] = _Lazy(lambda const=const: self._const(const))  # type: ignore[misc]
        for invar in jaxpr.invars:
            numbers[id(invar)] = (len(numbers), self._aval(invar.aval))
        rows = []
        for index, equation in enumerate(jaxpr.eqns):
            if index not in read:
                continue
            at = None if place is None else (*place, index)
            operands = self._operands(numbers, equation.invars, at)
            params = self._params(equation, at, read[index]) if equation.params else ()
            outs = self._results(numbers, equation.outvars)
            self.alive.append(equation.ctx)  # one object for all equal contexts
            rows.append(self._number((id(equation.primitive), operands, params, outs, id(equation.ctx))))
        results = tuple(
            self._atom(numbers, out, None, 0) if use else None for out, use in zip(jaxpr.outvars, used, strict=True)
        )
        return (len(jaxpr.invars), tuple(rows), results)

    def _operands(self, numbers: dict[int, Hashable], atoms: Sequence[Any], place: tuple[int, ...] | None) -> Hashable:
        found = []
        for which, atom in enumerate(atoms):
            number = numbers.get(id(atom))
            plain = number is not None and type(number) is not _Lazy
            found.append(number if plain else self._atom(numbers, atom, place, which))
        return tuple(found)

    def _results(self, numbers: dict[int, Hashable], variables: Sequence[Any]) -> Hashable:
        """Return the keys of an equation's results, and number its variables."""
        known, found = self._known.avals, []
        for variable in variables:
            aval = variable.aval
            kept = known.get(id(aval))
            found.append(self._aval(aval) if kept is None else kept[0])
            numbers[id(variable)] = len(numbers)
        return tuple(found)

    def _atom(self, numbers: dict[int, Hashable], atom: Any, place: tuple[int, ...] | None, which: int) -> Hashable:
        if not hasattr(atom, "val"):
            number = numbers[id(atom)]
            return number() if type(number) is _Lazy else number
        kind = self._aval(atom.aval)
        value = atom.val
        if not isinstance(atom.aval.dtype, np.dtype):
            return ("literal", kind, self._const(value))
        if place is not None and atom.aval.shape == ():
            array = np.asarray(value, dtype=atom.aval.dtype)
            self.constants.append(Constant((*place, which), array, bool(atom.aval.weak_type)))
            return ("constant", kind)
        return ("literal", kind, np.asarray(value, dtype=atom.aval.dtype).tobytes())

    def _slice(self, params: Any, place: tuple[int, ...]) -> Hashable:
        """Return the key of a slice without strides, its sizes: `xs[3]` and `xs[4]` differ in a number."""
        starts, limits = params["start_indices"], params["limit_indices"]
        for axis, start in enumerate(starts):
            self.constants.append(Constant((*place, start_of(axis)), np.asarray(start, np.int32), False))
        return tuple(limit - start for start, limit in zip(starts, limits, strict=True))

    def _params(self, equation: Any, place: tuple[int, ...] | None, used: Sequence[bool]) -> Hashable:
        name, params = equation.primitive.name, equation.params
        if name == "slice" and place is not None and params["strides"] is None:
            return self._slice(params, place)
        if name in TRANSPARENT:
            without = NAMES[name]
            others = {key: value for key, value in params.items() if key != "jaxpr" and key not in without}
            return (self._nested(params["jaxpr"], place, used), self._plain(others))
        if name in WITH_RULES:
            rules = rule_key(equation, self._object) if self._derivatives else None
            return (rules, self._plain({key: value for key, value in params.items() if key not in RULES}))
        if name == "scan":
            # The carried operands, in the form of jax 0.12: an object created for each scan.
            carried = [tuple(map(len, params[key].unpack())) for key in _CARRIED if key in params]
            return (tuple(carried), self._plain({key: value for key, value in params.items() if key not in _CARRIED}))
        return self._plain(params)

    def _plain(self, params: Mapping[str, Any]) -> Hashable:
        """Return the key of ordinary parameters. Most values are one object in many equations, or tuples of such
        objects."""
        ids = [tuple(map(id, value)) if type(value) is tuple else id(value) for value in params.values()]
        which = (*params, *ids)
        if which not in self._known.params:
            before = len(self.alive)
            key = self._number(
                tuple((key, _simple(params[key]) or self._object(params[key])) for key in sorted(params))
            )
            self._known.params[which] = (key, [*params.values(), *self.alive[before:]])
        key, alive = self._known.params[which]
        self.alive.append(alive)
        return key

    def _object(self, value: Any) -> Hashable:
        """Return the key of any other object. Meshes, rules of functions and so on are one object in many equations."""
        if id(value) not in self._known.objects:
            before = len(self.alive)
            key = self._canonical.key(value)
            self._known.objects[id(value)] = (key, [value, *self.alive[before:]])
        key, alive = self._known.objects[id(value)]
        self.alive.append(alive)
        return key

    def _captured(self, which: int, aval: Any) -> Hashable:
        """Return the key of a captured array of the traced function: another layer may read another one instead."""
        self.captured.append(which)
        return ("captured", len(self.captured), self._aval(aval))

    def _aval(self, aval: Any) -> Hashable:
        """Return the key of an aval: jax has one object for all equal ones."""
        if id(aval) not in self._known.avals:
            self._known.avals[id(aval)] = (self._number(_aval(aval)), aval)
        return self._known.avals[id(aval)][0]

    def _number(self, key: Hashable) -> Hashable:
        """Return a number for the key if many skeletons are read."""
        return self._known.numbers.setdefault(key, len(self._known.numbers)) if self._numbered else key

    def _const(self, const: Any) -> Hashable:
        self.alive.append(const)
        return const_key(const)


# The parameters of `scan` that identify the carried operands.
_CARRIED = ("ft_in", "ft_out")

# The place of a jaxpr in a parameter until it is known; not the outermost place, which is `()`.
_INSIDE = (-1,)


def _simple(value: Any) -> Hashable:
    """Return the key of a name, a number, a dtype or nested tuples and lists of integers, as most parameters are; None
    for anything else."""
    kind = type(value)
    if value is None or kind is int or kind is bool or kind is str:
        return (kind, value)
    if kind is tuple or kind is list:
        return _integers(value) or _switches(value)
    return ("dtype", value) if isinstance(value, np.dtype) else None


def _integers(value: Any) -> Hashable:
    """Return the key of integers, None, and nested tuples and lists of them; None for anything else, such as True,
    which equals 1."""
    found: list[Any] = [type(value)]
    for one in value:
        kind = type(one)
        if kind is int or one is None:
            found.append(one)
        elif kind is tuple or kind is list:
            inside = _integers(one)
            if inside is None:
                return None
            found.append(inside)
        elif kind is np.int64:  # such as a normalised `axis=-1`
            found.append(int(one))
        else:
            return None
    return tuple(found)


def _switches(value: Any) -> Hashable:
    return ("switches", *value) if all(one is True or one is False for one in value) else None


class _Lazy:
    """A constant that is read on demand: an unused one makes no difference."""

    def __init__(self, key: Callable[[], Hashable]) -> None:
        self._key = key
        self._found: Hashable = None

    def __call__(self) -> Hashable:
        if self._found is None:
            self._found = self._key()
        return self._found


def _aval(aval: Any) -> Hashable:
    dtype = getattr(aval, "dtype", None)
    if dtype is None:
        return (None, str(aval), False)
    # A dtype compares equal to its name, so its class is part of the key.
    return (aval.shape, type(dtype), dtype, aval.weak_type, aval.manual_axis_type)
