"""One version's case, ready to be called: with the version's module and the arguments of one variant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

from scanify.verify.cases.case import CaseError, CaseSpec, check_returned
from scanify.verify.cases.failure import describe
from scanify.verify.cases.other_keys import moved_in, other_keys
from scanify.verify.cases.sweep import Arguments
from scanify.verify.training.step import optimizer_of
from scanify.verify.verdict import LoopRun
from scanify.verify.versions.loaded import Version
from scanify.verify.versions.overlay import Overlay


@dataclass(eq=False)
class CaseBuild:
    """Calls one version's case, with the arguments of one variant of it.

    An error that ends the comparison is kept in `error`, whoever catches the exception. An exception that only the
    rewritten version raises does not end it, it is a verdict for the comparer; `raised` and `told` are for when the
    comparer passes it on. `loops` are the loops that the call is known to run.
    """

    spec: CaseSpec
    overlay: Overlay
    version: Version
    module: ModuleType
    function: Callable[..., object]
    arguments: Arguments
    cases: ModuleType
    closure: frozenset[str]
    error: CaseError | None = None
    raised: BaseException | None = None
    told: CaseError | None = None
    called: bool = False
    returned: Any = None
    loops: tuple[LoopRun, ...] = ()

    @property
    def mapping(self) -> object:
        """Return the case's mapping of parameters (`scanify.verify.cases.mapping`); None if it has none."""
        return getattr(self.function, "mapping", None)

    @property
    def optimizer(self) -> Any:
        """Return the optimizer of the case; None if it has none."""
        return optimizer_of(getattr(self.function, "optimizer", None), self.module)

    @property
    def loss(self) -> Any:
        """Return the case's loss, a function of output and arguments (`scanify.verify.training.train`), or None."""
        return getattr(self.function, "loss", None)

    @property
    def shardings(self) -> Any:
        """Return the case's rule for shardings on a mesh (`scanify.verify.mesh.shardings`), or None."""
        return getattr(self.function, "shardings", None)

    @property
    def pipeline(self) -> Any:
        """Return the mesh axis over which the layers of stacks are split; None if unset."""
        return getattr(self.function, "pipeline", None)

    def __call__(self) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
        self.called = True
        try:
            with self.overlay.active(self.version):
                returned = self.function(self.module, **self.arguments)
            found = check_returned(returned, self.spec)
            self.returned = found
            return found
        except CaseError as error:
            self.error = self.error or error
            raise
        except BaseException as error:
            doing = f"{self.spec.text} failed with the {self.version.name} {Path(str(self.module.__file__)).name}"
            self.raised, self.told = error, told_of(error, doing, self.overlay)
            if self.version is self.overlay.rewritten and isinstance(error, Exception):
                raise
            self.error = self.error or self.told
            raise self.error from None

    def with_other_keys(self, keys: Any) -> tuple[Any, tuple[Any, ...], dict[str, Any]] | None:
        """Return the result of the case with other `keys` (`scanify.verify.cases.other_keys.Keys`) than its own; None
        if it makes none."""
        arguments, given = moved_in(self.arguments, keys)
        with other_keys(vars(self.cases), self._is_models, keys) as made, self.overlay.active(self.version):
            returned = check_returned(self.function(self.module, **arguments), self.spec)
        return returned if made.any or given else None

    def _is_models(self, frame: FrameType) -> bool:
        file = frame.f_globals.get("__file__")
        return isinstance(file, str) and file in self.closure


def told_of(error: BaseException, failing: str, overlay: Overlay) -> CaseError:
    """Convert an error of the user's code for the author of the case: the failed step, and the user's lines."""
    if isinstance(error, CaseError):
        return error
    ended = ", as it calls sys.exit" if isinstance(error, SystemExit) else ""
    return CaseError(f"{failing}{ended}:\n{describe(error, overlay.files)}")
