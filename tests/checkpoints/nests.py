"""Models made at random of stacks, ensembles and both in one another, converted and read back bit for bit.

`python -m tests.checkpoints.nests --count 500`: each is built with lists of layers and with stacks; what is converted or
loaded of one must be the other.
"""

import argparse
import contextlib
import dataclasses
import random
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from scanify.checkpoints.convert import convert_leaves, convert_names
from scanify.checkpoints.names import Prefix
from scanify.errors import ScanifyError
from scanify.nn import ArrayStacked, BlockSeq, from_state_dict, load_unstacked, members_first, to_state_dict
from scanify.nn.members_first import with_known_axes
from scanify.verify.leaves.correspond import Correspondence, Recipe, correspond
from scanify.verify.leaves.unknown_axes import unknown_axes

DTYPES = ("float32", "float32", "bfloat16", "float16", "int8", "uint32", "bool")
MAPS = ("filter_vmap", "filter_vmap", "lax.map", "jax.vmap")
Kind = Callable[[list[Any]], Any]


class Module(eqx.Module):
    arrays: list[jax.Array]
    scale: float
    count: int
    held: dict[str, Any]


@dataclass(frozen=True)
class Nest:
    """A module: the shapes and dtypes of its arrays, and what it holds by name."""

    arrays: tuple[tuple[tuple[int, ...], str], ...]
    held: dict[str, "Layers | Members"] = field(default_factory=dict)

    def build(self, make: "Make") -> Module:
        arrays = [make.array(at, *kind) for at, kind in enumerate(self.arrays)]
        return Module(arrays, 0.5, 3, {name: part.build(make.at(name)) for name, part in self.held.items()})

    def __str__(self) -> str:
        return f"({', '.join(f'{name}={part}' for name, part in self.held.items())})"


@dataclass(frozen=True)
class Layers:
    """Layers one after another, of one kind or by turns of several."""

    count: int
    kinds: tuple[Nest, ...]
    stack: Kind

    def build(self, make: "Make") -> Any:
        layers = [self.kinds[at % len(self.kinds)].build(make.at(at)) for at in range(self.count)]
        return self.stack(layers) if make.stacked else layers

    def __str__(self) -> str:
        return f"{self.stack.__qualname__.split('.')[0]} {self.count} x {' | '.join(map(str, self.kinds))}"


@dataclass(frozen=True)
class Members:
    """An ensemble: a module whose constructor is mapped."""

    count: int
    nest: Nest
    how: str
    axis: int = 0

    def build(self, make: "Make") -> Any:
        if make.values:
            members = [self.nest.build(make.at(at)) for at in range(self.count)]
            found = [
                np.stack(column, self.at(np.ndim(column[0])))
                if eqx.is_array(column[0]) or self.how == "jax.vmap"
                else column[0]
                for column in zip(*map(jax.tree.leaves, members), strict=True)
            ]
            narrow = [leaf.astype(leaf.dtype.str.replace("8", "4")) if _is_wide(leaf) else leaf for leaf in found]
            return jax.tree.structure(members[0]).unflatten(narrow)

        def member(key: Any) -> Any:
            return self.nest.build(make.of(key))

        keys = jnp.zeros(self.count) + make.key
        if self.how == "filter_vmap":
            return eqx.filter_vmap(member, out_axes=lambda x: self.at(x.ndim) if eqx.is_array(x) else None)(keys)
        if self.how == "jax.vmap":
            return jax.vmap(member)(keys)
        others = eqx.filter(eqx.filter_eval_shape(member, make.key), _is_no_struct)
        return eqx.combine(jax.lax.map(lambda key: eqx.filter(member(key), eqx.is_array), keys), others)

    def at(self, ndim: int) -> int:
        """The axis of the members in an array that has so many axes in a member."""
        return min(self.axis, ndim)

    def __str__(self) -> str:
        return f"{self.how} {self.count} along {self.axis} of {self.nest}"


@dataclass(frozen=True)
class Make:
    """How a nest is built: with `stacked` layers or with lists; as a program of a `key` that is traced for its shapes,
    or with the `values` of its arrays, member by member, which know nothing of `jax.vmap`."""

    stacked: bool
    values: bool
    key: Any
    place: tuple[Any, ...] = ()

    def at(self, key: Any) -> "Make":
        return dataclasses.replace(self, place=(*self.place, key))

    def of(self, key: Any) -> "Make":
        return dataclasses.replace(self, key=key)

    def array(self, at: int, shape: tuple[int, ...], dtype: str) -> Any:
        if not self.values:
            return (self.key * jnp.ones(shape)).astype(dtype)
        seed = zlib.crc32(repr((self.place, at)).encode())
        return np.random.default_rng(seed).integers(0, 200, shape).astype(jnp.dtype(dtype))


def _is_wide(leaf: Any) -> bool:
    return eqx.is_array(leaf) and leaf.dtype in (np.int64, np.float64)


def _is_no_struct(leaf: Any) -> bool:
    return not isinstance(leaf, jax.ShapeDtypeStruct)


def like_of(nest: Nest, stacked: bool) -> Any:
    """The nest, built as users build it."""
    return nest.build(Make(stacked, False, jnp.zeros(())))


def built(nest: Nest, stacked: bool) -> tuple[Any, Any]:
    """The shapes of a nest; and the nest with values."""
    like = eqx.filter_eval_shape(lambda: like_of(nest, stacked))
    values = jax.tree.leaves(nest.build(Make(stacked, True, None)))
    return like, jax.tree.structure(like).unflatten(values)


@dataclass
class Draw:
    """Draws a nest; most of its sizes are the same, as nothing may be told by a size."""

    random: random.Random
    named: bool
    names: Iterator[int] = field(default_factory=lambda: iter(range(1000)))

    def __post_init__(self) -> None:
        self.usual = self.random.randint(1, 3)

    def size(self) -> int:
        return self.usual if self.random.random() < 0.7 else self.random.randint(1, 4)

    def nest(self, depth: int) -> Nest:
        shapes = [
            tuple(self.size() for _ in range(self.random.randint(0, 2))) for _ in range(self.random.randint(1, 2))
        ]
        arrays = tuple((shape, self.random.choice(DTYPES)) for shape in shapes)
        held: dict[str, Layers | Members] = {}
        for _ in range(0 if not depth else self.random.choice((1, 1, 2))):
            held[f"part{next(self.names)}_"] = self.part(depth)
        return Nest(arrays, held)

    def part(self, depth: int) -> Layers | Members:
        if self.random.random() < 0.5:
            how = self.random.choice(MAPS[:3] if self.named else MAPS)
            axis = self.random.choice((0, 0, 0, 1, 2, -1)) if how == "filter_vmap" else 0
            return Members(self.size(), self.nest(depth - 1), how, axis)
        sequence = not self.named and self.random.random() < 0.4
        kinds = tuple(self.nest(depth - 1) for _ in range(self.random.randint(1, 2) if sequence else 1))
        return Layers(self.size(), kinds, BlockSeq.of if sequence else ArrayStacked.of)


def stacks_of(nest: Nest, members: int = 0) -> Iterator[tuple[str, int]]:
    """The names of its stacks, the inner ones first, each with how many axes of members are around it."""
    for name, part in nest.held.items():
        if isinstance(part, Members):
            yield from stacks_of(part.nest, members + 1)
        else:
            yield from stacks_of(part.kinds[0], members)
            yield name, members


def members_of(nest: Nest) -> Iterator[Members]:
    for part in nest.held.values():
        if isinstance(part, Members):
            yield part
        for kind in (part.nest,) if isinstance(part, Members) else part.kinds:
            yield from members_of(kind)


def same(one: Any, other: Any) -> bool:
    """The structure and the bits of two pytrees are the same."""
    if jax.tree.structure(one) != jax.tree.structure(other):
        return False
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    return all(_bits(a) == _bits(b) for a, b in pairs)


def _bits(leaf: Any) -> Any:
    return (leaf.dtype, leaf.shape, np.asarray(leaf).tobytes()) if eqx.is_array(leaf) else leaf


@dataclass(frozen=True)
class Nests:
    """A nest as lists and as stacks: for each the shapes, and with values."""

    nest: Nest
    lists: tuple[Any, Any]
    stacks: tuple[Any, Any]

    @property
    def in_front(self) -> bool:
        """True if all members are in front of layers, where each conversion is possible."""
        return all(part.axis == 0 for part in members_of(self.nest))


def check(seed: int, folder: Path, refused: list[int] | None = None) -> str | None:
    """What is wrong with the nest of this seed, None if nothing is. Seeds that are refused with reason are noted."""
    draw = Draw(random.Random(seed), named=seed % 2 == 1)
    nest = draw.nest(draw.random.randint(1, 3))
    if not any(True for _ in stacks_of(nest)):
        nest = Nest(nest.arrays, {**nest.held, "more": Layers(draw.size(), (nest,), ArrayStacked.of)})
    if draw.named and draw.random.random() < 0.5:
        nest = Nest((), {"all": Members(draw.size(), nest, "filter_vmap", draw.random.choice((0, 0, 1, -1)))})
    nests = Nests(nest, *(built(nest, kind) for kind in (False, True)))
    checks = [leaves, loaded, corresponding, *([names] if draw.named else [])]
    wrong = []
    for each in checks:
        try:
            wrong += [] if each(nests, folder) else [each.__name__]
        except Exception as error:
            if nests.in_front or not isinstance(error, ValueError | ScanifyError):
                return f"seed {seed}: {nest}: {each.__name__}: {type(error).__name__}: {error}"
            if refused is not None and seed not in refused:
                refused.append(seed)
    return f"seed {seed}: {nest}: {', '.join(wrong)} differ" if wrong else None


def _with_moments(tree: Any) -> Any:
    return tree, jax.tree.map(lambda x: x + x, eqx.filter(tree, eqx.is_array))


def leaves(nests: Nests, folder: Path) -> bool:
    """A model with its moments, as Equinox serialises them, converted both ways."""
    before, after = _with_moments(nests.lists[1]), _with_moments(nests.stacks[1])
    old, new, back = (folder / f"{name}.eqx" for name in ("old", "new", "back"))
    eqx.tree_serialise_leaves(old, before)

    def outlines() -> Any:
        return eqx.filter_eval_shape(lambda: _with_moments(like_of(nests.nest, True)))

    convert_leaves(old, new, lambda: with_known_axes(outlines(), outlines), to_list=False)
    convert_leaves(new, back, lambda: with_known_axes(outlines(), outlines), to_list=True)
    return same(eqx.tree_deserialise_leaves(new, outlines()), after) and back.read_bytes() == old.read_bytes()


def loaded(nests: Nests, folder: Path) -> bool:
    """The same file, loaded into what a function builds, and into a tree that says where its members are."""
    old = folder / "old.eqx"
    eqx.tree_serialise_leaves(old, _with_moments(nests.lists[1]))
    found = [load_unstacked(old, lambda: _with_moments(like_of(nests.nest, True)))]
    if nests.in_front:
        found.append(load_unstacked(old, _with_moments(members_first(nests.stacks[1]))))
    return all(_same_leaves(each, _with_moments(nests.stacks[1])) for each in found)


def _same_leaves(one: Any, other: Any) -> bool:
    """The same but for marks."""
    return same(members_first(one), members_first(other))


def names(nests: Nests, folder: Path) -> bool:
    """A model by names, in one of three formats: each stack in a step of its own, which is told its axis."""
    (_, listed), (like, stacked), steps = nests.lists, nests.stacks, list(stacks_of(nests.nest))
    arrays = {name: np.asarray(leaf) for name, leaf in to_state_dict(listed).items()}
    ending, save = _FORMATS[len(arrays) % len(_FORMATS)]
    files = [folder / f"{at}.{ending}" for at in range(len(steps) + 1)]
    save(files[0], arrays)
    if not _same_leaves(load_unstacked(files[0], lambda: like_of(nests.nest, True)), stacked):
        return False
    if not nests.in_front:
        return True
    for at, (name, axis) in enumerate(steps):
        convert_names(files[at], files[at + 1], [(True, Prefix.parse(f"*{name}"))], axis=axis)
    for at, (name, axis) in reversed(list(enumerate(steps))):
        convert_names(files[at + 1], folder / f"back.{ending}", [(False, Prefix.parse(f"*{name}"))], axis=axis)
        if _read(folder / f"back.{ending}") != _read(files[at]):
            return False
    like, stacked = members_first(like), members_first(stacked)
    expected = {name: _bits(np.asarray(leaf))[1:] for name, leaf in to_state_dict(stacked, stacked=True).items()}
    return _read(files[-1]) == expected and same(from_state_dict(like, to_state_dict(listed)), stacked)


def corresponding(nests: Nests, folder: Path) -> bool:
    """The arrays of the stacks, as `verify` makes them of those of the lists, and the way back."""
    found = correspond(nests.lists[0], nests.stacks[0])
    if not nests.in_front and unknown_axes((nests.stacks[0], lambda: like_of(nests.nest, True))) is not None:
        return True  # values that differ are no verdict
    if not isinstance(found, Correspondence):
        # `jax.vmap` makes arrays of Python numbers, of which a stack has one where a list has one for each layer.
        return "jax.vmap" in str(nests.nest) and "count: an array of its own in the original" in str(found)
    given, wanted = (
        [leaf for leaf in jax.tree.leaves(tree[1]) if eqx.is_array(leaf)] for tree in (nests.lists, nests.stacks)
    )
    return all(_bits(_made(given, each)) == _bits(leaf) for each, leaf in zip(found.recipes, wanted, strict=True))


def _made(given: list[Any], recipe: Recipe) -> Any:
    first = given[recipe.sources[0]]
    whole = np.stack([given[at] for at in recipe.sources]).reshape((*recipe.lead, *first.shape))
    return np.moveaxis(whole, range(len(recipe.lead)), recipe.axes or range(len(recipe.lead))) if recipe.lead else first


_FORMATS: list[tuple[str, Callable[[Path, dict[str, Any]], Any]]] = [("npz", lambda at, them: np.savez(at, **them))]
with contextlib.suppress(ImportError):
    from safetensors.flax import save_file

    _FORMATS.append(("safetensors", lambda at, them: save_file(jax.tree.map(jnp.asarray, them), at)))
with contextlib.suppress(ImportError):
    from flax.serialization import to_bytes
    from flax.traverse_util import unflatten_dict

    _FORMATS.append(("msgpack", lambda at, them: at.write_bytes(to_bytes(unflatten_dict(them, sep=".")))))


def _read(path: Path) -> dict[str, Any]:
    from scanify.checkpoints.formats.open_file import open_file

    with open_file(path) as opened:
        return {array.name: (array.shape, b"".join(opened.bytes_in(array))) for array in opened.arrays}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    wrong: list[str] = []
    refused: list[int] = []
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(given.seed, given.seed + given.count):
            said = check(seed, Path(folder), refused)
            if said is not None:
                wrong.append(said)
                print(said, flush=True)
    print(
        f"{given.count} nests of stacks and ensembles: {len(wrong)} are not read back bit for bit, "
        f"{len(refused)} are refused as members are behind layers"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
