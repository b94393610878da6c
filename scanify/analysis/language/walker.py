"""The walker of the language: its parts joined, and the questions that others ask it."""

from scanify.analysis.language.libraries.builtins import Builtins
from scanify.analysis.language.libraries.functions import Libraries
from scanify.analysis.language.libraries.higher import HigherOrder
from scanify.analysis.language.libraries.methods import Methods
from scanify.analysis.language.libraries.modules import LibraryModules
from scanify.analysis.language.libraries.nnx import NnxObjects
from scanify.analysis.language.project.calls import Calls
from scanify.analysis.language.project.constructors import Constructors
from scanify.analysis.language.project.objects import Objects
from scanify.analysis.language.syntax.annotations import Annotations
from scanify.analysis.language.syntax.binding import Binding
from scanify.analysis.language.syntax.displays import Displays
from scanify.analysis.language.syntax.expressions import Expressions
from scanify.analysis.language.syntax.operators import Operators
from scanify.analysis.language.syntax.statements import Statements
from scanify.analysis.project_facts import ProjectFacts


class Walker(
    Expressions,
    Operators,
    Displays,
    Statements,
    Binding,
    Objects,
    Constructors,
    Annotations,
    Calls,
    Libraries,
    HigherOrder,
    Methods,
    LibraryModules,
    NnxObjects,
    Builtins,
):
    """Walks functions of a project; see the package."""

    def __init__(self, project: ProjectFacts) -> None:
        super().__init__(project)
        self.walked = 0
        self.declared_fields = {}
        self.making = []
