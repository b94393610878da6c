"""The arrays of a model by name, with a name for each layer of a stack: `layers.3.attn.weight`.

The names are the same as for a model with a list of layers in place of each stack, so checkpoints work both ways.
`haliax.nn.Stacked` uses such names too (stanford-crfm/haliax, src/haliax/nn/scan.py, `_unstack_state_dict`).
"""

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from scanify.nn.array_stacked import ArrayStacked
from scanify.nn.block_seq import BlockSeq
from scanify.nn.layer_axis import layer_axes
from scanify.nn.trees.leaves import aval, aval_text, has_aval, is_numpy
from scanify.nn.trees.own_numbers import own

T = TypeVar("T")

_SHOWN = 5  # names in a message


def to_state_dict(tree: T, prefix: str = "", *, stacked: bool = False) -> dict[str, Any]:
    """Return the arrays of a pytree by name: field names, keys and indices on the path, joined by dots.

    **Arguments:**

    - `tree`: a stack, or any pytree that holds stacks, such as a model.
    - `prefix`: the prefix of all names: `to_state_dict(model.layers, "layers")`.
    - `stacked`: False for a name for each layer, `layers.3.attn.weight` of shape `(...)`, as with a list of layers;
        True for one for all of them, `layers.attn.weight` of shape `(num_layers, ...)`. A `BlockSeq` has a name for
        each layer in both, since its layers need not have the same arrays.

    Numbers, functions and static fields are not included. It works under `jax.jit` and `jax.eval_shape`, and on
    `jax.ShapeDtypeStruct`s.

    **Raises** ValueError if two arrays would have the same name, if an array of a stack does not have the layers along
    axis 0, and if there is no name: the tree is an array itself, and `prefix` is empty.
    """
    found: dict[str, Any] = {}
    for name, leaf in _named(tree, prefix, stacked):
        if name in found:
            raise ValueError(f"two arrays have the name {name!r}: {aval_text(found[name])} and {aval_text(leaf)}")
        found[name] = leaf
    return found


def from_state_dict(tree: T, state_dict: Mapping[str, Any], prefix: str = "", *, stacked: bool = False) -> T:
    """Replace the arrays of `tree` by those in `state_dict`; the inverse of `to_state_dict`.

    **Arguments:**

    - `tree`: the tree to fill, with arrays or `jax.ShapeDtypeStruct`s (`eqx.filter_eval_shape`) of the expected shapes
        and dtypes. Numpy arrays stay numpy; all others become jax arrays, with the sharding of those they replace.
    - `state_dict`: arrays by name. Names that do not begin with `prefix` and a dot are ignored.
    - `prefix`, `stacked`: as passed to `to_state_dict`.

    **Raises** ValueError naming missing names, names that are not part of this tree (a 13th layer for a stack of 12),
    and names whose arrays have another shape or dtype. Nothing is cast, left out, or used twice.
    """
    shapes = jax.tree.map(_shape, tree)
    expected = to_state_dict(shapes, prefix, stacked=stacked)
    arrays = {name: _array(value) for name, value in state_dict.items() if _is_under(name, prefix)}
    if set(expected) != set(arrays):
        other_form = to_state_dict(shapes, prefix, stacked=not stacked)
        names = _other_names(expected, arrays, other_form, stacked)
        raise ValueError(names if arrays else f"{names}. {_prefixes(state_dict, prefix)}")
    wrong = [name for name in expected if aval(expected[name])[:2] != aval(arrays[name])[:2]]
    if wrong:
        told = [f"{name!r}: expected {aval_text(expected[name])}, got {aval_text(arrays[name])}" for name in wrong]
        raise ValueError(f"arrays of another shape or dtype than the model's: {_some(told, '; ')}")
    filled = _fill(shapes, arrays, prefix, stacked)
    result: T = jax.tree.map(filled_like, tree, filled)
    return result


def _named(tree: Any, prefix: str, stacked: bool, within: bool = False) -> Iterator[tuple[str, Any]]:
    """Yield the named arrays. `within`: the arrays have the axis of an outer stack in front of their own."""
    for path, leaf in jax.tree_util.tree_flatten_with_path(tree, is_leaf=_is_stack)[0]:
        name = _name(prefix, path)
        if isinstance(leaf, BlockSeq):
            if within:
                raise ValueError(f"a BlockSeq in a stack has no stacked form: {name}; use stacked=False")
            _check(leaf)
            for index, layer in enumerate(leaf.unstacked()):
                yield from _named(layer, _joined(name, str(index)), stacked)
        elif isinstance(leaf, ArrayStacked):
            if not within:
                _check(leaf)
            if stacked:
                yield from _named(leaf.stacked, name, stacked, within=True)
                continue
            for index, layer in enumerate(leaf):
                yield from _named(layer, _joined(name, str(index)), stacked)
        elif has_aval(leaf):
            if not name:
                raise ValueError("expected a `prefix`: the tree is an array itself, which has no name of its own")
            yield name, leaf


def _fill(shapes: Any, given: Mapping[str, Any], prefix: str, stacked: bool) -> Any:
    """Fill `shapes` with the arrays of `given`, stacked for stacks."""

    def fill(path: Any, leaf: Any) -> Any:
        name = _name(prefix, path)
        if isinstance(leaf, BlockSeq) or (isinstance(leaf, ArrayStacked) and not stacked):
            layers = enumerate(leaf)
            return leaf.with_layers([_fill(layer, given, _joined(name, str(at)), stacked) for at, layer in layers])
        if isinstance(leaf, ArrayStacked):
            filled = jax.tree.leaves(_fill(leaf.stacked, given, name, stacked))
            return jax.tree.unflatten(jax.tree.structure(leaf), filled)
        return given[name] if has_aval(leaf) else leaf

    return jax.tree_util.tree_map_with_path(fill, shapes, is_leaf=_is_stack)


def _is_stack(value: Any) -> bool:
    return isinstance(value, ArrayStacked | BlockSeq)


def _check(stack: ArrayStacked[Any] | BlockSeq[Any]) -> None:
    if isinstance(stack, BlockSeq):
        layer_axes(stack.stacks, stack.shapes, known=True)
        return
    layer_axes(stack.stacked, stack.shapes, own(stack.level), known=True)
    type(stack)._layers_first(stack)
    for path, leaf in jax.tree_util.tree_flatten_with_path(stack.stacked)[0]:
        if has_aval(leaf) and leaf.ndim == 0:
            raise ValueError(
                f"expected every array of the stack to have its {stack.num_layers} layers along axis 0; "
                f"{jax.tree_util.keystr(path)} is {aval_text(leaf)}. jax.jit makes arrays of a model's numbers; "
                "equinox.filter_jit leaves them as they are"
            )


def _name(prefix: str, path: Any) -> str:
    name = prefix
    for key in path:
        for attribute in ("name", "idx", "key"):
            if hasattr(key, attribute):
                name = _joined(name, str(getattr(key, attribute)))
                break
        else:
            raise TypeError(f"expected keys of fields, dicts or sequences, got {key!r} of {type(key).__qualname__}")
    return name


def _joined(prefix: str, part: str) -> str:
    return f"{prefix}.{part}" if prefix else part


def _is_under(name: str, prefix: str) -> bool:
    return not prefix or name == prefix or name.startswith(f"{prefix}.")


def _other_names(
    expected: Mapping[str, Any], given: Mapping[str, Any], other_form: Mapping[str, Any], stacked: bool
) -> str:
    missing = [name for name in expected if name not in given]
    unexpected = [name for name in given if name not in expected]
    told = []
    if missing:
        told.append(f"{len(missing)} of {len(expected)} names are missing: {_some(map(repr, missing))}")
    if unexpected:
        told.append(f"{len(unexpected)} names are not of this model: {_some(map(repr, unexpected))}")
    hint = f". These are names with stacked={not stacked}" if any(name in other_form for name in unexpected) else ""
    return f"{'; '.join(told)}{hint}"


def _prefixes(names: Mapping[str, Any], prefix: str) -> str:
    """List the prefixes of the names, if none begins with the requested one."""
    if not names:
        return "The state dict is empty"
    depth = prefix.count(".") + 1
    found = dict.fromkeys(".".join(name.split(".")[:depth]) for name in names)
    return f"No name begins with {prefix!r}; they begin with {_some(map(repr, found))}"


def _some(texts: Any, between: str = ", ") -> str:
    listed = list(texts)
    more = f"{between}and {len(listed) - _SHOWN} more" if len(listed) > _SHOWN else ""
    return between.join(listed[:_SHOWN]) + more


def _shape(leaf: Any) -> Any:
    return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) if has_aval(leaf) else leaf


def _array(value: Any) -> Any:
    return value if has_aval(value) else np.asarray(value)


def filled_like(leaf: Any, value: Any) -> Any:
    """Convert `value` to the kind of leaf that it replaces."""
    if not has_aval(leaf):
        return leaf
    if is_numpy(leaf):
        return np.asarray(value)
    sharding = None if isinstance(leaf, jax.core.Tracer) else getattr(leaf, "sharding", None)
    if isinstance(sharding, jax.sharding.NamedSharding):
        return jax.device_put(value, sharding)
    array = jnp.asarray(value)
    return array if array.dtype == leaf.dtype else np.asarray(value)  # a float64 without x64 is kept
