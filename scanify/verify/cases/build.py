"""Run a case: build the model and the arguments of its call, with concrete arrays or without any."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from scanify.errors import ScanifyError
from scanify.verify.cases.nnx_objects import check_nnx_objects
from scanify.verify.leaves.aliases import rebuilt
from scanify.verify.leaves.paths import named
from scanify.verify.linen.model import LinenModel, with_variables
from scanify.verify.linen.streams import Streams
from scanify.verify.objects.statics import cell_contents
from scanify.verify.values.arrays import is_traced, struct

Case = Callable[..., tuple[Any, ...]]


@dataclass(frozen=True, eq=False)
class Built:
    """The result of a case, as one pytree `(model, args, kwargs)`.

    Built abstractly, its array leaves are `jax.ShapeDtypeStruct`, and `constructor` is the traced program, mostly
    without inputs, that computes them; otherwise they are arrays and `constructor` is None. `mapping` is the case's
    mapping of parameters (`scanify.verify.cases.mapping`), or None. `numpy` says for each array whether it was a NumPy
    array. `optimizer` is the optimizer of the case, or None. `proviso` describes the restriction under which the
    comparison of a Flax Linen model holds (`scanify.verify.linen.align`).
    """

    tree: tuple[Any, tuple[Any, ...], dict[str, Any]]
    constructor: jax.extend.core.ClosedJaxpr | None = None
    mapping: object = None
    numpy: tuple[bool, ...] = ()
    optimizer: Any = None
    proviso: str = ""

    @property
    def streams(self) -> Streams | None:
        """Return the names of random streams that a Linen model was built with; None for any other."""
        model = self.tree[0]
        return model.fixed.streams if isinstance(model, LinenModel) else None

    @property
    def arrays(self) -> list[Any]:
        """Return the array leaves of model, args and kwargs, in flattening order."""
        return [leaf for leaf in jax.tree.leaves(self.tree) if is_traced(leaf)]


def build(
    case: Case,
    *,
    abstract: bool,
    streams: Streams | None = None,
    inputs: tuple[jax.ShapeDtypeStruct, ...] = (),
    folded: bool = False,
) -> Built:
    """Run a case; under tracing if `abstract`, so that no array is allocated.

    With `inputs` the case is a function of arrays like these, and so is the constructor. Values that do not depend on
    them are computed right away if `folded`, so that the case may read them.

    A module of Flax Linen gets the variables that its `init` returns, with the names in `streams`. NumPy arrays become
    jax arrays, like in `eqx.filter_jit`; those in static fields are kept.

    Raises ScanifyError if the case returns anything but `(model, args)` or `(model, args, kwargs)`, or if a function
    hides the arrays of the model; and all errors of the user's code.
    """
    if not abstract:
        returned = with_variables(case(), streams or Streams())
        tree = _normal(returned)
        for path, leaf in jax.tree_util.tree_leaves_with_path(tree):
            if isinstance(leaf, jax.ShapeDtypeStruct):
                raise ScanifyError(
                    f"expected arrays from the case, got a jax.ShapeDtypeStruct at {jax.tree_util.keystr(path)}; "
                    "verify with abstract weights, or return an array"
                )
        return Built(tree, mapping=getattr(case, "mapping", None), numpy=_numpy(returned), optimizer=_optimizer(case))
    rest: list[Any] = []
    numpy: list[bool] = []

    def construct(*given: Any) -> list[Any]:
        returned = with_variables(case(*given), streams or Streams())
        numpy[:] = _numpy(returned)
        tree = _normal(returned)
        leaves = jax.tree.leaves(tree)
        leaves = [jnp.zeros(x.shape, x.dtype) if isinstance(x, jax.ShapeDtypeStruct) else x for x in leaves]
        rest[:] = [tree, [None if is_traced(x) else x for x in leaves], [is_traced(x) for x in leaves]]
        return [x for x in leaves if is_traced(x)]

    with jax.ensure_compile_time_eval() if folded else nullcontext():
        constructor = jax.make_jaxpr(construct)(*inputs)
    tree, others, traced = rest
    structs = iter([struct(aval) for aval in constructor.out_avals])
    leaves = [next(structs) if array else other for array, other in zip(traced, others, strict=True)]
    return Built(rebuilt(tree, leaves), constructor, getattr(case, "mapping", None), tuple(numpy), _optimizer(case))


def _optimizer(case: Case) -> Any:
    return getattr(case, "optimizer", None)


def _numpy(returned: Any) -> tuple[bool, ...]:
    leaves = jax.tree.leaves(returned)
    return tuple(isinstance(x, np.ndarray) for x in leaves if isinstance(x, np.ndarray) or is_traced(x))


def _normal(returned: Any) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """Return `(model, args, kwargs)` from the result of the case."""
    if not isinstance(returned, tuple) or len(returned) not in (2, 3):
        came = f"a tuple of {len(returned)}" if isinstance(returned, tuple) else type(returned).__name__
        raise ScanifyError(f"expected (model, args) or (model, args, kwargs) from the case, got {came}")
    model, args = returned[:2]
    kwargs = returned[2] if len(returned) == 3 else {}
    if not callable(model) or not isinstance(args, tuple | list) or not isinstance(kwargs, dict):
        came = ", ".join(type(part).__name__ for part in returned)
        raise ScanifyError(
            f"expected a callable model, a tuple of arguments and a dict of keyword arguments, got {came}"
        )
    tree: tuple[Any, tuple[Any, ...], dict[str, Any]]
    given = model, tuple(args), kwargs
    check_nnx_objects(given)
    tree = rebuilt(given, [jnp.asarray(x) if isinstance(x, np.ndarray) else x for x in jax.tree.leaves(given)])
    for path, leaf in jax.tree_util.tree_leaves_with_path(tree):
        if holds_arrays(leaf):
            part = "the model" if path == (jax.tree_util.SequenceKey(0),) else named(jax.tree_util.keystr(path), [])
            function = getattr(leaf, "__qualname__", type(leaf).__qualname__)
            raise ScanifyError(
                f"expected the arrays of {part} to be leaves of a pytree, but the function {function} closes over "
                "them, which hides them: their gradients could not be compared. Return the model itself, or wrap "
                "it with eqx.filter_vmap or eqx.filter_jit in place of jax.vmap, jax.jit or a lambda"
            )
    return tree


def holds_arrays(leaf: Any) -> bool:
    """True if a function that is a leaf of a pytree closes over arrays, as `jax.vmap(model)` does.

    A callable object that is not a pytree hides the arrays in its attributes in the same way.
    """
    todo: list[Any] = [leaf]
    seen: set[int] = set()
    while todo:
        value = todo.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, functools.partial):
            inner: tuple[Any, ...] = (value.func, value.args, value.keywords)
        elif callable(value) and not isinstance(value, type):
            wrapped = getattr(value, "__wrapped__", None)
            cells = [cell_contents(cell) for cell in getattr(value, "__closure__", None) or ()]
            given = [getattr(value, name, None) for name in ("__defaults__", "__kwdefaults__", "__self__", "__dict__")]
            inner = (wrapped, cells, given)
        else:
            continue
        leaves = jax.tree.leaves(inner)
        if any(is_traced(x) for x in leaves):
            return True
        todo.extend(leaves)
    return False
