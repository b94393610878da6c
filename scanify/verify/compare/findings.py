"""Errors that the traces show besides wrong values: missing remat, and a loop that is not scanned."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from scanify.verify.children.limits import human_bytes
from scanify.verify.programs.trace import Traced, count_scans, maps_layers
from scanify.verify.unscanned import NO_STACK, NOTHING_SCANNED
from scanify.verify.verdict import Verdict


def _residuals(traced: Traced) -> Counter[tuple[tuple[int, ...], str]]:
    return Counter((tuple(aval.shape), str(aval.dtype)) for aval in traced.residuals)


def _size(traced: Traced) -> str:
    return human_bytes(traced.saved_bytes or 0)


def remat_findings(policy: str, wanted: Traced | Verdict, written: Traced | Verdict) -> tuple[str, ...]:
    """Check that the source has the requested policy: it saves the same as written and under that policy."""
    if isinstance(wanted, Verdict) or isinstance(written, Verdict):
        return ()
    if _residuals(wanted) == _residuals(written):
        return ()
    text = (
        f"the rewritten source was to use remat {policy!r} but does not: as written it saves "
        f"{_size(written)} between forward and backward, and {_size(wanted)} under that policy; "
        "look for a gradient_checkpointing that is missing or another one"
    )
    return (text,)


def policy_changed(traced: Traced, without: Traced | Verdict | None) -> bool | None:
    """Return whether a policy keeps other residuals than a scan without remat; None if either is unknown."""
    if not isinstance(without, Traced) or traced.gradient is None or without.gradient is None:
        return None
    return _residuals(traced) != _residuals(without)


def remat_notes(policy: str, traced: Traced, without: Traced | Verdict | None, original: Traced) -> tuple[str, ...]:
    """Return remarks that are not errors: a policy that changes nothing, or a rewrite that saves more than before.

    A layer that has nothing to recompute (one matrix product) rightly saves the same under every policy.
    """
    notes = []
    if traced.gradient is None or original.gradient is None:
        return ()
    other = without is not traced and policy != "save_all"  # it is to save all
    if other and policy_changed(traced, without) is False:
        notes.append(f"remat {policy!r} changes nothing: {_size(traced)} are saved with and without it")
    if (traced.saved_bytes or 0) > (original.saved_bytes or 0):
        notes.append(f"saves {_size(traced)} where the original saves {_size(original)}")
    return tuple(notes)


def nothing_scanned(
    before: Traced, after: Sequence[Traced], stacks: Sequence[int], scans_more: Callable[[], bool] = lambda: False
) -> tuple[str, ...]:
    """Report if the rewritten program has no more scans than the original.

    A stack of one layer needs none, and independent layers are mapped over. If layers contain scans themselves,
    scanning over them reduces the number of scans: `scans_more` returns whether layers are newly scanned over.
    """
    if not after or (stacks and max(stacks) == 1):
        return ()
    if any(count_scans(traced.forward) > count_scans(before.forward) for traced in after):
        return ()
    if any(maps_layers(traced.forward) for traced in after) and not maps_layers(before.forward):
        return ()
    if scans_more():
        return ()
    held = f"{NOTHING_SCANNED}: it holds a stack of {max(stacks)} layers, but" if stacks else f"{NO_STACK} and"
    return (f"{held} its traced program has no scan more than before",)


def donated(names: Sequence[str], before: Traced, after: Traced) -> tuple[str, ...]:
    """Report the arguments that only the rewritten version donates (`jax.jit(..., donate_argnums=...)`)."""
    more = sorted(_donated(after) - _donated(before))
    if not more:
        return ()
    given = ", ".join(names[at] if at < len(names) else "an input" for at in more)
    return (f"the rewritten version donates {given}: a call outside of `jax.jit` deletes what it was given",)


def _donated(traced: Traced) -> set[int]:
    """Return the inputs of the program that a call in it donates. Nested calls donate copies."""
    jaxpr = traced.forward.jaxpr
    places = {var: at for at, var in enumerate(jaxpr.invars)}
    return {
        places[var]
        for equation in jaxpr.eqns
        for var, gives in zip(equation.invars, equation.params.get("donated_invars", ()), strict=False)
        if gives and not hasattr(var, "val") and var in places
    }
