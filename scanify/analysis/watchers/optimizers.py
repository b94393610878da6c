"""Optimizers and their parts that treat each leaf as one thing."""

from scanify.analysis.watchers.tables import (
    OPTAX_ASIDE,
    OPTAX_ENDS,
    OPTAX_HARMLESS,
    OPTAX_PER_LEAF,
    PER_LEAF_PACKAGES,
)


def optimizer_reads(qualname: str) -> str | None:
    """What a function of an optimizer library reads of each leaf, by its qualified name; None where nothing."""
    package, _, name = qualname.partition(".")
    if package in PER_LEAF_PACKAGES:
        return PER_LEAF_PACKAGES[package]
    if package != "optax" or not name:
        return None
    for prefix in ("transforms.", "transform.", "alias."):
        name = name.removeprefix(prefix)
    if name in OPTAX_PER_LEAF:
        return OPTAX_PER_LEAF[name]
    if name in OPTAX_HARMLESS or name.startswith(OPTAX_ASIDE) or name.endswith(OPTAX_ENDS) or name[0].isupper():
        return None
    return f"`{qualname}`, which is not known to treat each number by itself"
