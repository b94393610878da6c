"""Random streams of Linen: the streams that a call uses, and calls with the stream names of a scan.

Linen makes the key of a stream by folding the path of the module and a count into its key, and `nn.scan` splits that
key, one for each layer. So a loop and a scan never draw the same numbers. They can be compared if each layer of the
loop gets the stream of the scan: stream ("layer_3", "Dropout_0", 1) of a key is ("layers", "Dropout_0", 1) of the
fourth key that it is split into. That is a renaming as long as distinct streams stay distinct, which is checked in
every call.
"""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np

from scanify.errors import ScanifyError
from scanify.verify.linen.renaming import Path, Renaming, Step, names_of

Counts = Mapping[tuple[str, Path], int]


@dataclass(frozen=True)
class Streams:
    """A renaming of streams.

    `ahead` says by how much the counts of a stream are ahead in the scan, in the call and in `init`: Linen traces
    scanned code more than once, and continues counting.
    """

    renaming: Renaming = field(default_factory=Renaming)
    call: tuple[tuple[tuple[str, Path], int], ...] = ()
    init: tuple[tuple[tuple[str, Path], int], ...] = ()


@dataclass(frozen=True)
class Use:
    """One use of a stream: `stream` is its name (dropout), `module` and `count` identify it in the scan, `rows` its
    layers. `before` and `after` are folded into a key, without and with the renaming; `roots` are the modules that made
    this key, () for the key of the call."""

    stream: str
    module: Path
    count: int
    rows: tuple[int, ...]
    before: tuple[Any, ...]
    after: tuple[Any, ...]
    roots: tuple[Path, Path] = ((), ())


@contextmanager
def renamed(renaming: Renaming, ahead: Counts) -> Iterator[list[Use]]:
    """Rename Linen's random streams in this context, and append every use of one to the yielded list.

    Raises ScanifyError if this Flax makes its keys differently, or if two streams would become one, or one two.
    """
    scope, lazy = _hooks()
    push, make, as_key = scope.push, scope.make_rng, lazy.as_jax_rng
    uses: list[Use] = []
    asked: list[tuple[Any, str]] = []
    split = _Splits()

    def pushed(self: Any, *args: Any, **kwargs: Any) -> Any:
        made = push(self, *args, **kwargs)
        step = renaming.step(tuple(made.path))
        made.rngs = {
            name: lazy(split.row(rng.rng, step, made), (*rng.suffix, *step.names)) for name, rng in self.rngs.items()
        }
        return made

    def drawn(self: Any, name: str = "params") -> Any:
        asked.append((self, name if self.has_rng(name) else "params"))
        try:
            return make(self, name)
        finally:
            asked.pop()

    def key(self: Any) -> Any:
        use = _use(renaming, ahead, *asked[-1], self.suffix)
        uses.append(use)
        return as_key(lazy(self.rng, use.after))

    scope.push, scope.make_rng, lazy.as_jax_rng = pushed, drawn, key
    try:
        yield uses
    finally:
        scope.push, scope.make_rng, lazy.as_jax_rng = push, make, as_key
    check_one_to_one(uses)


def _use(renaming: Renaming, ahead: Counts, scope: Any, stream: str, suffix: tuple[Any, ...]) -> Use:
    """Return the use of a stream in a scope; `suffix` is what Linen would fold into the key, with the new names."""
    path, count = tuple(scope.path), suffix[-1]
    steps = renaming.steps(path)
    module = names_of(steps)
    anew = len(module) + 1 - len(suffix)  # a jitted module makes new keys
    at = next(at for at in range(len(path) + 1) if len(names_of(steps[:at])) >= anew)
    rows = tuple(step.index for step in steps if step.lead)
    after = (*suffix[:-1], count + (ahead.get((stream, module), 0) if rows else 0))
    return Use(stream, module, count, rows, (*path[at:], count), after, (path[:at], module[:anew]))


def _hooks() -> tuple[Any, Any]:
    """Return the two classes of Flax that make keys."""
    module = importlib.import_module("flax.core.scope")
    scope, lazy = getattr(module, "Scope", None), getattr(module, "LazyRng", None)
    known = {"rng", "suffix"} <= set(getattr(lazy, "__dataclass_fields__", ()))
    if not (known and hasattr(scope, "push") and hasattr(scope, "make_rng") and hasattr(lazy, "as_jax_rng")):
        version = getattr(importlib.import_module("flax"), "__version__", "?")
        raise ScanifyError(
            "expected the random streams of Flax to be made by flax.core.scope.Scope.push and LazyRng, as in 0.12; "
            f"flax {version} makes them otherwise, so a loop and a scan of Linen cannot be compared with it"
        )
    return scope, lazy


class _Splits:
    """Keys that are split for the layers of a family: each key once in each trace."""

    def __init__(self) -> None:
        self.known: dict[Any, tuple[Any, Any]] = {}

    def row(self, key: Any, step: Step, scope: Any) -> Any:
        """Return the key of a layer; other modules use the enclosing key."""
        at = np.unravel_index(step.index, step.lead) if step.lead else ()
        for size, index in zip(step.lead, at, strict=True):
            key = self.split(key, size, scope)[int(index)]
        return key

    def split(self, key: Any, size: int, scope: Any) -> Any:
        where = id(key), size, id(scope.trace_level)
        if where not in self.known:
            copied = jax.random.clone(key) if hasattr(jax.random, "clone") else key
            self.known[where] = (key, scope.trace_level), jax.random.split(copied, size)
        return self.known[where][1]


def check_one_to_one(uses: list[Use]) -> None:
    """Raise ScanifyError if two streams that the call uses have become one, or one has become two.

    Streams are identified by their names and by the hash that is folded into a key, which two paths may share.
    """
    old: dict[Any, Any] = {}
    new: dict[Any, Any] = {}
    for use in uses:
        before = use.stream, use.roots[0], _folded(use.before)
        after = use.stream, use.roots[1], use.rows, _folded(use.after)
        if old.setdefault(before, after) != after or new.setdefault(after, before) != before:
            raise ScanifyError(
                f"the random stream {_text(use.before)} of the loop would be {_text(use.after)} in the scan, which is "
                "no renaming: another stream that the loop uses has the same name there, or this one has two; so "
                "nothing is shown of what is drawn from them"
            )


def _folded(suffix: tuple[Any, ...]) -> bytes:
    """Return the bytes that Linen folds into a key."""
    digest = hashlib.sha1(usedforsecurity=False)
    apart = bool(getattr(importlib.import_module("flax").config, "flax_fix_rng_separator", False))
    for part in suffix:
        digest.update(b"\0" if apart else b"")
        if isinstance(part, int):
            digest.update(part.to_bytes((part.bit_length() + 7) // 8, byteorder="big"))
        else:
            digest.update(str(part).encode())
    return digest.digest()[:4] if suffix else b""


def _text(suffix: tuple[Any, ...]) -> str:
    return "/".join(map(str, suffix)) or "of the key itself"


def counts(uses: Sequence[Use]) -> dict[tuple[str, Path], int]:
    """Return the maximal count of each stream in each module, as Linen counts."""
    found: dict[tuple[str, Path], int] = {}
    for use in uses:
        key = use.stream, use.module
        found[key] = max(found.get(key, 0), use.count)
    return found
