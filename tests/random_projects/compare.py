"""In what two runs of a project differ."""

from typing import Any

import jax
import numpy as np

from tests.random_projects.run import Numbers, Run

CLOSE = {"rtol": 2e-4, "atol": 1e-5, "equal_nan": True}


def differences(before: Run, after: Run) -> list[str]:
    """How the parts of `after` differ from those of `before`, none of which raised."""
    return [
        f"{name}: {found}" for name, part in before.parts.items() if (found := _differs(part, after.parts.get(name)))
    ]


def _differs(before: Any, after: Any) -> str | None:
    ours, theirs = jax.tree.structure(after), jax.tree.structure(before)
    if ours != theirs:
        return f"{theirs} became {ours}"
    pairs = zip(jax.tree.leaves(before), jax.tree.leaves(after), strict=True)
    return next((found for old, new in pairs if (found := _leaf(old, new))), None)


def _leaf(old: Any, new: Any) -> str | None:
    if isinstance(old, Numbers):
        if old.sorted.shape != new.sorted.shape:
            return f"{old.sorted.size} numbers became {new.sorted.size}"
        return None if np.allclose(old.sorted, new.sorted, **CLOSE) else "other numbers"  # type: ignore[arg-type]
    if isinstance(old, jax.Array | np.ndarray | np.generic):
        if not isinstance(new, jax.Array | np.ndarray | np.generic):
            return f"an array became {type(new).__name__}"
        if (old.dtype, old.shape) != (new.dtype, new.shape):
            return f"{old.dtype}{old.shape} became {new.dtype}{new.shape}"
        if jax.dtypes.issubdtype(old.dtype, jax.dtypes.extended):
            return None if (jax.random.key_data(old) == jax.random.key_data(new)).all() else "other keys"
        old, new = (np.asarray(each, np.float64) for each in (old, new))
        return None if np.allclose(old, new, **CLOSE) else f"{old} became {new}"
    if isinstance(old, float) and isinstance(new, float):
        return None if np.allclose(old, new, **CLOSE) else f"{old} became {new}"
    return None if type(old) is type(new) and (callable(old) or old == new) else f"{old!r} became {new!r}"
