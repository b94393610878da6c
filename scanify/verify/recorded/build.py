"""One version's recorded call, ready to be called as a case is."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import jax

from scanify.verify.cases.case import CaseError
from scanify.verify.cases.other_keys import moved_in, other_keys
from scanify.verify.cases.start import Start
from scanify.verify.children.case_build import told_of
from scanify.verify.recorded.call import Construction, RecordedCall
from scanify.verify.recorded.snapshot import Array, Snapshot
from scanify.verify.values.arrays import is_traced, plain, same_bits, struct
from scanify.verify.versions.loaded import Version
from scanify.verify.versions.overlay import Overlay


@dataclass(eq=False)
class RecordedBuild:
    """Gives the model and the arguments of a recorded call, as `scanify.verify.children.case_build.CaseBuild` does.

    `drawn` says of each array of the arguments, by name, whether it was a tracer in one of the versions: both get the
    same values then. `constructions` are those of the user's classes; `untouched` is true if the versions differ in the
    functions that are recorded alone.
    """

    text: str
    overlay: Overlay
    version: Version
    call: RecordedCall
    drawn: Mapping[str, Sequence[bool]]
    constructions: Mapping[type, Sequence[Construction]]
    untouched: bool = False
    error: CaseError | None = None
    raised: BaseException | None = None
    told: CaseError | None = None
    called: bool = False
    returned: Any = None
    mapping: object = None
    optimizer: Any = None
    shardings: Any = None
    pipeline: Any = None
    _made: dict[str, Construction | None] = field(default_factory=dict)

    def __call__(self) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
        self.called = True
        try:
            with self.overlay.active(self.version):
                given = {name: self._given(name, part) for name, part in self.call.given.items()}
            self.returned = model_and_arguments = self._whole(given)
            return model_and_arguments
        except BaseException as error:
            doing = f"{self.text}: what was recorded of the {self.version.name} cannot be built again"
            self.raised, self.told = error, told_of(error, doing, self.overlay)
            self.error = self.told
            raise self.error from None

    def _whole(self, given: Mapping[str, Any]) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
        closure = {name: part.restored(_seed(name)) for name, part in self.call.closure.items()}
        others = {n: part.restored(_seed(n), drawn=self.drawn[n]) for n, part in self.call.others.items()}
        return self.call.model(given, closure), (), others

    def _given(self, name: str, part: Snapshot) -> Any:
        construction = self.construction(name) if part.traced else None
        return part.restored(_seed(name)) if construction is None else self._constructed(construction)

    def start(self) -> Start:
        """What the run shows of the initial parameters."""
        if self.untouched:
            return Start.SAME_SOURCE
        unseen = [name for name in self.call.given if self.construction(name) is None]
        if not unseen:
            return Start.CONSTRUCTED
        return Start.UNKNOWN if any(self.call.given[name].traced for name in unseen) else Start.VALUES

    def construction(self, name: str) -> Construction | None:
        """The construction that made an argument; None if none was seen that gives the same arrays."""
        if name not in self._made:
            seen = self.constructions.get(self.call.owners.get(name, object), ())
            self._made[name] = next((each for each in seen if self._fits(each, self.call.given[name])), None)
        return self._made[name]

    def _fits(self, construction: Construction, part: Snapshot) -> bool:
        try:
            with self.overlay.active(self.version):
                leaves = [leaf for leaf in jax.tree.leaves(self._constructed(construction)) if is_traced(leaf)]
        except Exception:  # with values of tracers that were drawn, the user's constructor may raise
            return False
        return len(leaves) == len(part.arrays) and all(map(_is_like, leaves, part.arrays))

    def _constructed(self, construction: Construction, keys: Any = None) -> Any:
        given = {"all": construction.arguments.restored(_seed("constructor"))}
        args, kwargs = (given if keys is None else moved_in(given, keys)[0])["all"]
        return construction.cls(*args, **kwargs)

    def with_other_keys(self, keys: Any) -> tuple[Any, tuple[Any, ...], dict[str, Any]] | None:
        """The same call with modules made from other `keys`; None if their constructors neither take nor make any."""
        made = {name: self.construction(name) for name in self.call.given}
        arguments = {name: each.arguments.restored() for name, each in made.items() if each is not None}
        with other_keys({}, self._is_models, keys) as shifted, self.overlay.active(self.version):
            given = {
                name: part.restored(_seed(name)) if (each := made[name]) is None else self._constructed(each, keys)
                for name, part in self.call.given.items()
            }
        return self._whole(given) if shifted.any or moved_in(arguments, keys)[1] else None

    def _is_models(self, frame: FrameType) -> bool:
        return self.overlay.version_of(frame) is not None


def _seed(name: str) -> int:
    """Where values of tracers are drawn from: the same for an argument of this name in both versions."""
    return zlib.crc32(name.encode())


def _is_like(leaf: Any, recorded: Array) -> bool:
    if struct(leaf) != recorded.aval:
        return False
    return recorded.values is None or same_bits(plain(leaf), recorded.values)
