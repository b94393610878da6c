"""Write proposed cases to a file that can be read and edited."""

import ast
from collections.abc import Sequence

from scanify.propose.request import Proposed

_USUAL = {
    "eqx": "import equinox as eqx",
    "jax": "import jax",
    "jnp": "import jax.numpy as jnp",
    "np": "import numpy as np",
}

_HEADER = '''\
"""Cases for {name}, {origin} by scanify: edit them as you like.

Each function is given the module and answers (model, args) or (model, args, kwargs).{about}
"""
'''

_PROPOSED = """ Its sizes are small and fit each
other; the call was traced once and runs the layer loop. `sweep` lists other arguments to verify with."""

_TO_FILL = """

Where it says `...` in {names}, put values of your own: small sizes, and three layers or more."""


_RECORDED = """ Sizes and configurations are
those of a run; arrays are new ones of the same shapes."""


def render(cases: Sequence[Proposed], name: str, to_fill: Sequence[Proposed] = (), *, recorded: bool = False) -> str:
    """Return the source of a file of cases for the model file `name`. Values are missing in the cases of `to_fill`.

    The cases are proposed, or `recorded` from a run.
    """
    about = "" if not cases else _RECORDED if recorded else _PROPOSED
    about += _TO_FILL.format(names=", ".join(each.function for each in to_fill)) if to_fill else ""
    body = "\n\n".join(case.text for case in (*cases, *to_fill))
    named = {node.id for node in ast.walk(ast.parse(body)) if isinstance(node, ast.Name)}
    named |= {"jax", "jnp"} if to_fill else set()  # used for the missing values
    usual = [line for short, line in _USUAL.items() if short in named]
    own = sorted({line for case in cases for line in case.imports})
    parts = ["\n".join(lines) + "\n" for lines in (usual, own) if lines]
    header = _HEADER.format(name=name, about=about, origin="recorded" if recorded else "proposed")
    return "\n".join([header, *parts]) + f"\n\n{body}"
