"""The single module that replaces the layers of a loop over Flax Linen modules, and its name in the variables."""

from dataclasses import dataclass

from scanify.analysis.facts import Place


@dataclass(frozen=True)
class RenamedLayers:
    """Names of layers in the tree of variables: `loop` for each layer before the rewrite, `scan` for all after it.

    `loop` contains `{}` for the number of the layer: "layer_{}", "Block_{}"; `first` is the number of the first layer.
    `nested`: the layers lie along two axes, chunks and layers of a chunk.
    """

    loop: str
    scan: str
    first: int = 0
    nested: bool = False


@dataclass(frozen=True)
class LinenModule:
    """The construction of the single module: a call of `builds` with `arguments`, as source text.

    It replaces the list at `site`, or comes before the scan if there is no list.
    """

    builds: str
    arguments: tuple[str, ...]
    site: Place | None = None


@dataclass(frozen=True)
class LinenLayers:
    """The single module whose variables a scan stacks.

    `count` is the number of layers as source text; `held` is the name of the list at the loop, "" if there is no list.
    `remat`: the class already comes from `nn.remat`.
    """

    renamed: RenamedLayers
    module: LinenModule
    count: str
    held: str = ""
    remat: bool = False
