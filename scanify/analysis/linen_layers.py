"""What becomes of the layers of a loop over modules of Flax Linen: names of the tree of variables, and one module."""

from dataclasses import dataclass

from scanify.analysis.facts import Place


@dataclass(frozen=True)
class RenamedLayers:
    """How the layers of a loop are named in the tree of variables: `loop` before, one name for each, and `scan` after,
    one for all.

    `loop` has `{}` where the number of the layer stands: "layer_{}", "Block_{}"; `first` is the number of the first.
    `nested`: the layers are along two axes, chunks and layers of a chunk, not along one.
    """

    loop: str
    scan: str
    first: int = 0
    nested: bool = False


@dataclass(frozen=True)
class LinenModule:
    """How the one module is built: a call of `builds` with `arguments`, as texts, at `site` in the place of a list, or
    in front of the scan where there is no list."""

    builds: str
    arguments: tuple[str, ...]
    site: Place | None = None


@dataclass(frozen=True)
class LinenLayers:
    """The one module whose variables a scan stacks.

    `count` is the number of layers as a text; `held` names the list where the loop stands, "" where there is none.
    `remat` says that a class is one of `nn.remat` already.
    """

    renamed: RenamedLayers
    module: LinenModule
    count: str
    held: str = ""
    remat: bool = False
