"""Forms of a scan over layers in jax, haliax, scanify and Flax."""

import ast

from scanify.analysis.remarks.view import View

LAX = frozenset({"jax.lax.scan", "jax.lax.control_flow.scan", "equinox.internal.scan"})
LINEN = frozenset({"flax.linen.scan", "flax.linen.transforms.scan"})
REMAT_SCAN = frozenset({"flax.linen.remat_scan", "flax.linen.transforms.remat_scan"})
LIFTED = LINEN | {"flax.nnx.scan", "flax.nnx.transforms.scan"}
REMATS = frozenset(
    "jax.checkpoint jax.remat jax.ad_checkpoint.checkpoint jax.ad_checkpoint.remat equinox.filter_checkpoint "
    "flax.linen.remat flax.linen.checkpoint flax.nnx.remat haliax.checkpoint".split()
)
VIAS = ("fold_via", "scan_via")


def function_of(view: View, call: ast.Call) -> str:
    """Return the qualified name of the function of a call, or of `functools.partial(f, ...)`; empty if unknown."""
    known = view.called(call.func)
    return view.called(call.args[0]) if known == "functools.partial" and call.args else known


def applied_stack(view: View, call: ast.Call) -> ast.expr | None:
    """Return the possible stack in `stack.fold(x, ...)` and `stack.fold_via(f)(x, ...)`; None for other calls."""
    made = view.value(call.func)
    method = made.func if isinstance(made, ast.Call) else made
    names = VIAS if isinstance(made, ast.Call) else ("fold", "scan")
    return method.value if isinstance(method, ast.Attribute) and method.attr in names else None
