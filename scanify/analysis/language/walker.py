"""The complete walker, with the names of functions that are not interpreted."""

import ast
from collections.abc import Iterable

from scanify.analysis.language import types as t
from scanify.analysis.language.names import bindings, is_bound_inside
from scanify.analysis.language.syntax.statements import Statements
from scanify.analysis.lower.scope import Scope
from scanify.analysis.project_facts import ProjectFacts


class Walker(Statements):
    """Interprets functions of a project; see the package."""

    def __init__(self, project: ProjectFacts) -> None:
        super().__init__(project)
        self.around: dict[Scope, t.Env] = {}
        self.constructors: dict[object, t.Env] = project.constructors

    def by_bindings(self, scope: Scope, name: str) -> t.Type:
        """Return the union of the types bound to a name in a function that is not interpreted.

        `name` may be a field of the object under construction: `self.scale`.
        """
        constructs = scope.name == "__init__" and scope is not self.collector
        around = self.constructors if constructs else self.around
        if scope not in around:
            own = scope.params[0] if scope.name == "__init__" and scope.params else ""
            around[scope] = t.Env(scope.module, {}, None, scope, lazy=True, own=own)
            around[scope].names.update((each, self.parameter(scope, each)) for each in scope.params)
            with self.silent():
                self.bind_all(scope, around[scope])
        if is_bound_inside(scope, name):
            return t.Unknown(f"a function in the function binds or changes `{name}`")
        return around[scope].names.get(name) or t.Unknown(f"`{name}` is bound in a way that is not followed")

    def bind_all(self, scope: Scope, env: t.Env) -> None:
        """Bind the names of a scope that is not interpreted."""
        for node, names in bindings(scope):
            self.bind_names(node, names, env)

    def bind_names(self, node: ast.AST, names: Iterable[str], env: t.Env, *, surely: bool = False) -> None:
        """Add the types that a node binds to names to their earlier types; with `surely`, replace these."""
        inner = env.copy()
        match node:
            case ast.Assign() | ast.AnnAssign() | ast.AugAssign(target=ast.Name()) | ast.FunctionDef():
                self.statement(node, inner, [])
            case ast.Expr(value=value):
                if any(isinstance(each, t.Items) for name in names for each in t.options(env.names.get(name))):
                    self.evaluate(value, inner)
            case ast.For(target=target, iter=source) | ast.comprehension(target=target, iter=source):
                self.bind(target, self.element(env.module, source, self.evaluate(source, inner)), inner)
            case _:
                top = env.scope is not None and env.scope.parent is None
                for name in names:
                    found = self.meaning(env.module, name) if top else None
                    inner.names[name] = found or t.Unknown(f"`{name}` is bound in a way that is not followed")
        for name in names:
            if name in inner.names:
                env.names[name] = inner.names[name] if surely else t.join([env.names.get(name), inner.names[name]])
