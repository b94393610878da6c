"""Remat policies, in haliax's terms: what a scan over layers keeps for its backward pass.

After `haliax.ScanCheckpointPolicy` (stanford-crfm/haliax, src/haliax/_src/scan.py), which is not hashable; this one is,
so it can be a static field.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, Literal, TypeAlias

import jax
from jax.ad_checkpoint import Saveable, checkpoint_name

CARRY = "scanify.carry"
INPUT = "scanify.input"
HOST = "pinned_host"


def _names(field: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence) or not all(isinstance(one, str) for one in value):
        raise ValueError(f"ScanCheckpointPolicy: `{field}` is a sequence of names, not {value!r}")
    return tuple(value)


@dataclass(frozen=True, repr=False)
class ScanCheckpointPolicy:
    """The values that a scan over `N` layers keeps for its backward pass, and those it recomputes.

    With `C` bytes of carry, `I` bytes of values inside one layer and `F` operations a layer, forward:

    | policy                       | kept                | operations, with backward |
    |------------------------------|---------------------|---------------------------|
    | False                        | `N*C + N*I`         | `3*N*F`                   |
    | True, "full", "recompute"    | `N*C + I`           | `4*N*F`                   |
    | "nested"                     | `2*sqrt(N)*C + I`   | `5*N*F`                   |
    | "dots"                       | `N*C` + matrix products | between the first two |

    **Arguments:**

    - `save_carries`: keep the carry of every layer; "offload" keeps it in host memory. False keeps only the first one:
        the whole scan is run again when the backward pass begins.
    - `save_inputs`: "offload" copies the xs (parameters, per-layer arguments) to host memory, layer by layer. True and
        False are the same, since the inputs of a scan are alive anyway. The word "offload" leaves them on the device:
        copying the parameters, too, made a step of GPT-2's blocks 50 % slower on an H200, and saved no memory
        (docs/benchmarks/gpu.md).
    - `save_block_internals`: True keeps everything inside a layer; names keep the values with these names, set by
        `checkpoint_name`.
    - `offload_block_internals`: names that are kept in host memory.
    - `save_dots`: keep the results of matrix products that have no batch dimension, such as products with weights;
        attention scores are recomputed.
    - `prevent_cse`: see `jax.checkpoint`. False is right inside a scan, where XLA cannot undo the remat (jax#13999).
    - `disable`: keep everything, like a scan without remat.
    - `simple`: plain `jax.checkpoint` around a layer; the default does the same.
    - `nested`: a scan over chunks of layers, of which only the first carry is kept: True chooses the number of chunks
        from the sizes of carry and parameters, a number sets it.
    - `unrolled`: the Python loop without a scan or remat: see `ArrayStacked.unrolled`.

    Raises ValueError for combinations that contradict each other.
    """

    save_carries: bool | Literal["offload"] = True
    save_inputs: bool | Literal["offload"] = True
    save_block_internals: bool | tuple[str, ...] = False
    offload_block_internals: tuple[str, ...] = ()
    save_dots: bool = False
    prevent_cse: bool = False
    disable: bool = False
    simple: bool = False
    nested: bool | int = False
    unrolled: bool = False

    def __post_init__(self) -> None:
        internals = self.save_block_internals
        if not isinstance(internals, bool):
            object.__setattr__(self, "save_block_internals", _names("save_block_internals", internals) or False)
        object.__setattr__(
            self, "offload_block_internals", _names("offload_block_internals", self.offload_block_internals)
        )
        for field in ("save_carries", "save_inputs"):
            value = getattr(self, field)
            if not isinstance(value, bool) and value != "offload":
                raise ValueError(f'ScanCheckpointPolicy: `{field}` is True, False or "offload", not {value!r}')
        if not isinstance(self.nested, bool) and (not isinstance(self.nested, int) or self.nested < 1):
            raise ValueError(f"ScanCheckpointPolicy: `nested` is a bool or a number of chunks, not {self.nested!r}")
        self._refuse_contradictions()

    def _refuse_contradictions(self) -> None:
        keeps_all = self.save_block_internals is True
        chosen = bool(self.offload_block_internals) or self.save_dots
        offloads = "offload" in (self.save_carries, self.save_inputs)
        if keeps_all and (chosen or offloads):
            raise ValueError(
                "ScanCheckpointPolicy: `save_block_internals=True` keeps everything on the device, so nothing is left "
                "to offload or for `save_dots`; give the names to keep instead of True"
            )
        saved = () if isinstance(self.save_block_internals, bool) else self.save_block_internals
        both = sorted(set(saved) & set(self.offload_block_internals))
        if both:
            raise ValueError(
                f"ScanCheckpointPolicy: {both} cannot be both kept (`save_block_internals`) and kept in host memory "
                "(`offload_block_internals`)"
            )
        names = self.save_block_internals is not False or chosen
        if self.simple and (names or offloads):
            raise ValueError("ScanCheckpointPolicy: `simple` keeps carries alone; leave it out to choose what is kept")
        if self.disable and (names or offloads or self.nested or self.simple or not self.save_carries):
            raise ValueError("ScanCheckpointPolicy: `disable` keeps everything; leave it out to choose what is kept")

    def __repr__(self) -> str:
        """Show only the fields that are not the default, as source."""
        told = [field for field in fields(self) if getattr(self, field.name) != field.default]
        return f"ScanCheckpointPolicy({', '.join(f'{field.name}={getattr(self, field.name)!r}' for field in told)})"

    @classmethod
    def of(cls, policy: "RematPolicy | str") -> "ScanCheckpointPolicy":
        """Return the policy for a bool or a word. Raises ValueError for an unknown one, naming the known ones."""
        if isinstance(policy, ScanCheckpointPolicy):
            return policy
        if isinstance(policy, bool):
            return cls() if policy else cls(disable=True)
        if isinstance(policy, str) and policy in _WORDS:
            return _WORDS[policy]
        known = ", ".join(repr(word) for word in _WORDS)
        raise ValueError(f"expected a remat policy: True, False, {known} or a ScanCheckpointPolicy; got {policy!r}")

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of values inside a layer that it refers to."""
        saved = () if isinstance(self.save_block_internals, bool) else self.save_block_internals
        return (*saved, *self.offload_block_internals)

    @property
    def offloads(self) -> bool:
        """Return whether anything is kept in host memory."""
        return "offload" in (self.save_carries, self.save_inputs) or bool(self.offload_block_internals)

    @property
    def is_jax_policy(self) -> bool:
        """Return whether the policy is just `jax.checkpoint` with `jax_policy` around each layer."""
        keeps_all = self.disable or self.save_block_internals is True
        return not (keeps_all or self.offloads or self.names or self.nested) and self.save_carries is True

    @property
    def jax_policy(self) -> Any:
        """Return the policy argument for `jax.checkpoint`."""
        return _jax_policy(self)

    def checkpoint(self, body: Callable[[Any, Any], Any], *, straight: bool = False) -> Callable[[Any, Any], Any]:
        """Wrap `body(carry, x)` to keep for its backward pass what this policy selects.

        `straight`: XLA will see the body as straight-line code, not in a loop, and would undo the remat (jax#13999): a
        scan of one step loses its loop.

        The names are set inside the checkpointed function: the named value is kept, and the unnamed one is not needed
        any more.
        """
        # Keeping everything is not remat. `everything_saveable` rounds kept values with reduce_precision, which jax
        # 0.10 and 0.12 refuse for complex values (a Fourier layer's, say).
        if self.disable or self.save_block_internals is True:
            return body
        if self.offloads:
            _refuse_without_host_memory()

        def named(carry: Any, x: Any) -> Any:
            if self.save_carries == "offload":
                carry = tree_checkpoint_name(carry, CARRY)
            if self.save_inputs == "offload":
                x = tree_checkpoint_name(x, INPUT)
            return body(carry, x)

        rematted: Callable[[Any, Any], Any] = jax.checkpoint(
            named, policy=self.jax_policy, prevent_cse=self.prevent_cse or straight
        )
        return rematted


def _refuse_without_host_memory() -> None:
    device = jax.local_devices()[0]
    kinds = [memory.kind for memory in device.addressable_memories()]
    if HOST not in kinds:
        raise ValueError(
            f"the remat policy offloads to {HOST!r} memory, which {device.platform} devices do not have (they have "
            f"{', '.join(kinds)}); use the policy True or 'nested' here"
        )


@lru_cache
def _jax_policy(policy: ScanCheckpointPolicy) -> Any:
    """Return the policy of `jax.checkpoint`: the same function object for the same policy, so that caches hit."""
    policies = jax.checkpoint_policies
    internals = policy.save_block_internals
    saved = [] if isinstance(internals, bool) else list(internals)
    offloaded = list(policy.offload_block_internals)
    offloaded += [CARRY] if policy.save_carries == "offload" else []
    offloaded += [INPUT] if policy.save_inputs == "offload" else []
    by_name = None
    if offloaded:
        by_name = policies.save_and_offload_only_these_names(
            names_which_can_be_saved=saved,
            names_which_can_be_offloaded=offloaded,
            offload_src="device",
            offload_dst=HOST,
        )
    elif saved:
        by_name = policies.save_only_these_names(*saved)
    dots = policies.dots_with_no_batch_dims_saveable if policy.save_dots else None
    if by_name is not None and dots is not None:
        return _either(dots, by_name)
    return by_name or dots


def _either(dots: Callable[..., bool], by_name: Callable[..., Any]) -> Callable[..., Any]:
    """Combine two policies; `save_from_both_policies` only takes policies that return a bool."""

    def keep(prim: Any, *args: Any, **params: Any) -> Any:
        return Saveable if dots(prim, *args, **params) else by_name(prim, *args, **params)

    return keep


UNROLLED = ScanCheckpointPolicy(unrolled=True)

RematWord: TypeAlias = Literal["full", "recompute", "nested", "offload", "save_all", "dots"]
RematPolicy: TypeAlias = bool | RematWord | ScanCheckpointPolicy

_WORDS = {
    "full": ScanCheckpointPolicy(),
    "recompute": ScanCheckpointPolicy(),
    "nested": ScanCheckpointPolicy(nested=True),
    "offload": ScanCheckpointPolicy(save_carries="offload"),
    "save_all": ScanCheckpointPolicy(save_block_internals=True),
    "dots": ScanCheckpointPolicy(save_dots=True),
}


def tree_checkpoint_name(tree: Any, name: str) -> Any:
    """Give every array leaf of a pytree a name that policies can refer to (`jax.ad_checkpoint.checkpoint_name`)."""
    return jax.tree.map(lambda leaf: checkpoint_name(leaf, name) if isinstance(leaf, jax.Array) else leaf, tree)


_UNROLL = "SCANIFY_UNROLL"
# The value of an open `remat_policy_override`, in a tuple: with None each stack has its own policy.
_OVERRIDE: ContextVar[tuple[ScanCheckpointPolicy | None] | None] = ContextVar("scanify_remat_policy", default=None)


@contextmanager
def remat_policy_override(policy: RematPolicy | str | None) -> Iterator[None]:
    """While this context is open, every stack that is traced uses `policy` instead of its own `gradient_checkpointing`.

    For comparing policies without building the model again. With None each stack uses its own policy, whatever the
    environment variable `SCANIFY_UNROLL` is. It acts when a function is traced: one that `jax.jit` has traced before
    keeps the policy it was traced with.
    """
    token = _OVERRIDE.set((None if policy is None else ScanCheckpointPolicy.of(policy),))
    try:
        yield
    finally:
        _OVERRIDE.reset(token)


def effective_policy(policy: RematPolicy) -> ScanCheckpointPolicy:
    """Return the policy to trace with: of an open `remat_policy_override`, else of `SCANIFY_UNROLL`, else its own."""
    override = _OVERRIDE.get()
    if override is None:
        override = (UNROLLED if os.environ.get(_UNROLL, "") not in ("", "0") else None,)
    return override[0] or ScanCheckpointPolicy.of(policy)
