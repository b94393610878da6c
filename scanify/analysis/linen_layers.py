"""What becomes of the layers of a loop over modules of Flax Linen: names of the tree of variables, and one module."""

from dataclasses import dataclass

from scanify.analysis.facts import Place


@dataclass(frozen=True)
class RenamedLayers:
    """How the layers of a loop are named in the tree of variables: `loop` before, one name for each, and `scan` after,
    one for all.

    `loop` has `{}` where the number of the layer stands: "layer_{}", "Block_{}"; `first` is the number of the first.
    """

    loop: str
    scan: str
    first: int = 0


@dataclass(frozen=True)
class LinenLayers:
    """The one module whose variables a scan stacks: a call of `builds` with `arguments`, as texts.

    `count` is the number of layers as a text. Where the layers are built in a list, `site` is its place and `held` what
    names it where the loop stands; else the module is built in front of the scan. `remat` says that the class is one
    of `nn.remat` already.
    """

    renamed: RenamedLayers
    builds: str
    arguments: tuple[str, ...]
    count: str
    site: Place | None = None
    held: str = ""
    remat: bool = False
