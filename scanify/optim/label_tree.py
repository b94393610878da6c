"""A label for each parameter, based on its path and shape in a layer."""

from collections.abc import Callable
from typing import Any, TypeVar

import jax

from scanify.nn.list_form import list_form

L = TypeVar("L")


def label_tree(label: Callable[[str, Any], L], params: Any) -> Any:
    """Return the tree of `label(path, leaf)` for a model with stacks, as used by `optax.multi_transform` and masks.

        optax.multi_transform(transforms, lambda params: label_tree(name_of_group, params))

    **Arguments:**

    - `label`: receives the path of a parameter in the model with lists, `.blocks[3].attn.weight`, and its shape and
        dtype in one layer (`jax.ShapeDtypeStruct`), and returns a label of any kind.
    - `params`: the parameters, with stacks. Parameters passed to an optimiser inside `per_layer`, which have no stacks,
        work too.

    For a leaf that is neither an array nor a number, `label` receives the path and the value itself.

    **Raises** ValueError if layers of a stack have different labels for the same parameter, which is one stacked array:
    wrap the optimiser in `per_layer`, which shows it each layer separately.
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
