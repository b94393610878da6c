"""Make both versions of a Linen model comparable: the loop gets the names and random streams of the scan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import jax

from scanify.verify.cases.build import Built, Case, build
from scanify.verify.leaves.correspond import Mismatch
from scanify.verify.linen.infer import given, inferred
from scanify.verify.linen.model import LinenModel, initial
from scanify.verify.linen.renaming import Renaming
from scanify.verify.linen.streams import Streams, Use, counts
from scanify.verify.programs.apart import traced_anew
from scanify.verify.values.arrays import is_traced, struct

# The reason for initial parameters that are proved to be the same.
SAME_START = (
    "both versions start from the same parameters up to a renaming of random streams: `init` draws other numbers, as "
    "modules have other names"
)


def aligned(case: Case, first: Built, second: Built, *, abstract: bool) -> Built | Mismatch:
    """Build the loop again with the streams of the scan, if both are Linen models whose modules have different names.

    A Mismatch if the correspondence is not known. Raises ScanifyError if the case's mapping is wrong, or if distinct
    streams would become one.
    """
    before, after = first.tree[0], second.tree[0]
    if not isinstance(before, LinenModel) or not isinstance(after, LinenModel):
        return first
    renaming = renaming_of(first, second)
    if isinstance(renaming, str):
        return Mismatch("variables", renaming)
    if not renaming:
        return first
    init, call = _ahead(first, second, renaming)
    streams = Streams(renaming, tuple(call.items()), tuple(init.items()))
    built = build(case, abstract=abstract, streams=streams)
    used = _used(built)
    return replace(built, proviso=_words(used))


def renaming_of(first: Built, second: Built) -> Renaming | str:
    variables = first.tree[0].variables, second.tree[0].variables
    return inferred(*variables) if second.mapping is None else given(second.mapping, *variables)


def _ahead(first: Built, second: Built, renaming: Renaming) -> tuple[dict[Any, int], dict[Any, int]]:
    """Return by how much the counts of streams are ahead in the scan, for `init` and for the call."""
    plain = Streams(renaming)
    found = []
    for what in (_of_init, _of_call):
        ours = counts(what(first, plain))
        try:
            theirs = counts(what(second, Streams()))
        except Exception:  # the error of the scan is reported when it is traced
            theirs = {}
        found.append({key: theirs[key] - count for key, count in ours.items() if theirs.get(key, 0) > count})
    return found[0], found[1]


def _used(built: Built) -> Sequence[Use]:
    return _of_call(built, None)


def _of_call(built: Built, streams: Streams | None) -> Sequence[Use]:
    return _recorded(built, streams, lambda model, args, kwargs: model.applied(*args, **kwargs)[1])


def _of_init(built: Built, streams: Streams | None) -> Sequence[Use]:
    return _recorded(built, streams, lambda model, args, kwargs: initial(model.fixed, args, kwargs)[1])


def _recorded(built: Built, streams: Streams | None, run: Any) -> Sequence[Use]:
    """Run a function under tracing, with these streams, and return the uses of random streams."""
    leaves, treedef = jax.tree.flatten(built.tree)
    seen: list[Use] = []

    def traced(arrays: Sequence[Any]) -> None:
        own = iter(arrays)
        model, args, kwargs = jax.tree.unflatten(treedef, [next(own) if is_traced(x) else x for x in leaves])
        seen[:] = run(model if streams is None else model.with_streams(streams), args, kwargs)

    with traced_anew("streams"):
        jax.eval_shape(traced, [struct(x) for x in leaves if is_traced(x)])
    return seen


def _words(used: Sequence[Use]) -> str:
    renamed = any(use.before != use.after or use.rows for use in used)
    return "for the same parameters" + (", and up to a renaming of random streams" if renamed else "")
