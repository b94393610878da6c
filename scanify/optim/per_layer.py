"""An optimiser that sees the layers of a stack one by one, as in a list."""

import importlib.util
import sys
from typing import TYPE_CHECKING, Any

from scanify.optim.on_lists import on_lists

if TYPE_CHECKING:
    import optax


def per_layer(optimizer: "optax.GradientTransformation") -> "optax.GradientTransformationExtraArgs":
    """Wrap `optimizer` so that it receives the parameters with a list of layers in place of each stack.

        optimizer = scanify.optim.per_layer(optax.lamb(1e-3))

    The updates of a model with stacks equal those of the same model with lists, whatever the optimiser depends on:
    norms of leaves, ranks and shapes (Adafactor, Muon, Shampoo, masks by `ndim`), paths and labels of layers, a random
    key for each leaf. Masks and labels must be functions of the parameters.

    Updates computed in the same way for several layers are computed together by one `jax.vmap`. Computations that
    differ (learning rates that depend on the index of a layer) or that combine several layers (a global norm) are done
    once per layer: leave `optax.clip_by_global_norm` outside, where it sees stacks and computes the same. The optimiser
    is traced with all layers: the time to trace it grows with their number, but the size of the program does not.

    The state has a stack in place of each list whose layers are alike, so that it is sharded, saved and converted
    (`scanify convert`) like the model. State for the layers of a `BlockSeq`, and state whose form differs between
    layers, keeps one leaf per layer.

    **Raises** ImportError without optax. ValueError, when applied, if layers of a `BlockSeq` share arrays.
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
