"""Do both constructors give the same initial leaves, and do both calls get the same inputs?

This is the check that a stack built in another order than the list fails: as functions of the same leaves both
versions may well be equal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
from jax.extend.core import ClosedJaxpr, jaxpr_as_fun

from scanify.errors import ScanifyError
from scanify.nn.trees.difference import first_difference
from scanify.nn.trees.leaves import path_text
from scanify.verify.cases.build import Built, Case, build
from scanify.verify.certificate.write import Certificate, Proved
from scanify.verify.leaves.correspond import Correspondence, Recipe
from scanify.verify.linen.streams import Streams
from scanify.verify.programs.pair import Pair
from scanify.verify.programs.trace import version
from scanify.verify.proof.attempt import proof_of
from scanify.verify.proof.words import raised, unproved
from scanify.verify.values.arrays import is_traced, plain, same_bits, show_value, struct
from scanify.verify.verdict import Status, Verdict

Files = Callable[[str], str | None] | None

# Models of more bytes than this are not built a second time.
_ROOM = 1 << 30


def same_parameters(
    before: Built,
    after: Built,
    found: Correspondence,
    inputs: Sequence[int],
    files: Files,
    certificate: Certificate | None = None,
) -> Verdict:
    """PROVED where each leaf of the original is, bit for bit, the leaf (or its slice of the stack) of the rewritten.

    With abstract weights the two constructors are proved equal instead. `inputs` are the leaves that are arguments of
    the call: a case must give both versions the same ones. Raises ScanifyError where it does not.
    """
    equal = _concrete(before, after, found) if before.constructor is None else None
    if equal is None:
        return _abstract(before, after, found, inputs, files, certificate)
    wrong = [i for i, (same, _) in enumerate(equal) if not same]
    for i in wrong:
        if i in set(inputs):
            raise ScanifyError(
                f"the case must call both versions with the same arguments, but {found.names[i]} was {equal[i][1]}; "
                "make it from a fixed seed"
            )
    unlike = _unlike_statics(found)
    if unlike is not None and unlike.status is Status.FAILED:
        return unlike
    if wrong:
        more = f"; {len(wrong)} of {len(equal)} leaves differ" if len(wrong) > 1 else ""
        return Verdict(Status.FAILED, f"{found.names[wrong[0]]} is {equal[wrong[0]][1]}{more}")
    return unlike or Verdict(Status.PROVED)


def _unlike_statics(found: Correspondence) -> Verdict | None:
    """The verdict on what the models hold besides arrays: FAILED if it differs, NOT RUN if it is not understood."""
    for certain, status in ((True, Status.FAILED), (False, Status.NOT_RUN)):
        these = [each for each in found.statics if each.certain is certain]
        if these:
            more = f" (and {len(these) - 1} more)" if len(these) > 1 else ""
            return Verdict(status, f"{these[0]}{more}")
    return None


def with_other_keys(
    before: Case,
    after: Case,
    pair: Pair,
    models: tuple[Any, Any],
    *,
    abstract: bool,
    files: Files,
    streams: Streams | None = None,
) -> Verdict | None:
    """The verdict on the constructors where the case makes other random keys; None where there is nothing to say.
    `models` are those of the original and of the rewritten version with the keys of the case.

    A case that can has the method `with_other_keys`, which gives None where it makes no key.
    """
    others = [getattr(case, "with_other_keys", None) for case in (before, after)]
    if None in others or _large(pair):
        return None
    try:
        first = _built(others[0], abstract=abstract, streams=streams)
    except Exception:  # what the original does not do with other keys is asked of neither
        return None
    try:
        second = None if first is None else _built(others[1], abstract=abstract)
    except Exception as error:
        return Verdict(Status.FAILED, f"with another random key the rewritten version raises {raised(error, files)}")
    if first is None or second is None:
        return None
    same = _same_leaves(first, second, pair, files)
    wrong = None if same is None else next((i for i, ok in enumerate(same) if not ok and i not in pair.inputs), None)
    if wrong is None and same is not None:
        return _unlike_each_other(models, (first.tree[0], second.tree[0]))
    name = "the models have other leaves" if wrong is None else f"{pair.found.names[wrong]} is another"
    status = Status.NOT_RUN if abstract else Status.FAILED
    text = "the constructors do not use their random key in the same way: with another key in the case"
    return Verdict(status, f"{text}, {name}")


def _unlike_each_other(models: tuple[Any, Any], again: tuple[Any, Any]) -> Verdict | None:
    """FAILED where two models of the rewritten version have two tree structures, and two of the original have one.

    A static field that is equal to itself alone does that: `jax.tree.map` over both raises, `jax.jit` compiles anew.
    """
    alike = [_same_structure(one, other) for one, other in zip(models, again, strict=True)]
    if alike != [True, False]:
        return None
    text = "two models of the rewritten version have two tree structures, and two of the original have one"
    shapes = [
        jax.tree.map(lambda leaf: struct(leaf) if is_traced(leaf) else leaf, each) for each in (models[1], again[1])
    ]
    difference = first_difference(*shapes)
    where = f"; {path_text(difference.path)} is not equal to that of another model" if difference is not None else ""
    return Verdict(Status.FAILED, text + where)


def _same_structure(one: Any, other: Any) -> bool | None:
    """Whether two pytrees have one structure; None where what they hold in it cannot be compared."""
    try:
        return bool(jax.tree.structure(one) == jax.tree.structure(other))
    except Exception:
        return None


def _built(case: Any, *, abstract: bool, streams: Streams | None = None) -> Built | None:
    returned: list[Any] = []

    def once() -> Any:
        found = case()
        returned.append(found)
        return (lambda: None, ()) if found is None else found

    built = build(once, abstract=abstract, streams=streams)
    return None if returned[0] is None else built


def _same_leaves(first: Built, second: Built, pair: Pair, files: Files) -> list[bool] | None:
    """Per leaf of the original whether it is the same; None where there are others."""
    found = pair.found
    shapes = [[(struct(x).shape, struct(x).dtype) for x in each.arrays] for each in (first, second)]
    expected = [(a.shape, a.dtype) for a in jax.eval_shape(pair.before.own, list(pair.avals))]
    if shapes[0] != expected or len(shapes[1]) != len(found.recipes):
        return None
    equal = _concrete(first, second, found) if first.constructor is None else None
    if equal is not None:
        return [same for same, _ in equal]
    assert first.constructor is not None
    return list(proof_of(_apart(first, found.before), _apart(second, found.recipes), files=files).equal)


def _large(pair: Pair) -> bool:
    """Whether there is no room for the arrays of both models a second time."""
    held = sum(leaf.nbytes for leaf in pair.leaves if hasattr(leaf, "nbytes") and isinstance(leaf, jax.Array))
    return bool(held > _ROOM)


def _apart(built: Built, recipes: Sequence[Recipe] | None) -> ClosedJaxpr:
    """The constructor of the leaves that both versions share."""
    apart, constructor = version(built, recipes), built.constructor
    assert constructor is not None
    if recipes is None:
        return constructor
    rebuilt: ClosedJaxpr = jax.make_jaxpr(lambda: apart.split(jaxpr_as_fun(constructor)()))()
    return rebuilt


def _concrete(before: Built, after: Built, found: Correspondence) -> list[tuple[bool, str]]:
    """Per leaf of the original: is it the same, and both values in words."""
    ours = version(before, found.before).split([plain(x) for x in before.arrays])
    others = version(after, found.recipes).split([plain(x) for x in after.arrays])
    answers = []
    for a, b in zip(ours, others, strict=True):
        same = same_bits(a, b)
        answers.append((same, "" if same else _words(a, b)))
    return answers


def _words(a: Any, b: Any) -> str:
    flat = [x.reshape(-1) for x in (a, b)]
    at = next((i for i in range(min(flat[0].size, 4096)) if not same_bits(flat[0][i], flat[1][i])), None)
    if a.ndim == 0 or at is None:
        return f"{show_value(a)} in the original, {show_value(b)} in the rewritten version"
    shown = [show_value(x[at]) for x in flat]
    return f"{shown[0]} in the original, {shown[1]} in the rewritten version (element {at})"


def _abstract(
    before: Built,
    after: Built,
    found: Correspondence,
    inputs: Sequence[int],
    files: Files,
    certificate: Certificate | None,
) -> Verdict:
    original, rebuilt = _apart(before, found.before), _apart(after, found.recipes)
    proof = proof_of(original, rebuilt, files=files)
    wrong = [i for i, same in enumerate(proof.equal) if not same]
    given = [i for i in wrong if i in set(inputs)]
    unlike = _unlike_statics(found)
    if unlike is not None:
        return unlike
    if proof.proved and all(proof.avals_equal):
        if certificate is not None:
            certificate.add(Proved("initial parameters", original, rebuilt, 0, 0))
        return Verdict(Status.PROVED)
    name = found.names[(given or wrong or [0])[0]]
    text = f"the initial values of {name} are not proved equal, and abstract weights have no values to compare"
    return Verdict(Status.NOT_RUN, f"{text}: {unproved(proof)}", proof.difference)
