"""The Python API: `prove_equal`."""

from collections.abc import Callable
from typing import Any

from scanify.on_call import on_call
from scanify.verify.equality import Equality
from scanify.verify.installed import require

__all__ = ["Equality", "prove_equal"]

equality: Callable[..., Equality] = on_call("scanify.verify.functions", "equality")  # needs jax


def prove_equal(f: Callable[..., Any], g: Callable[..., Any], /, *args: Any, up_to: int = 1, **kwargs: Any) -> Equality:
    """Check whether two functions are the same function of the arrays among their arguments.

    Both are called with the same arguments, under tracing. All jax and NumPy arrays in the arguments, including arrays
    in modules, are inputs: PROVED means that the functions are equal for all values of these shapes and dtypes. A
    `jax.ShapeDtypeStruct` represents an array without values; in that case nothing can be tested. All other arguments
    (Python numbers, static fields) and everything that the functions close over keep their values.

        >>> def scanned(model, x):
        ...     return ArrayStacked.of(model.layers).fold(x)
        >>> scanify.prove_equal(looped, scanned, model, x).verdict
        <Status.PROVED: 'PROVED'>

    Args:
        f: the original, called so in messages.
        g: the rewritten version.
        args: the positional arguments of both; `kwargs` are the keyword arguments.
        up_to: the order of derivatives to compare. 0: results and writes to arguments, also under `vmap`, and how often
            each random key is used. 1: gradients and forward derivatives, too. 2: and second derivatives.

    Returns:
        An `Equality`, which is true if everything is PROVED. `verdict` may also be TESTED (not proved, but the values
        agree), FAILED (they differ), or NOT RUN (nothing was shown); `reason` says why, `place` where the functions
        differ, and `checks` has the verdict on each part.

    Raises:
        ScanifyError: the functions or arguments cannot be compared. Exceptions of `f` are raised as well.

    Values are tried in this process, or, if a function has a `while` loop, in another one for ten seconds at most.

    Both functions are traced in this process: changes of one to jax, to a library or to a module affect the other. To
    compare two versions of a file each in a process of its own, use `scanify verify`.
    """
    require("comparing functions")
    return equality(f, g, args, kwargs, up_to)
