"""One case from import to verdicts, in the child process."""

from __future__ import annotations

import importlib
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from scanify.errors import ScanifyError
from scanify.verify.cases.case import CaseError, find_function
from scanify.verify.cases.elsewhere import taken_elsewhere
from scanify.verify.cases.failure import user_frames
from scanify.verify.cases.iterations import watched_loops
from scanify.verify.cases.looked_at import taken_from, watch
from scanify.verify.cases.sweep import Arguments, find_sweep, shown
from scanify.verify.certificate.write import Certificate
from scanify.verify.children.alone import Alone
from scanify.verify.children.case_build import CaseBuild, told_of
from scanify.verify.children.telling import tell
from scanify.verify.linen.model import with_variables
from scanify.verify.linen.streams import Streams
from scanify.verify.mesh.devices import virtual_devices
from scanify.verify.objects.statics import users_modules
from scanify.verify.request import Request
from scanify.verify.verdict import CaseResult
from scanify.verify.versions.loaded import Version
from scanify.verify.versions.settings import Settings, recorded
from scanify.verify.versions.versions import overlay_of, target_of

Variant = tuple[tuple[str, str], ...]
_COUNTING = ("compare_case", "reached_case")  # comparers that count the iterations of loops


def message_of(error: BaseException) -> str:
    if isinstance(error, CaseError | ScanifyError):
        return str(error)
    place = traceback.extract_tb(error.__traceback__)[-1]
    return (
        f"internal error of scanify while it compared the two versions: {type(error).__name__}: {error} "
        f"({Path(place.filename).name}:{place.lineno}); this is a defect of scanify, please report it"
    )


@dataclass(frozen=True, eq=False)
class _Loaded:
    """One version's module, its case and its file, and the arguments of the case's variants.

    `closure` are the files loaded by importing the module alone.
    """

    version: Version
    module: ModuleType
    cases: ModuleType
    function: Callable[..., object]
    sweep: tuple[Arguments, ...]
    closure: frozenset[str]


class CaseProcess:
    """One case from import to verdicts."""

    def __init__(self, request: Request, lifeline: int | None = None) -> None:
        self.request = request
        self.lifeline = lifeline
        self.alone: Any = None
        self.seconds: list[tuple[str, float]] = []
        self.notes: tuple[str, ...] = ()
        self.overlay = overlay_of(request)

    def results_or_error(self) -> tuple[CaseResult, ...]:
        try:
            return tuple(self.results())
        except BaseException as error:
            return (CaseResult(self.request.case.text, error=message_of(error)),)

    def results(self) -> Iterator[CaseResult]:
        """Yield one result for each variant of the case. The time to load the case is part of the first."""
        compare = self._timed("import jax", self._comparer)
        if self.lifeline is not None and compare.__name__ == "compare_case":
            self.alone = Alone(self._load_alone, abstract=self.request.abstract, lifeline=self.lifeline)
        settings = Settings(self.overlay.version_of)
        with self.overlay, users_modules(self.overlay.is_users), recorded(settings):
            for at, (variant, before, after) in enumerate(self.pairs(settings)):
                if self.alone is not None:
                    self.alone.variant(at)
                with self._certified(variant) as certificate:
                    result = self._variant(compare, before, after, settings, certificate)
                    certificate["good"] = result.good
                seconds = (*(() if at else self.seconds), *result.seconds)
                notes = (*result.notes, *self.notes)
                yield replace(result, case=self.request.case.text, variant=variant, seconds=seconds, notes=notes)

    def pairs(self, settings: Settings) -> Iterator[tuple[Variant, CaseBuild, CaseBuild]]:
        """Load both versions; yield each variant of the case, in words, with its builds in both."""
        before = self._timed("load original", lambda: self._load(self.overlay.original))
        settings.undo(self.overlay.original)
        after = self._timed("load rewritten", lambda: self._load(self.overlay.rewritten))
        self._check_settings(settings)
        if len(before.sweep) != len(after.sweep):
            text, name = self.request.case.text, f"{self.request.case.function}.sweep"
            raise CaseError(f"{text}: {name} must not depend on the module, but its length differs between the two")
        for at, arguments in enumerate(before.sweep):
            variant = shown(before.function, before.sweep, arguments)
            yield variant, self._build(before, at), self._build(after, at)

    @contextmanager
    def _certified(self, variant: tuple[tuple[str, str], ...]) -> Iterator[dict[str, Any]]:
        """Give the comparer a certificate to add its proofs to; it is written if the result is `good`."""
        given: dict[str, Any] = {}
        if self.request.certificates is None:
            yield given
            return
        given["certificate"] = Certificate(" ".join([self.request.case.text, *(f"{k}={v}" for k, v in variant)]))
        yield given
        if given["good"]:
            self._timed("certificate", lambda: given["certificate"].write(self.request.certificates))

    def _load_alone(self, name: str) -> Callable[[int], CaseBuild]:
        """Load one version in a process of its own, which then keeps it."""
        version = self.overlay.original if name == self.overlay.original.name else self.overlay.rewritten
        self.overlay.__enter__()
        users_modules(self.overlay.is_users).__enter__()
        loaded = self._load(version)
        return lambda variant: self._build(loaded, variant)

    def _build(self, loaded: _Loaded, at: int) -> CaseBuild:
        arguments = loaded.sweep[at]
        version, module, function = loaded.version, loaded.module, loaded.function
        return CaseBuild(
            self.request.case, self.overlay, version, module, function, arguments, loaded.cases, loaded.closure
        )

    def _variant(
        self,
        compare: Callable[..., CaseResult],
        before: CaseBuild,
        after: CaseBuild,
        settings: Settings,
        more: dict[str, Any],
    ) -> CaseResult:
        try:
            result = self._compared(compare, before, after, more)
            if before.called and after.called:
                self._check_settings(settings)
                self.check_apart(before, after)
            return result
        except BaseException as error:
            return CaseResult(self.request.case.text, error=message_of(error), loops=before.loops)

    def _check_settings(self, settings: Settings) -> None:
        odd = settings.difference(self.overlay.original, self.overlay.rewritten)
        if odd is not None:
            raise CaseError(
                f"{self.request.case.text}: {odd}, so the two versions cannot be compared in one process; set it "
                "in the case file, which is loaded for both, or in neither"
            )

    def check_apart(self, before: CaseBuild, after: CaseBuild) -> None:
        """Raise CaseError if a version was compared with itself."""
        self._check_taken(before, after)
        self._check_models(before, after)

    def _check_taken(self, before: CaseBuild, after: CaseBuild) -> None:
        original, rewritten = self.request.target, self.request.rewritten_target
        if rewritten in (None, original):
            return
        assert rewritten is not None
        text = self.request.case.text
        for build, own, other in ((before, original, rewritten), (after, rewritten, original)):
            model = None if build.returned is None else build.returned[0]
            files = own, other, self.request.case.path
            how = taken_elsewhere(build.version, build.module, *files, build.closure, model)
            if how is not None:
                raise CaseError(
                    f"{text} {how} where it is given {own.name}, so that a version would be compared with itself; take "
                    "the model from the module that the case is given"
                )
        if not taken_from(after.module) and os.fspath(original) in self.overlay.rewritten.read:
            raise CaseError(
                f"{text} took nothing from {Path(str(after.module.__file__)).name}, so that "
                f"{original.name} would be compared with itself; take the model from the module that the case is given"
            )

    def _check_models(self, before: CaseBuild, after: CaseBuild) -> None:
        if before.returned is not None and after.returned is not None and before.returned[0] is after.returned[0]:
            raise CaseError(
                f"{self.request.case.text} gives the same model object for both versions: something outside of the "
                "project keeps it; build it in the case"
            )

    def _timed(self, step: str, action: Callable[[], Any]) -> Any:
        tell(step)
        started = time.perf_counter()
        done = action()
        self.seconds.append((step, time.perf_counter() - started))
        return done

    def _comparer(self) -> Callable[..., CaseResult]:
        if self.request.mesh:
            virtual_devices(self.request.mesh)
        for library in ("jax", "equinox"):  # before the user's directories, with their `profile.py`, are on the path
            try:
                importlib.import_module(library)
            except Exception as error:
                said = f"{type(error).__name__}: {error}"
                raise CaseError(f"{library} is installed but does not import in {sys.executable}: {said}") from None
        module, _, name = self.request.comparer.partition(":")
        found: Callable[..., CaseResult] = getattr(importlib.import_module(module), name)
        return found

    def _load(self, version: Version) -> _Loaded:
        request, target = self.request, target_of(self.request, version)
        module = self._imported(target, version, f"the {version.name} {target.name} does not import")
        closure = frozenset(version.read)
        if version is self.overlay.rewritten:
            watch(module)
        with_what = f" with the rewritten {target.name}" if version is self.overlay.rewritten else ""
        cases = self._imported(request.case.path, version, f"{request.case.path.name} does not import{with_what}")
        with self.overlay.active(version):
            function = find_function(cases, request.case)
            return _Loaded(version, module, cases, function, find_sweep(function, request.case), closure)

    def _imported(self, path: Path, version: Version, failing: str) -> ModuleType:
        try:
            return self.overlay.load(path, version)
        except BaseException as error:
            raise told_of(error, failing, self.overlay) from None

    def _compared(
        self, compare: Callable[..., CaseResult], before: CaseBuild, after: CaseBuild, more: dict[str, Any]
    ) -> CaseResult:
        request = self.request
        try:
            result = compare(
                request.case.text,
                before,
                after,
                policies=request.policies,
                requested=request.requested,
                abstract=request.abstract,
                measure=request.measure,
                files=self.overlay.files,
                **({} if self.alone is None else {"witness": self.alone}),
                **({"execute": True} if request.execute else {}),
                **({"mesh": request.mesh} if request.mesh else {}),
                **({"paced": request.paced} if request.paced else {}),
                **({"steps": request.steps} if request.steps else {}),
                **({"loops": watched_loops(request)} if compare.__name__ in _COUNTING else {}),
                **more,
            )
        except (CaseError, ScanifyError):
            raise
        except BaseException as error:
            told = after.told if error is after.raised else None
            raise (before.error or after.error or told or self._blamed(error, before, after) or error) from None
        failed = before.error or after.error
        if failed is not None:
            raise failed
        return result

    def _blamed(self, error: BaseException, before: CaseBuild, after: CaseBuild) -> CaseError | None:
        """Return the error of the version whose model raised `error`; None if it is scanify's own."""
        for frame in reversed(user_frames(error, self.overlay.files)):
            version = self.overlay.version_of(frame)
            if version is not None:
                return self._raised(error, version)
        for build in (before, after):  # no line of the user's is involved, as in a library's own layer
            told = self._called(build)
            if told is not None:
                return told
        return None

    def _called(self, build: CaseBuild) -> CaseError | None:
        import equinox as eqx

        try:
            model, args, kwargs = with_variables(build(), Streams())
            eqx.filter_eval_shape(lambda model, args, kwargs: model(*args, **kwargs), model, args, kwargs)
        except BaseException as error:
            if error is build.raised or build.error is not None:
                return build.error or build.told
            return self._raised(error, build.version)
        return None

    def _raised(self, error: BaseException, version: Version) -> CaseError:
        return told_of(error, f"{self.request.case.text}: the {version.name} model raised when called", self.overlay)
