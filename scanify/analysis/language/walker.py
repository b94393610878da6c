"""The walker of the language: its parts joined, and the questions that others ask it."""

import ast
from collections.abc import Mapping, Sequence

from scanify.analysis.index.meaning import Definition
from scanify.analysis.language.annotations import Annotations
from scanify.analysis.language.calls import Calls
from scanify.analysis.language.expressions import Expressions
from scanify.analysis.language.library import Libraries
from scanify.analysis.language.objects import Objects
from scanify.analysis.language.statements import Statements
from scanify.analysis.language.types import Env, Function, Given, Items, Nothing, Object, Type, Unknown, options
from scanify.analysis.project_facts import ProjectFacts


class Walker(Expressions, Statements, Objects, Annotations, Calls, Libraries):
    """Walks functions of a project; see the package."""

    def __init__(self, project: ProjectFacts) -> None:
        super().__init__(project)
        self.walked = 0
        self.known = {}
        self.declared_fields = {}
        self.making = []
