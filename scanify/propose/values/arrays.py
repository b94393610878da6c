"""The source of an array: values by its kind, shape by the sizes of the case."""

from __future__ import annotations

import re
from collections.abc import Sequence

from scanify.propose.values.expression import Text
from scanify.propose.values.sizes import Sizes

TOKENS = re.compile(r"(\w+_)?(tokens?|ids?|idx|indices|index|inputs_ids|labels?|words?|toks?|codes?|positions?)")
MASK = re.compile(r"(\w+_)?(mask|padding|padding_mask)")


def array_text(name: str, kind: str, dims: Sequence[str], sizes: Sizes, *, seed: int) -> Text:
    """Return an array for the parameter `name`; dimensions are numbers, names or expressions of names."""
    image = any(dim.lower() in ("h", "w", "height", "width") for dim in dims)
    channels = "inputs" if sizes.has("inputs") else "channels"
    texts = [channels if image and dim.lower() == "c" else _dimension(dim, sizes) for dim in dims]
    return shaped_text(name, kind, texts, sizes, seed=seed)


def shaped_text(name: str, kind: str, texts: Sequence[str], sizes: Sizes, *, seed: int) -> Text:
    """Return an array whose dimensions are already expressions of the case."""
    shape = f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"
    label = f"{kind} {shape}"
    key = f"jax.random.key({seed})"
    if kind == "int":
        return Text(f"jax.random.randint({key}, {shape}, 0, {_limit(name, sizes)})", label=label)
    if kind == "bool":
        return Text(f"jnp.ones({shape}, dtype=bool)", label=label)
    if kind == "complex":
        return Text(f"jax.random.normal({key}, {shape}, dtype=complex)", label=label)
    if kind == "key":
        return Text(key if not texts else f"jax.random.split({key}, {shape})", label=label)
    if MASK.fullmatch(name.lower()):
        return Text(f"jnp.ones({shape})", label=label)
    return Text(f"jax.random.normal({key}, {shape})" if texts else "jnp.array(0.5)", label=label)


def _limit(name: str, sizes: Sizes) -> str:
    """Return the exclusive upper bound of integers: the number of embeddings if the name is one of tokens."""
    if re.fullmatch(r"(\w+_)?(positions?|pos|steps?|index|lengths?)(_ids?)?", name.lower()):
        return "length" if sizes.has("length") else "2"
    if re.fullmatch(r"(\w+_)?(label|labels|y|class|classes|class_ids?)", name.lower()) and sizes.has("outputs"):
        return "outputs"
    return "vocab" if sizes.has("vocab") else "2"


def _dimension(dim: str, sizes: Sizes) -> str:
    """`seq` is a size of the case, `3` itself, `dim//2` an expression of sizes, and `_` 2."""
    if dim == "_":
        return "2"
    if not re.fullmatch(r"[\w+*/()%-]+", dim):
        return "2"
    return re.sub(r"[A-Za-z_]\w*", lambda found: sizes.dimension(found[0]), dim)
