"""An optimiser that sees the layers of stacks one by one, as those of a list."""

import importlib.util
import sys
from typing import TYPE_CHECKING, Any

from scanify.optim.on_lists import on_lists

if TYPE_CHECKING:
    import optax


def per_layer(optimizer: "optax.GradientTransformation") -> "optax.GradientTransformationExtraArgs":
    """`optimizer`, given the parameters with a list of layers in place of each stack.

        optimizer = scanify.optim.per_layer(optax.lamb(1e-3))

    What it makes of a model with stacks is what it makes of the same model with lists, whatever it looks at: norms of
    leaves, ranks and shapes (Adafactor, Muon, Shampoo, masks by `ndim`), paths and labels of layers, a random key for
    each leaf. Masks and labels are to be functions of the parameters.

    Updates that are computed alike for several layers are computed for all of them by one `jax.vmap`. What is not alike
    (rates by the number of a layer), and what is computed of several layers together (a global norm), is computed once
    for each: leave `optax.clip_by_global_norm` outside, where it sees stacks and computes the same. The optimiser is
    traced with all layers: the time to trace it grows with their number, the program does not.

    The state has a stack in place of each list of what is alike in all layers, so that it is sharded, saved and
    converted (`scanify convert`) as the model is. What an optimiser keeps for the layers of a `BlockSeq`, or in another
    form for each layer, stays one leaf for each layer.

    **Raises** ImportError without optax. ValueError, when it is applied, where layers of a `BlockSeq` share arrays.
    """
    if importlib.util.find_spec("optax") is None:
        raise ImportError(
            f"per_layer wraps an optimiser of optax, which {sys.executable} does not have: pip install optax"
        )
    import optax

    inner = optax.with_extra_args_support(optimizer)

    def init(params: Any) -> Any:
        return on_lists(inner.init, params)

    def update(updates: Any, state: Any, params: Any = None, **extra: Any) -> tuple[Any, Any]:
        def one_by_one(given: tuple[Any, Any, Any]) -> tuple[Any, Any]:
            new: tuple[Any, Any] = inner.update(*given, **extra)
            return new

        new: tuple[Any, Any] = on_lists(one_by_one, (updates, state, params), like=(updates, state))
        return new

    return optax.GradientTransformationExtraArgs(init, update)
