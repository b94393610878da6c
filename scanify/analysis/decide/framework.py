"""The framework of the modules that a loop applies."""

from scanify.analysis.lists.layer_list import LayerList
from scanify.analysis.plan import Framework
from scanify.analysis.project_facts import ProjectFacts


def framework_of(project: ProjectFacts, layers: LayerList) -> Framework:
    """Return Flax NNX if one of the layers is of it, or the object that holds them; else Equinox."""
    found = [*layers.classes, *([layers.owner] if layers.owner is not None else [])]
    return Framework.NNX if any(map(project.classes.is_nnx, found)) else Framework.EQUINOX
