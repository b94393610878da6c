"""A label for each parameter, told by what it is in a layer."""

from collections.abc import Callable
from typing import Any, TypeVar

import jax

from scanify.nn.list_form import list_form

L = TypeVar("L")


def label_tree(label: Callable[[str, Any], L], params: Any) -> Any:
    """The tree of `label(path, leaf)`, as `optax.multi_transform` and masks take it, for a model that holds stacks.

        optax.multi_transform(transforms, lambda params: label_tree(name_of_group, params))

    **Arguments:**

    - `label`: is given the path that a parameter has in a model with lists, `.blocks[3].attn.weight`, and the shape and
        dtype (`jax.ShapeDtypeStruct`) that it has in one layer; and gives a label of any kind.
    - `params`: the parameters, with stacks; also those that an optimiser within `per_layer` is given, which have none.

    What is no array and no number has the label of its path, with the value itself.

    **Raises** ValueError where layers of a stack have two labels for one parameter, which a stacked array cannot have:
    `per_layer` gives an optimiser each layer by itself.
    """
    leaves, treedef = jax.tree_util.tree_flatten_with_path(params)
    found: dict[int, tuple[str, L]] = {}
    for part in list_form(params)[0]:
        outline = part.outline()
        given = label(part.name, outline)
        first, known = found.setdefault(part.leaf, (part.name, given))
        if known != given:
            raise ValueError(
                f"{first} and {part.name} are kept as one array, and have two labels, {known!r} and {given!r}. "
                "Wrap the optimiser in scanify.optim.per_layer, which shows it each layer by itself"
            )
    labels = [
        found[at][1] if at in found else label(jax.tree_util.keystr(path), leaf)
        for at, (path, leaf) in enumerate(leaves)
    ]
    return treedef.unflatten(labels)
