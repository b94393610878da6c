"""Compile both versions of a case for a mesh: the memory of each on a device, and their communication.

Nothing is allocated or run: parameters and arguments are shapes with shardings. The devices are virtual ones of the
CPU: XLA partitions a program for them as for others, but each backend may then change collectives in its own way.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import jaxpr_as_fun
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from scanify.errors import ScanifyError
from scanify.verify.cases.build import Built, Case, build
from scanify.verify.children.telling import tell
from scanify.verify.leaves.correspond import Mismatch
from scanify.verify.linen.align import aligned
from scanify.verify.mesh.axes import Axes, device_count
from scanify.verify.mesh.hlo import exchanged
from scanify.verify.mesh.on_mesh import LOOP, SCAN, OnMesh, Partitioned
from scanify.verify.mesh.shardings import lifted, specs
from scanify.verify.programs.flat import flat_outputs
from scanify.verify.programs.pair import Pair, pair
from scanify.verify.programs.policy import policy_name, policy_of
from scanify.verify.programs.trace import Policy, Version, under
from scanify.verify.values.arrays import is_inexact, struct
from scanify.verify.verdict import CaseResult


def partitioned_case(
    name: str, before: Case, after: Case, *, policies: Sequence[Policy], mesh: Axes, **unused: Any
) -> CaseResult:
    """Return the costs of both versions on the mesh, the rewritten one under each of `policies`.

    A comparer for `scanify.verify.run.verify` that gives figures and no verdict. Raises ScanifyError if the versions do
    not match, or if the case does not give the shardings of arrays.
    """
    with jax.set_mesh(_mesh(mesh)):
        return CaseResult(name, on_mesh=_Case(name, before, after, policies, mesh).run())


def _mesh(axes: Axes) -> Mesh:
    count = len(jax.devices())
    if count != device_count(axes):
        raise ScanifyError(
            f"the mesh needs {device_count(axes)} virtual devices and jax has {count}: something has set XLA_FLAGS or "
            "jax_num_cpu_devices, or made jax look for devices, before the case was run"
        )
    names, sizes = zip(*axes, strict=True)
    return jax.make_mesh(sizes, names, axis_types=(AxisType.Auto,) * len(axes))


@dataclass(eq=False)
class _Case:
    """The steps of one comparison."""

    name: str
    before: Case
    after: Case
    policies: Sequence[Policy]
    axes: Axes
    notes: list[str] = field(default_factory=list)
    known: dict[str, Partitioned] = field(default_factory=dict)

    def run(self) -> OnMesh:
        tell("build")
        first, second = self.built(self.before), self.built(self.after)
        loop = aligned(self.before, first, second, abstract=first.constructor is not None)
        both = loop if isinstance(loop, Mismatch) else pair(loop, second)
        if isinstance(both, Mismatch):
            raise ScanifyError(f"{self.name}: the models have different structures: {both}")
        assert not isinstance(loop, Mismatch)
        mesh = jax.sharding.get_mesh()
        rule = getattr(self.before, "shardings", None)
        found = specs(rule, both.found.names, both.avals, mesh)
        pipeline, names = getattr(self.before, "pipeline", None), both.found.names
        own = [lifted(found, each.recipes, names, mesh, pipeline) for each in (both.before, both.after)]
        programs = (
            *self.constructor(loop, LOOP, both.before, own[0]),
            *self.constructor(second, SCAN, both.after, own[1]),
            *self.version(both, both.before, LOOP, None, own[0]),
        )
        for policy in self.policies:
            programs += tuple(self.version(both, both.after, policy_name(policy), policy_of(policy), own[1]))
        order = {"constructor": 0, "call": 1, "gradient": 2}
        return OnMesh(self.axes, tuple(sorted(programs, key=lambda each: order[each.program])), tuple(self.notes))

    def built(self, case: Case) -> Built:
        """Build the model without weights; with them if its constructor cannot be traced, which is noted."""
        try:
            return build(case, abstract=True)
        except ScanifyError:
            raise
        except Exception as error:
            note = f"no constructor: it cannot be traced: {_said(error)}"
            if note not in self.notes:
                self.notes.append(note)
            return build(case, abstract=False)

    def constructor(
        self, built: Built, version: str, program: Version, own: Sequence[NamedSharding]
    ) -> Iterator[Partitioned]:
        """Compile the jitted constructor, which creates each parameter in its place."""
        if built.constructor is None:
            return
        made, count = built.constructor, _parameters(built)
        if not count:
            return

        def construct() -> list[Any]:
            return list(jaxpr_as_fun(made)())[:count]

        with under(None, program):
            yield self.compiled("constructor", version, jax.jit(construct, out_shardings=list(own[:count])))

    def version(
        self, both: Pair, program: Version, name: str, policy: Policy, own: Sequence[NamedSharding]
    ) -> Iterator[Partitioned]:
        """Compile the call, and its gradient."""
        shapes = jax.eval_shape(lambda leaves: program.own(leaves), list(both.avals))
        given = [_placed(shape, sharding) for shape, sharding in zip(shapes, own, strict=True)]
        at = [
            i
            for i, recipe in enumerate(program.recipes)
            if is_inexact(given[i]) and recipe.sources[0] not in both.inputs
        ]
        with under(policy, program):
            yield self.compiled("call", name, jax.jit(_call(program)), given)
            if not at:
                return
            moved, rest = [given[i] for i in at], [None if i in at else each for i, each in enumerate(given)]
            where = (NamedSharding(jax.sharding.get_mesh(), PartitionSpec()), [own[i] for i in at])
            gradient = jax.jit(jax.value_and_grad(_loss(program, at)), out_shardings=where)
            try:
                yield self.compiled("gradient", name, gradient, moved, rest)
            except Exception as error:  # the call may not support differentiation
                self.notes.append(f"no gradient of {name}: {_said(error)}")

    def compiled(self, program: str, version: str, function: Any, *given: Any) -> Partitioned:
        tell(f"compiling the {program} of {version} for {device_count(self.axes)} devices")
        lowered = function.trace(*given).lower()
        digest = hashlib.sha256(lowered.as_text().encode()).hexdigest()
        if digest not in self.known:
            executable = lowered.compile()
            self.known[digest] = _figures(executable)
        return replace(self.known[digest], program=program, version=version)


def _figures(executable: Any) -> Partitioned:
    """Return the figures of a compiled program that has no name yet."""
    memory, moved = executable.memory_analysis(), exchanged(executable.as_text())
    if memory is None:
        return Partitioned("", "", None, None, None, moved.collectives, moved.unknown_turns)
    argument, output, temp = (int(getattr(memory, f"{each}_size_in_bytes")) for each in ("argument", "output", "temp"))
    return Partitioned("", "", argument, output, temp, moved.collectives, moved.unknown_turns)


def _parameters(built: Built) -> int:
    """Count the model's arrays; the rest are arguments of the call."""
    return len(Built((built.tree[0], (), {})).arrays)


def _placed(aval: Any, sharding: NamedSharding) -> jax.ShapeDtypeStruct:
    plain = struct(aval)
    return jax.ShapeDtypeStruct(plain.shape, plain.dtype, weak_type=plain.weak_type, sharding=sharding)


def _call(program: Version) -> Callable[[list[Any]], list[Any]]:
    def call(leaves: list[Any]) -> list[Any]:
        return list(flat_outputs(program.call(leaves))[0])

    return call


def _loss(program: Version, at: Sequence[int]) -> Callable[[list[Any], list[Any]], Any]:
    """Return half the sum of the squares of all outputs: a loss whose cotangents are sharded like the outputs."""

    def loss(moved: list[Any], rest: list[Any]) -> Any:
        leaves = list(rest)
        for i, leaf in zip(at, moved, strict=True):
            leaves[i] = leaf
        outputs = [each for each in flat_outputs(program.call(leaves))[0] if is_inexact(each)]
        return sum((_half_square(each) for each in outputs), jnp.float32(0))

    return loss


def _half_square(array: Any) -> Any:
    return 0.5 * jnp.sum(jnp.real(array * jnp.conj(array)).astype(jnp.float32))


def _said(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}"
