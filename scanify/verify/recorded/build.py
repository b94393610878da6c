"""One version's recorded call, in the form of a case."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import FrameType
from typing import Any

import equinox as eqx
import jax

from scanify.verify.cases.case import CaseError
from scanify.verify.cases.other_keys import moved_in, other_keys
from scanify.verify.cases.start import Start
from scanify.verify.children.case_build import told_of
from scanify.verify.leaves.correspond import Correspondence, correspond
from scanify.verify.recorded.call import Axes, Construction, RecordedCall
from scanify.verify.recorded.snapshot import Array, Snapshot
from scanify.verify.recorded.watch import CONSTRUCTIONS
from scanify.verify.values.arrays import is_inexact, is_traced, plain, same_bits, struct
from scanify.verify.verdict import LoopRun
from scanify.verify.versions.loaded import Version
from scanify.verify.versions.overlay import Overlay

_NUMBERS = (bool, int, float, complex)


@dataclass(eq=False)
class RecordedBuild:
    """Builds the model and the arguments of a recorded call, like `scanify.verify.children.case_build.CaseBuild`.

    `drawn` says for each array of the arguments, by name, whether it was a tracer in one of the versions: then both get
    the same values. So do the arguments `traced`, which hold modules: both versions construct them, as the `at`-th last
    of the similar ones that the run constructs. `untouched` is true if the versions differ only in the recorded
    functions. `loops` are the loops of the function that the rewritten version lacks.
    """

    text: str
    overlay: Overlay
    version: Version
    call: RecordedCall
    drawn: Mapping[str, Sequence[bool]]
    traced: frozenset[str]
    untouched: bool = False
    at: int = 1
    loops: tuple[LoopRun, ...] = ()
    error: CaseError | None = None
    raised: BaseException | None = None
    told: CaseError | None = None
    called: bool = False
    returned: Any = None
    mapping: object = None
    optimizer: Any = None
    shardings: Any = None
    pipeline: Any = None
    _made: dict[str, list[Construction]] = field(default_factory=dict)
    _axes: Axes | None = None

    def __call__(self) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
        self.called = True
        try:
            with self.overlay.active(self.version):
                given = {name: self._given(name, part) for name, part in self.call.given.items()}
                self._axes = self.call.axes if self._axes is None and self._lacks_axes(given) else self._axes or ()
            self.returned = model_and_arguments = self._whole(given)
            return model_and_arguments
        except BaseException as error:
            doing = f"{self.text}: what was recorded of the {self.version.name} cannot be built again"
            self.raised, self.told = error, told_of(error, doing, self.overlay)
            self.error = self.told
            raise self.error from None

    def _whole(self, given: Mapping[str, Any]) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
        closure = {name: part.restored(_seed(name)) for name, part in self.call.closure.items()}
        axes, parts = self._axes or (), self.call.others.items()
        lead = tuple(size for _, size in axes)
        others = {n: part.restored(_seed(n), drawn=self.drawn[n], lead=lead) for n, part in parts}
        mapped = {n: part.where(self.drawn[n]) for n, part in parts}
        return self.call.model(given, closure, axes, mapped), (), others

    def _lacks_axes(self, given: Mapping[str, Any]) -> bool:
        """Return True if the call cannot be traced without the named axes that the run made it under."""
        if not self.call.axes:
            return False
        model, _, others = self._whole(given)
        try:
            eqx.filter_eval_shape(lambda model, others: model(**others), model, others)
        except NameError as error:
            return any(name in str(error) for name, _ in self.call.axes)
        except Exception:  # the comparison reports it
            return False
        return False

    def _given(self, name: str, part: Snapshot) -> Any:
        construction = self.construction(name) if name in self.traced else None
        if construction is None:
            return part.restored(_seed(name))
        pairs = zip(jax.tree.leaves(self._constructed(construction, part)), part.leaves, strict=True)
        leaves = [leaf if isinstance(recorded, Array) else recorded for leaf, recorded in pairs]
        return jax.tree.unflatten(part.treedef, leaves)

    def start(self) -> Start:
        """Return the evidence of the run on the initial parameters."""
        if self.untouched:
            return Start.SAME_SOURCE
        unseen = {name: part for name, part in self.call.given.items() if self.construction(name) is None}
        closure = [part for part in self.call.closure.values() if part.arrays]
        more = [name for name in self.traced if len(self.call.constructions.get(name, ())) >= CONSTRUCTIONS]
        if more or self.traced & unseen.keys() or any(part.traced for part in closure):
            return Start.UNKNOWN
        return Start.VALUES if unseen or closure else Start.CONSTRUCTED

    def construction(self, name: str) -> Construction | None:
        """Return the construction of an argument: one of its very arrays, or else the `at`-th last similar one.

        Since then the run may have changed values, or the dtype of floats. None if no such construction was seen.
        """
        fitting = self._fitting(name)
        return fitting[-min(self.at, len(fitting))] if fitting else None

    def alternatives(self) -> list[RecordedBuild]:
        """Return the same call with each other construction that the tracers of its modules may come from."""
        most = max((len(self._fitting(name)) for name in self.traced & self.call.given.keys()), default=1)
        return [replace(self, at=at) for at in range(2, most + 1)]

    def _fitting(self, name: str) -> list[Construction]:
        """Return the earlier constructions of models similar to an argument, or only those with its very arrays if any.

        If an argument was traced in one of the versions, its arrays have no values to compare.
        """
        if name not in self._made:
            part, seen = self.call.given[name], self.call.constructions.get(name, ())
            traced, fitting, equal = name in self.traced, list[Construction](), list[Construction]()
            for each in seen:
                try:
                    with self.overlay.active(self.version):
                        made = self._constructed(each, part)
                except Exception:  # with values drawn for tracers, the user's constructor may raise
                    continue
                if _is_like(made, part):
                    fitting.append(each)
                    equal += [each] if not traced and all(map(_is_equal, jax.tree.leaves(made), part.leaves)) else []
            self._made[name] = equal or fitting
        return self._made[name]

    def _constructed(self, construction: Construction, part: Snapshot, keys: Any = None) -> Any:
        given = {"all": construction.arguments.restored(_seed("constructor"))}
        args, kwargs = (given if keys is None else moved_in(given, keys)[0])["all"]
        leaves, treedef = jax.tree.flatten(construction.cls(*args, **kwargs))
        return jax.tree.unflatten(
            treedef, [*map(_cast, leaves, part.leaves)] if len(leaves) == len(part.leaves) else leaves
        )

    def with_other_keys(self, keys: Any) -> tuple[Any, tuple[Any, ...], dict[str, Any]] | None:
        """Return the same call with modules made from other `keys`; None if no constructor takes or makes any."""
        made = {name: self.construction(name) for name in self.call.given}
        arguments = {name: each.arguments.restored() for name, each in made.items() if each is not None}
        with other_keys({}, self._is_models, keys) as shifted, self.overlay.active(self.version):
            given = {
                name: part.restored(_seed(name))
                if (each := made[name]) is None
                else self._constructed(each, part, keys)
                for name, part in self.call.given.items()
            }
        return self._whole(given) if shifted.any or moved_in(arguments, keys)[1] else None

    def _is_models(self, frame: FrameType) -> bool:
        return self.overlay.version_of(frame) is not None


def _seed(name: str) -> int:
    """Return the seed for values of tracers: the same for an argument of this name in both versions."""
    return zlib.crc32(name.encode())


def _is_like(made: Any, part: Snapshot) -> bool:
    """True if a module equals the recorded one in everything but the values of arrays, including static fields."""
    leaves, treedef = jax.tree.flatten(made)
    if len(leaves) != len(part.leaves) or not all(map(_may_be, leaves, part.leaves)):
        return False
    pairs = zip(leaves, part.leaves, strict=True)
    holes = [recorded if isinstance(recorded, Array) else leaf for leaf, recorded in pairs]
    found = correspond(jax.tree.unflatten(treedef, holes), part.tree())
    return isinstance(found, Correspondence) and not found.statics


def _may_be(leaf: Any, recorded: Any) -> bool:
    if not isinstance(recorded, Array):
        return not is_traced(leaf)
    if isinstance(leaf, _NUMBERS):  # `jax.jit` makes tracers of numbers, too
        return recorded.values is None and not recorded.aval.shape
    return is_traced(leaf) and struct(leaf) == recorded.aval


def _is_equal(leaf: Any, recorded: Any) -> bool:
    values = recorded.values if isinstance(recorded, Array) else None
    return values is None or same_bits(plain(leaf), values)


def _cast(leaf: Any, recorded: Any) -> Any:
    """Cast a float to the recorded dtype, as mixed precision does."""
    floats = is_traced(leaf) and isinstance(recorded, Array) and is_inexact(leaf) and is_inexact(recorded.aval)
    return leaf.astype(recorded.aval.dtype) if floats else leaf
