"""The ways to write a scan over layers, and to make a stack of them, in jax, haliax, scanify and Flax."""

import ast

from scanify.analysis.remarks.seen import Seen, argument

LAX = frozenset({"jax.lax.scan", "jax.lax.control_flow.scan", "equinox.internal.scan"})
LINEN = frozenset({"flax.linen.scan", "flax.linen.transforms.scan"})
REMAT_SCAN = frozenset({"flax.linen.remat_scan", "flax.linen.transforms.remat_scan"})
NNX = frozenset({"flax.nnx.scan", "flax.nnx.transforms.scan"})
LIFTED = LINEN | NNX
VIAS = ("fold_via", "scan_via")
INITS = (".Stacked.init", ".ArrayStacked.init")
REMATS = frozenset(
    "jax.checkpoint jax.remat jax.ad_checkpoint.checkpoint jax.ad_checkpoint.remat equinox.filter_checkpoint "
    "flax.linen.remat flax.linen.checkpoint flax.nnx.remat haliax.checkpoint".split()
)


def asked(seen: Seen, call: ast.Call) -> str:
    """The qualified name of what a call calls, also by `functools.partial(f, ...)`; empty where it is not known."""
    known = seen.called(call.func)
    if known == "functools.partial" and call.args:
        return seen.called(call.args[0])
    return known


def axis_size(seen: Seen, axis: ast.expr | None) -> ast.expr | None:
    """The size of `haliax.Axis("layers", size)`; anything else is a number itself."""
    meant = seen.meant(axis) if axis is not None else None
    if isinstance(meant, ast.Call) and seen.called(meant.func) in ("haliax.Axis", "haliax.axis.Axis"):
        return argument(meant, 1, "size")
    return axis


def applied_stack(call: ast.Call) -> ast.expr | None:
    """What may be a stack in `stack.fold(x, ...)`, `stack.fold_via(f)(x, ...)`; None for other calls."""
    method = call.func.func if isinstance(call.func, ast.Call) else call.func
    methods = VIAS if isinstance(call.func, ast.Call) else ("fold", "scan")
    return method.value if isinstance(method, ast.Attribute) and method.attr in methods else None
