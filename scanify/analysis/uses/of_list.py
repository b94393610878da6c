"""All uses of a list of layers in a project, found by the name of the field or local variable that holds it."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from typing import TypeAlias

from scanify.analysis.alike.parts import composition, writes_into
from scanify.analysis.facts import Place
from scanify.analysis.index.by_name import by_name
from scanify.analysis.index.meaning import Definition, External, Package
from scanify.analysis.index.module import Module
from scanify.analysis.lists.layer_list import LayerList
from scanify.analysis.lists.objects import class_of, home_of
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import FUNCTIONS, Function, ancestors, parameters, parent_of
from scanify.analysis.lower.text import called, dotted, root
from scanify.analysis.project_facts import ProjectFacts
from scanify.analysis.stack import After, Wrap
from scanify.analysis.uses.context import Context
from scanify.analysis.uses.given_away import given_away
from scanify.analysis.uses.use import Use, Uses

_REPLACING = ("tree_at", "Shared")  # they take a function from a model to its leaves
_COPIES_WITH = frozenset("replace evolve _replace __replace__ tree_at".split())
_OTHER = "no class with a list"
_Reads: TypeAlias = dict[object, list[tuple[Module, ast.Attribute]]]


def uses_of(project: ProjectFacts, layers: LayerList) -> Uses:
    """Return the uses of a list in a project; none if the source does not show where its layers are built."""
    if not layers.sites and not layers.made:
        return Uses()
    own = FieldReader(project, layers).uses() if layers.attribute is not None else ()
    needs = [each for each in (*own, *_written(project, layers), *given_away(project, layers)) if each.what]
    changes = next((each for each in needs if each.changes), None)
    return Uses(needs[0] if needs else None, changes)


def _written(project: ProjectFacts, layers: LayerList) -> Iterator[Use]:
    """Yield the stores into fields of layers, which would not reach the rows of a stack."""
    for cls in layers.classes:
        for name, place in writes_into(project, composition(project, cls)):
            yield Use(place, None, f"code stores into `{name}` of layers", changes=True)


class FieldReader:
    """Reads the uses of a list held in a field."""

    def __init__(self, project: ProjectFacts, layers: LayerList) -> None:
        self.project = project
        self.layers = layers
        self.walked = {id(each) for each in nodes_in(layers.walk.source, layers.walk.base)}
        self.sites = [(*found, site) for site in layers.sites if (found := self._located(site.place)) is not None]
        makes = [self._located(each.place) for each in layers.made]
        functions = [function for _, function, _ in self.sites]
        self.building = frozenset([*functions, *(found[1] for found in makes if found is not None)])
        self.name = layers.attribute or ""
        self.heirs = project.classes.heirs(layers.owner) if layers.owner is not None else ()
        self.classes = self._classes()
        self.selects = any(True for word in _REPLACING for _ in project.index.paths_with(word))

    def _classes(self) -> set[object] | None:
        """Return the classes whose objects may hold the list; None if any object may.

        An object of another class may belong to a common subclass of that class and the owner.
        """
        owner, classes = self.layers.owner, self.project.classes
        lineage = [each for heir in (owner, *self.heirs) if heir is not None for each in classes.lineage(heir)]
        bases = {getattr(base, "qualname", base) for each in lineage for base in classes.bases(each)}
        return None if owner is None or None in bases else {*(each.node for each in lineage), *bases}

    def _located(self, place: Place) -> tuple[Module, Function] | None:
        """Return the file of a place and the innermost function around it."""
        module = self.project.index.module_at(place.path)
        around = by_name(module).functions_on(place.span.line) if module is not None else []
        return (module, around[-1]) if module is not None and around else None

    def uses(self) -> Iterator[Use]:
        """Yield the uses, in the order of the files."""
        yield from self._under_other_names()
        for cls in self.heirs:
            if (method := self.project.classes.methods(cls).get(self.name)) is not None:
                yield self._other(cls.module, method, f"`{cls.name}` has a method of the name")
        yield from self._stored()
        for module, node in self._reads():
            yield from self._mention(module, node, node.value)
        for module in self.project.index.modules_with(self.name):
            yield from self._in_file(module)
        yield from self._taken_apart()

    def _taken_apart(self) -> Iterator[Use]:
        """Yield patterns that match fields by position: `case Model([first, *others])`."""
        classes = {each.name for each in (self.layers.owner, *self.heirs) if each is not None}
        for module in (home for name in classes for home in self.project.index.modules_with(name, "match")):
            for pattern in by_name(module).positional:
                if (dotted(pattern.cls) or "").rpartition(".")[2] in classes:
                    yield self._other(module, pattern, "a pattern takes the object apart")

    def _under_other_names(self) -> Iterator[Use]:
        """Yield the uses of the list under its local name, before it is stored in the field."""
        for module, function, site in self.sites:
            value = next((each for each in nodes_in(function) if _is_at(module, each, site)), None)
            if isinstance(value, ast.Name):
                for node in nodes_in(*function.body):
                    if isinstance(node, ast.Name) and node.id == value.id and node is not value:
                        yield from self._uses_at(module, node)
            elif isinstance(value, ast.Attribute | ast.Subscript):
                yield self._other(module, value, "the list is kept under another name, in another object")

    def _stored(self) -> Iterator[Use]:
        """Yield stores to the name other than assignments, and files that name it but cannot be parsed."""
        patches = self.project.index.patches
        for store in patches.stores(self.name):
            if store.forced:
                text = f"code may put another list into `{self.name}`"
                unread = f"a file that cannot be parsed names `{self.name}`"
                yield Use(patches.place(store), None, text if store.node is not None else unread, changes=True)

    def _reads(self) -> list[tuple[Module, ast.Attribute]]:
        """Return the attributes of that name whose object may hold the list."""
        reads = _reads_of(self.project, self.name)
        if self.classes is None:
            return [each for key, several in reads.items() if key != _OTHER for each in several]
        return [each for key in (None, *self.classes) for each in reads.get(key, ())]

    def _in_file(self, module: Module) -> Iterator[Use]:
        table = by_name(module)
        for node in table.uses.get(self.name, ()):
            if isinstance(node, ast.keyword):
                yield from self._keyword(module, node)
            elif isinstance(node, ast.MatchClass):
                yield self._other(module, node, "a pattern takes the object apart")
        for text in table.strings.get(self.name, ()):
            yield from self._string(module, text)

    def _other(self, module: Module, node: ast.AST, what: str, rule: str = "") -> Use:
        return Use(module.place(node), node, what, rule, changes=True)

    def _mention(self, module: Module, node: ast.expr, holder: ast.expr) -> Iterator[Use]:
        if self.selects:
            yield from self._selected(module, node, holder)
        yield from self._uses_at(module, node)

    def _uses_at(self, module: Module, node: ast.expr) -> Iterator[Use]:
        """Yield the uses at one expression for the list."""
        if id(node) in self.walked:
            yield Use(module.place(node), node)  # by the loop itself
        else:
            yield from Context(home_of(self.project, module, node), self.building).uses(node)

    def _selected(self, module: Module, node: ast.expr, holder: ast.expr) -> Iterator[Use]:
        """Yield a function from a model to parts of its list: `tree_at` needs the very leaves."""
        functions = (each for each in ancestors(module, node) if isinstance(each, (*FUNCTIONS, ast.Lambda)))
        name = root(holder)
        around = next((each for each in functions if name in {arg.arg for arg in parameters(each)}), None)
        if isinstance(around, ast.Lambda):
            function = called(parent_of(module, around)) or ""
            replaces = function.rpartition(".")[2] in _REPLACING
            what = f"`{function}` replaces a part of the list" if replaces else "a lambda gives parts of the list"
            yield self._other(module, node, what if replaces else f"{what}, which `tree_at` may replace", "SCN316")
        elif around is not None and _gives_part(module, node):
            # A function passed to `tree_at` by name counts as a reader.
            what = f"`{around.name}` may give parts of the list, which `tree_at` may replace"
            yield self._other(module, node, what, "SCN316")

    # -- names of fields -----------------------------------------------------------------------------------------------

    def _keyword(self, module: Module, keyword: ast.keyword) -> Iterator[Use]:
        """`replace(model, layers=...)` replaces the list; a keyword for a parameter of that name does not."""
        call = parent_of(module, keyword)
        if not isinstance(call, ast.Call):
            return  # keyword of a class statement
        meaning = home_of(self.project, module, call).meaning(call.func)
        node = getattr(meaning, "node", None)
        names = {each.arg for each in parameters(node)} if isinstance(node, FUNCTIONS) else ()
        is_shown = isinstance(meaning, External) or isinstance(node, ast.ClassDef) or self.name in names
        if (called(call) or "").rpartition(".")[2] in _COPIES_WITH or not is_shown:
            yield self._other(module, call, f"`{called(call) or '...'}` may put another list in its place")

    def _string(self, module: Module, text: ast.Constant) -> Iterator[Use]:
        """`getattr(model, "layers")` reads the list; other strings count if code reads variable names."""
        match above := parent_of(module, text):
            case ast.Call(func=ast.Name("hasattr"), args=[_, name, *_]) if name is text:
                return
            case ast.Call(func=ast.Name("getattr"), args=[holder, name, *_]) if name is text:
                cls = _class_shown(self.project, module, holder)
                if cls is None or (cls != _OTHER and (self.classes is None or cls in self.classes)):
                    yield from self._mention(module, above, holder)
                return
        calls = [each for each in ancestors(module, text) if isinstance(each, ast.Call)]
        by_fields = any(_is_fields(getattr(each.func, "value", each.func)) for each in calls) or _is_fields(
            getattr(above, "value", None)
        )
        names = {getattr(each.func, "attr", getattr(each.func, "id", "")) for each in calls}
        patches = self.project.index.patches
        if by_fields or names & {"attrgetter", *patches.loose_readers} or patches.loose_reads(module):
            yield self._other(module, text, f"code may read `{self.name}` by its name")


def _is_at(module: Module, node: ast.AST, site: Wrap | After) -> bool:
    near = isinstance(site, Wrap) and isinstance(node, ast.expr) and node.lineno == site.place.span.line
    return near and module.span(node) == site.place.span


def _reads_of(project: ProjectFacts, name: str) -> _Reads:
    """Return the attributes of a name in a project by the class of their object; under None if it is unknown."""
    if name not in project.reads:
        found = project.reads[name] = defaultdict(list)
        for module in project.index.modules_with(name):
            nodes = [each for each in by_name(module).uses.get(name, ()) if isinstance(each, ast.Attribute)]
            for node in sorted(nodes, key=module.span):
                found[_class_shown(project, module, node.value)].append((module, node))
    return project.reads[name]


def _class_shown(project: ProjectFacts, module: Module, holder: ast.expr) -> object:
    """Return the class of an object, `_OTHER` for a module or for data; None if it is unknown."""
    if isinstance(home_of(project, module, holder).meaning(holder), Package | External):
        return _OTHER  # a module, such as `keras.layers`
    cls = class_of(project, module, holder)
    if isinstance(cls, External):
        return cls.qualname
    if not isinstance(cls, Definition) or not isinstance(cls.node, ast.ClassDef):
        return None
    bases = [base for each in project.classes.lineage(cls) for base in project.classes.bases(each)]
    is_open = None in bases or any(getattr(each, "qualname", "") == "typing.Protocol" for each in bases)
    return None if is_open else cls.node


def _is_fields(node: ast.AST | None) -> bool:
    """True for the fields of an object: `vars(model)`, `model.__dict__`."""
    match node:
        case ast.Call(func=ast.Name("vars")) | ast.Attribute(attr="__dict__"):
            return True
        case _:
            return False


def _gives_part(module: Module, node: ast.expr) -> bool:
    """True if a function returns a part of an expression's value: `return self.layers[0].weight`.

    The results of calling elements are not parts: `return [layer(x) for layer in self.layers]`.
    """
    parts = (ast.Attribute, ast.Subscript, ast.Tuple, ast.List, ast.IfExp, ast.Starred, ast.comprehension, ast.ListComp)
    above = parent_of(module, node)
    while isinstance(above, parts) and not isinstance(getattr(above, "elt", None), ast.Call):
        above = parent_of(module, above)
    return isinstance(above, ast.Return)
