"""Pairs of versions, each verified and observed in processes of its own, which are forked from one that has jax."""

import gc
import json
import os
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from scanify.verify.verdict import CaseResult
from tests.soundness.versions.pairs import Pair, pair
from tests.verify.in_turn import proved, request


@dataclass(frozen=True)
class Answer:
    """What verification says of a pair, and whether its versions were seen to differ where each ran alone (None: one
    of them raised), if they were `observed`.
    """

    pair: Pair
    proved: bool
    good: bool
    why: str
    differs: bool | None
    observed: bool


@dataclass(eq=False)
class Found:
    """Counts. `wrong` are pairs that differ and yet are good; `harness` those that the oracle sees otherwise than
    they were made.
    """

    pairs: int = 0
    equal: int = 0
    proved: int = 0
    tested: int = 0
    wrong: list[Answer] = field(default_factory=list)
    harness: list[Answer] = field(default_factory=list)
    reasons: dict[str, list[int]] = field(default_factory=dict)

    @property
    def commonest(self) -> list[tuple[str, list[int]]]:
        """Why equal pairs are not proved, each with the seeds of those pairs."""
        return sorted(self.reasons.items(), key=lambda reason: -len(reason[1]))

    def add(self, answer: Answer) -> None:
        made = answer.pair
        self.pairs += 1
        self.equal += made.equal
        otherwise = answer.differs is None or (answer.differs == made.equal and (made.equal or made.seen))
        if answer.observed and otherwise:
            self.harness.append(answer)
        if made.equal:
            self.proved += answer.proved
            self.tested += answer.good and not answer.proved
            if not answer.proved:
                self.reasons.setdefault(answer.why, []).append(made.seed)
        elif answer.good:
            self.wrong.append(answer)


def compared(first: int, pairs: int, jobs: int = 2, every: int = 1) -> Iterator[Answer]:
    """The answers to the pairs of these seeds, in order; of `every` so many, one is observed as well."""
    import scanify.verify.children.child
    import scanify.verify.compare.compare  # noqa: F401
    from tests.soundness.versions import observed  # noqa: F401

    gc.collect()
    gc.freeze()  # what is here is not written to by those that are forked
    running: list[tuple[Pair, Any, int]] = []
    for seed in range(first, first + pairs):
        made, folder = pair(seed), tempfile.TemporaryDirectory(prefix="scanify-pair-")
        for name, text in made.files().items():
            Path(folder.name, name).write_text(text)
        running.append((made, folder, _forked(_examining(folder.name, observed=seed % every == 0))))
        if len(running) >= jobs:
            yield _answer(*running.pop(0))
    for each in running:
        yield _answer(*each)


def _forked(act: Callable[[], None]) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of jax about threads: no backend has been started
        child = os.fork()
    if child == 0:
        try:
            silent = os.open(os.devnull, os.O_WRONLY)
            os.dup2(silent, 1)
            os.dup2(silent, 2)
            act()
        except BaseException:
            Path(f"/tmp/scanify-pair-{os.getpid()}.txt").write_text(traceback.format_exc())
        finally:
            os._exit(0)
    return child


def _examining(folder: str, *, observed: bool) -> Callable[[], None]:
    return lambda: _examine(Path(folder), observed=observed)


def _examine(folder: Path, *, observed: bool) -> None:
    """Three processes, one after the other, each with nothing of the others: both versions alone, and verification."""
    for name in ("one", "two") if observed else ():
        os.waitpid(_forked(lambda name=name: _observe(folder, name)), 0)
    if not observed:
        (folder / "unobserved").touch()
    from scanify.verify.children.child import respond

    lifeline, _ = os.pipe()
    (result, *_) = respond(request(folder), lifeline).results
    (folder / "result").write_text(json.dumps([proved(result), result.good, _why(result)]))


def _observe(folder: Path, name: str) -> None:
    from tests.soundness.versions.observed import observe

    (folder / f"{name}.seen").write_text(json.dumps(observe(folder, name)))


def _answer(made: Pair, folder: Any, child: int) -> Answer:
    os.waitpid(child, 0)
    with folder as name:
        sides = [_read(Path(name, f"{side}.seen")) for side in ("one", "two")]
        result = _read(Path(name, "result"))
        alone = not Path(name, "unobserved").is_file()
    differs = None if None in sides else _differ(*sides)
    if result is None:
        return Answer(made, False, False, "no answer", differs, alone)
    return Answer(made, *result, differs, alone)


def _read(path: Path) -> Any:
    return json.loads(path.read_text()) if path.is_file() else None


def _differ(one: Any, two: Any) -> bool:
    """Whether two versions show something else, but for the order in which numbers are added."""
    if one[1] != two[1] or len(one[0]) != len(two[0]):
        return True
    pairs = zip(one[0], two[0], strict=True)
    return any(np.shape(a) != np.shape(b) or not np.allclose(a, b, rtol=1e-4, atol=1e-5) for a, b in pairs)


def _why(result: CaseResult) -> str:
    """Why a case is not proved, in words that many share."""
    if result.error is not None:
        return f"error: {result.error.strip().splitlines()[-1][:110]}"
    named = [
        ("parameters", result.parameters),
        ("jvp", result.tangents),
        ("vmap", result.batched),
        ("keys", result.keys),
    ]
    for policy in result.policies:
        named = [("outputs", policy.outputs), ("gradients", policy.gradients), *named]
    for what, verdict in named:
        if verdict is not None and verdict.status.value != "PROVED":
            return f"{what} {verdict.status.value}: {verdict.reason[:110]}"
    return "; ".join(result.findings)[:110] or "proved"
