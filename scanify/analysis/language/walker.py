"""The walker of the language: its parts joined, and the questions that others ask it."""

from scanify.analysis.language.libraries.calls import Libraries
from scanify.analysis.language.libraries.classes import LibraryClasses
from scanify.analysis.language.libraries.python import Python
from scanify.analysis.language.project.calls import Calls
from scanify.analysis.language.project.constructors import Constructors
from scanify.analysis.language.project.objects import Objects
from scanify.analysis.language.syntax.annotations import Annotations
from scanify.analysis.language.syntax.operators import Operators
from scanify.analysis.language.syntax.statements import Statements
from scanify.analysis.language.syntax.values import Expressions
from scanify.analysis.project_facts import ProjectFacts


class Walker(
    Operators,
    Expressions,
    Statements,
    Objects,
    Constructors,
    Annotations,
    Calls,
    Libraries,
    LibraryClasses,
    Python,
):
    """Walks functions of a project; see the package."""

    def __init__(self, project: ProjectFacts) -> None:
        super().__init__(project)
        self.walked = 0
        self.stored = {}
        self.making = []
