"""Calls outside of every transformation: traced each time, and compiled once for each resulting program.

`jax.lax.scan` outside of `jax.jit` compiles its body at every call, as the body is a new function each time. Traces are
compared in the way `skeleton` compares layers, so nothing is assumed from an earlier call.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from threading import Lock
from typing import Any

import jax

from scanify.nn.arguments.axes import InAxes, normal_axes
from scanify.nn.checks.check_layers import who_is_told
from scanify.nn.programs.literals import replay
from scanify.nn.programs.program import Program, trace
from scanify.nn.programs.skeleton import without_dead
from scanify.nn.trees.as_jax import refuse_cut
from scanify.nn.trees.boxed import Number
from scanify.nn.trees.is_eager import is_eager
from scanify.nn.trees.key_order import ordered, plain
from scanify.nn.trees.leaves import is_array, is_number

_KEPT = 128  # compiled programs


class _Compiled:
    """The most recently used compiled programs, by their computation."""

    def __init__(self) -> None:
        self._known: OrderedDict[Hashable, Any] = OrderedDict()
        self._lock = Lock()

    def of(self, program: Program, jitted: Callable[[Program], Any] | None = None) -> Any:
        """Return a function of the program's arrays and captured arrays; or another result of `jitted`."""
        make = jitted or _jitted
        key = (make, program.key, program.captured, tuple((one.place, one.bits) for one in program.constants))
        with self._lock:
            found = self._known.setdefault(key, make(program)) if key not in self._known else self._known[key]
            self._known.move_to_end(key)
            if len(self._known) > _KEPT:
                self._known.popitem(last=False)
        return found


COMPILED = _Compiled()


def applied(
    run: Callable[[Any, Any, tuple[Any, ...], dict[str, Any]], Any],
    stack: Any,
    init: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    in_axes: InAxes,
) -> Any:
    """Call `run(stack, init, args, kwargs)` through `compiled`. Shared arguments stay concrete, as in a loop."""
    args_axes, kwargs_axes = normal_axes(in_axes, len(args), list(kwargs))
    walked = any(isinstance(value, Iterator) for value in (*args, *kwargs.values()))  # iterators can be consumed once
    if not len(stack) or walked or type(stack)._remat(stack).unrolled:
        return run(stack, init, args, kwargs)
    own = [None if axis is None else value for value, axis in zip(args, args_axes, strict=True)]
    own_named = {name: None if kwargs_axes[name] is None else value for name, value in kwargs.items()}

    def call(given: Any) -> Any:
        stack, init, own, own_named = given
        every = zip(args, own, args_axes, strict=True)
        whole = tuple(value if axis is None else mine for value, mine, axis in every)
        named = {name: kwargs[name] if kwargs_axes[name] is None else own_named[name] for name in kwargs}
        return run(stack, init, whole, named)

    return compiled(call, (stack, init, own, own_named))


def compiled(call: Callable[[Any], Any], given: Any) -> Any:
    """Return `call(given)`, by a compiled program if nothing is traced and no array in `given` is a tracer.

    Arrays that `call` closes over are concrete in both cases.
    """
    if not is_eager() or who_is_told() is not None:  # reports are made per call
        return call(given)
    leaves, treedef = jax.tree.flatten(ordered(given))
    places = [at for at, leaf in enumerate(leaves) if is_array(leaf)]
    if any(isinstance(leaves[at], jax.core.Tracer) for at in places):
        return call(given)

    def on_arrays(arrays: Any) -> Any:
        filled = list(leaves)
        for at, array in zip(places, arrays, strict=True):
            filled[at] = array
        return jax.tree.map(_box, ordered(call(plain(jax.tree.unflatten(treedef, filled)))))

    arrays = [leaves[at] for at in places]
    for array in arrays:
        refuse_cut(array)
    program = trace(on_arrays, arrays, derivatives=False)  # nothing here is differentiated
    captured = [program.consts[at] for at in program.captured]
    done = program.result(COMPILED.of(program)(arrays, captured))
    return plain(jax.tree.map(_unbox, done))


def _box(leaf: Any) -> Any:
    return Number(leaf) if is_number(leaf) else leaf


def _unbox(leaf: Any) -> Any:
    return leaf.value if isinstance(leaf, Number) else leaf


def _jitted(program: Program) -> Any:
    return jax.jit(running(program))


def running(program: Program) -> Callable[[Any, Any], list[Any]]:
    """Return a function that runs the program on its arrays and captured arrays."""
    jaxpr, at = without_dead(program.jaxpr), program.captured
    variables = zip(jaxpr.constvars, program.consts, strict=True)
    # Constants that are not arrays, such as mutable ones, are the same object in every call.
    own = [None if isinstance(each.aval, jax.core.ShapedArray) else const for each, const in variables]

    def run(arrays: Any, captured: Any) -> list[Any]:
        consts = list(own)
        for index, const in zip(at, captured, strict=True):
            consts[index] = const
        return replay(jaxpr, consts, arrays, {})

    return run
