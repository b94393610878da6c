"""Try a draft in this process: build the model, trace its call, and check that the layer loop runs."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from scanify.propose.draft import Draft, Written
from scanify.verify.cases.build import build
from scanify.verify.cases.case import CaseSpec, check_returned
from scanify.verify.profile.hooks import lines_run

_LARGEST = 100_000_000


class Unsuitable(Exception):
    """A draft that runs but is not suitable as a case; the message says why."""


@dataclass(frozen=True)
class Wanted:
    """The bodies of loops in a file; a case must run a line of at least one. Without any, every case will do."""

    file: str
    spans: tuple[tuple[int, int], ...]

    def watched(self, lines: set[tuple[str, int]]) -> AbstractContextManager[set[tuple[str, int]]]:
        """Add lines of the file that run inside the `with` to `lines`."""
        return lines_run(lambda name: os.path.realpath(name) == self.file, lines)

    def missed(self, ran: set[tuple[str, int]]) -> tuple[int, ...]:
        """Return the first lines of the bodies that did not run."""
        lines = {line for _, line in ran}
        return tuple(first for first, last in self.spans if not any(first <= line <= last for line in lines))


@dataclass(frozen=True, eq=False)
class Trial:
    """Tries drafts with one module. Exceptions of user code are propagated, including SystemExit.

    `building` are the lines that the last constructor ran, since the layers of a `Sequential` are called there.
    """

    module: ModuleType
    wanted: Wanted
    building: set[tuple[str, int]] = field(default_factory=set)

    def model(self, draft: Draft) -> Any:
        """Build the model, without arrays if it can be built under tracing."""
        construct = self._function(draft, draft.construct_text(), "construct")
        self.building.clear()
        with self.wanted.watched(self.building):
            try:
                return eqx.filter_eval_shape(lambda: construct(self.module))
            except jax.errors.JAXTypeError:  # The constructor depends on values.
                return construct(self.module)

    def call(self, draft: Draft, made: Any) -> None:
        """Trace the call on the draft's arguments. Raises Unsuitable if it returns no floats or misses the loop."""
        model, state = made if draft.state else (made, None)
        make = self._function(draft, draft.arguments_text(), "arguments")
        given = {"state": state} if draft.state else {}
        # Traced too, since otherwise every shape that is tried would be compiled.
        args, kwargs = eqx.filter_eval_shape(lambda given: make(self.module, **given), given)
        target = model if draft.entry == "__call__" else getattr(model, draft.entry)
        self._traced(target, args, kwargs)

    def whole(self, draft: Draft | Written, spec: CaseSpec, *, abstract: bool, **given: Any) -> tuple[int, ...]:
        """Run the case as a verification would, with arrays unless `abstract`, and trace its call.

        Return the first lines of the loops' bodies that did not run. Raises Unsuitable if the project's own code builds
        different arrays each time, since versions of it cannot be compared.
        """
        function = self._function(draft, draft.text(), draft.function)
        self.building.clear()
        with self.wanted.watched(self.building):
            built = build(lambda: check_returned(function(self.module, **given), spec), abstract=abstract)
        if not abstract and (isinstance(draft, Written) or draft.prelude):
            again = build(lambda: check_returned(function(self.module, **given), spec), abstract=False)
            if not all(map(_same, built.arrays, again.arrays)):
                raise Unsuitable("it builds other arrays each time")
        if sum(math.prod(each.shape) for each in built.arrays) > _LARGEST:
            raise Unsuitable(f"its arrays have more than {_LARGEST:,} elements")
        return self._traced(*built.tree)

    def _function(self, draft: Draft | Written, text: str, name: str) -> Callable[..., Any]:
        space: dict[str, Any] = {"jax": jax, "jnp": jnp, "eqx": eqx, "__name__": "scanify_proposed_case"}
        exec(compile("\n".join(sorted(draft.imports)), "<imports of a proposed case>", "exec"), space)
        exec(compile(text, "<proposed case>", "exec"), space)
        function: Callable[..., Any] = space[name]
        return function

    def _traced(self, model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[int, ...]:
        with self.wanted.watched(set(self.building)) as ran:
            out = eqx.filter_eval_shape(lambda model, args, kwargs: model(*args, **kwargs), model, args, kwargs)
        leaves = [each for each in jax.tree.leaves(out) if hasattr(each, "dtype")]
        if not any(jnp.issubdtype(each.dtype, jnp.inexact) for each in leaves):
            raise Unsuitable("the call answers no array of floats, which has no gradient to compare")
        missed = self.wanted.missed(ran)
        if missed and len(missed) == len(self.wanted.spans):
            raise Unsuitable("the call does not run the loop")
        return missed


def _same(one: Any, other: Any) -> bool:
    """True if two arrays have the same bits, including keys."""

    def bits(each: Any) -> bytes:
        keys = jnp.issubdtype(each.dtype, jax.dtypes.prng_key)
        return np.asarray(jax.random.key_data(each) if keys else each).tobytes()

    return one.shape == other.shape and bits(one) == bits(other)
