"""A function of a model as a model: two functions of equal models can then be verified like two versions of one."""

from collections.abc import Callable
from typing import Any

import equinox as eqx


def applied(function: Callable[..., Any], model: Any) -> Any:
    """A module that holds `model` and gives `function(model, *args)` when called.

    The class is made anew for each function, under the same name: scanify finds the structures equal, and the
    parameters those of `model`. A function in a field would be a difference.
    """

    class Applied(eqx.Module):
        model: Any

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            return function(self.model, *args, **kwargs)

    return Applied(model)
