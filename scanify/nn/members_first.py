"""Mark the members of an ensemble as in front of its layers, or find that out with the function that builds it."""

import dataclasses
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any, TypeVar

import jax

from scanify.nn.array_stacked import ArrayStacked
from scanify.nn.block_seq import BlockSeq
from scanify.nn.list_form import list_form
from scanify.nn.padding import padding_to
from scanify.nn.trees.leaves import has_aval

T = TypeVar("T")

_BEHIND = (
    "an axis was added to the arrays of a stack behind that of its layers, as `out_axes=1` adds it. The arrays of a "
    "list of layers have it elsewhere, so they are not those of the stack. Build the ensemble without `out_axes`"
)


def members_first(tree: T) -> T:
    """Mark the stacks of a tree: axes were added to them in front of the axis of the layers.

    `jax.lax.map` adds axes there; `equinox.filter_vmap` and `jax.vmap` do so without `out_axes`. The record of a stack
    shows it, unless the ensemble has as many members as the stack has layers. The layers of such a stack are read
    outside of the ensemble only with this mark.

        nets = scanify.nn.members_first(eqx.filter_vmap(Net)(keys))

    **Arguments:**

    - `tree`: any pytree that holds stacks, such as a model; with arrays or `jax.ShapeDtypeStruct`s.
    """

    def marked(node: Any) -> Any:
        if not _is_stack(node):
            return node
        names = ("stacks", "rests") if isinstance(node, BlockSeq) else ("stacked",)
        parts = {name: members_first(getattr(node, name)) for name in names}
        return dataclasses.replace(node, **parts, shapes=node.shapes.marked())

    found: T = jax.tree.map(marked, tree, is_leaf=_is_stack)
    return found


def with_known_axes(tree: T, build: Callable[[], Any]) -> T:
    """Mark the stacks of a tree if their records leave their axes of layers open, and building it again shows them.

    `build` returns the tree without arrays. It is called with stacks of a length that no axis of the tree has.

    Raises:
        ValueError: the axes are not known, or `build` adds axes behind the axis of the layers.
    """
    try:
        list_form(tree, known=True)
    except ValueError as error:
        unknown = error
    else:
        return tree
    length = _other_length(tree)
    try:
        with padding_to(length):
            again = build()
    except Exception:  # the constructor depends on the number of layers
        raise unknown from None
    if _places(tree) != _places(again):
        raise unknown
    try:
        list_form(again, known=True)
    except ValueError:
        raise (ValueError(_BEHIND) if _all_padded(again, length) else unknown) from None
    return members_first(tree)


def _all_padded(tree: Any, length: int) -> bool:
    """True if each stack of the tree was built with this many layers."""
    built = [size for stack in _stacks(tree) for _, size in stack.shapes.arrays]
    return all(size is None or size[:1] == (length,) for size in built)


def _places(tree: Any) -> list[str]:
    return [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_flatten_with_path(tree, is_leaf=_is_stack)[0]]


def _other_length(tree: Any) -> int:
    """Return a prime that is the size of no axis, and larger than the number of layers in each stack."""
    sizes = {size for leaf in jax.tree.leaves(tree) if has_aval(leaf) for size in leaf.shape}
    longest = max(len(stack) for stack in _stacks(tree))
    return next(at for at in count(longest + 1) if at not in sizes and all(at % part for part in range(2, at)))


def _stacks(tree: Any) -> Iterator[Any]:
    return filter(_is_stack, jax.tree.leaves(tree, is_leaf=_is_stack))


def _is_stack(node: Any) -> bool:
    return isinstance(node, ArrayStacked | BlockSeq)
