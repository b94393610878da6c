"""What `import scanify` offers to programs: `prove_equal`."""

import importlib.util
import sys
from collections.abc import Callable
from typing import Any

from scanify.errors import ScanifyError
from scanify.on_call import on_call
from scanify.verify.equality import Equality

__all__ = ["Equality", "prove_equal"]

equality: Callable[..., Equality] = on_call("scanify.verify.functions", "equality")  # which needs jax


def prove_equal(f: Callable[..., Any], g: Callable[..., Any], /, *args: Any, up_to: int = 1, **kwargs: Any) -> Equality:
    """Whether two functions are the same function of the arrays among their arguments.

    Both are called with the same arguments, under tracing. jax arrays and NumPy arrays anywhere in them, in modules
    too, are inputs: PROVED says that the functions are equal for all their values of these shapes and dtypes. A
    `jax.ShapeDtypeStruct` stands for an array without values; then nothing can be tested. Everything else among the
    arguments (Python numbers, static fields), and what the functions hold themselves, is as it is.

        >>> def scanned(model, x):
        ...     return ArrayStacked.of(model.layers).fold(x)
        >>> scanify.prove_equal(looped, scanned, model, x).verdict
        <Status.PROVED: 'PROVED'>

    Args:
        f: the original, as messages have it.
        g: the rewritten version.
        args: the arguments of both; `kwargs` those that are given by name.
        up_to: the order of derivatives that is compared. 0: what the functions return and write to their arguments,
            also under `vmap`, and how often they use each random key. 1: gradients and forward derivatives, too.
            2: and second derivatives.

    Returns:
        An `Equality`, which is true where all is PROVED. `verdict` may also be TESTED (not proved, but the values
        agree), FAILED (they differ), or NOT RUN (nothing was shown); `reason` says why, `place` where the functions
        part, `checks` has the verdict on each part.

    Raises:
        ScanifyError: what was given cannot be compared. Whatever `f` raises is raised as well.

    Values are tried in this process, or, if a function has a `while` loop, in another one for ten seconds at most.
    Both functions are traced in this process: what one does to jax, to a library or to a module reaches the other. To
    compare two versions of a file each in a process of its own, use `scanify verify`.
    """
    missing = [name for name in ("jax", "equinox") if importlib.util.find_spec(name) is None]
    if missing:
        raise ScanifyError(
            f"comparing functions needs jax and equinox; {' and '.join(missing)} not found by {sys.executable}. "
            'Install them with: pip install "scanify-jax[jax]"'
        )
    return equality(f, g, args, kwargs, up_to)
