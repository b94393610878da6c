"""All uses of a list of layers in a project, by the name of the field or of the local variable that holds it."""

import ast
from collections.abc import Iterator
from dataclasses import replace

from scanify.analysis.alike.parts import composition, writes_into
from scanify.analysis.facts import Place
from scanify.analysis.index.by_name import by_name
from scanify.analysis.index.meaning import Definition, External, Package
from scanify.analysis.index.module import Module
from scanify.analysis.lists.declared import declared
from scanify.analysis.lists.layer_list import LayerList, identity
from scanify.analysis.lists.objects import class_of, home_of
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import FUNCTIONS, Function, ancestors, parameters, parent_of
from scanify.analysis.lower.text import called, dotted, root
from scanify.analysis.project_facts import ProjectFacts
from scanify.analysis.stack import After, Called, Wrap
from scanify.analysis.uses.context import Context
from scanify.analysis.uses.given_away import given_away
from scanify.analysis.uses.use import Does, Use, Uses

_NAMED = (*FUNCTIONS, ast.ClassDef)
_REPLACING = ("tree_at", "Shared")  # functions that take a function from a model to its leaves
_COPIES_WITH = frozenset("replace evolve _replace __replace__ tree_at".split())


def uses_of(project: ProjectFacts, layers: LayerList) -> Uses:
    """Return the uses of a list in a project.

    Only a list whose layers are shown has uses to look at.
    """
    if not layers.sites and not layers.made:
        return Uses()
    own = FieldReader(project, layers).uses() if layers.attribute is not None else ()
    uses = [*own, *_written(project, layers), *given_away(project, layers)]
    needs = [each for each in uses if each.does in (Does.OBJECT, Does.OTHER)]
    changes = next((each for each in needs if each.does is Does.OTHER), None)
    return Uses(needs[0] if needs else None, changes)


def _written(project: ProjectFacts, layers: LayerList) -> Iterator[Use]:
    """The stores into fields of layers, which would not reach the rows of a stack."""
    for cls in layers.classes:
        for name, place in writes_into(project, composition(project, cls)):
            yield Use(place, Does.OTHER, f"code stores into `{name}` of layers")


def _reads_of(name: str, function: Function) -> Iterator[ast.Name]:
    """The places of a name in the body of a function, in the order of the text."""
    found = [each for each in nodes_in(*function.body) if isinstance(each, ast.Name) and each.id == name]
    yield from sorted(found, key=lambda each: (each.lineno, each.col_offset))


def _is_at(module: Module, node: ast.AST, site: Wrap | After | Called) -> bool:
    near = isinstance(site, Wrap) and isinstance(node, ast.expr) and node.lineno == site.place.span.line
    return near and module.span(node) == site.place.span


class FieldReader:
    """Reads the uses of a list that a field holds."""

    def __init__(self, project: ProjectFacts, layers: LayerList) -> None:
        self.project = project
        self.layers = layers
        self.walked = {id(each) for each in nodes_in(layers.walk.source, layers.walk.base)}
        self.sites = [(*found, site) for site in layers.sites if (found := self._located(site.place)) is not None]
        makes = [self._located(each.place) for each in layers.made]
        functions = [function for _, function, _ in self.sites]
        self.building = frozenset([*functions, *(found[1] for found in makes if found is not None)])
        self.name = layers.attribute or ""
        owner = layers.owner
        classes = project.classes
        self.owners = {each.node for each in (owner, *classes.heirs(owner))} if owner is not None else set()
        self.selects = any(True for word in _REPLACING for _ in project.index.paths_with(word))

    def mention(self, module: Module, node: ast.expr) -> Iterator[Use]:
        """The uses at one expression that stands for the list."""
        if id(node) in self.walked:
            yield Use(module.place(node), Does.SERVED, node=node)  # by the loop itself, such as a `Sequential`
        else:
            yield from Context(home_of(self.project, module, node), self.building).uses(node)

    def _located(self, place: Place) -> tuple[Module, Function] | None:
        """The file of a place and the innermost function around it."""
        module = self.project.index.module_at(place.path)
        around = by_name(module.tree).functions_on(place.span.line) if module is not None else []
        return (module, around[-1]) if module is not None and around else None

    def uses(self) -> Iterator[Use]:
        """The uses, in the order of the files."""
        yield from self._under_other_names()
        yield from self._overridden()
        yield from self._stored()
        for module in self.project.index.modules_with(self.name):
            yield from self._in_file(module)
        yield from self._taken_apart()

    def _taken_apart(self) -> Iterator[Use]:
        """Patterns that take fields by their positions: `case Model([first, *others])`."""
        classes = {getattr(each, "name", "") for each in self.owners}
        for module in (home for name in classes for home in self.project.index.modules_with(name, "match")):
            for pattern in by_name(module.tree).positional:
                if (dotted(pattern.cls) or "").rpartition(".")[2] in classes:
                    yield self._other(module, pattern, "a pattern takes the object apart")

    def _under_other_names(self) -> Iterator[Use]:
        """The uses of the list under the name that its function has for it before the field holds it."""
        for module, function, site in self.sites:
            value = next((each for each in nodes_in(function) if _is_at(module, each, site)), None)
            if isinstance(value, ast.Name):
                for node in _reads_of(value.id, function):
                    if node is not value:
                        yield from self.mention(module, node)
            elif isinstance(value, ast.Attribute | ast.Subscript):
                yield self._other(module, value, "the list is kept under another name, in another object")

    def _overridden(self) -> Iterator[Use]:
        """Methods and properties of the name in classes that inherit from the owner."""
        for cls in self.project.classes.heirs(self.layers.owner) if self.layers.owner is not None else ():
            method = self.project.classes.methods(cls).get(self.name)
            if method is not None:
                yield self._other(cls.module, method, f"`{cls.name}` has a method of the name")

    def _stored(self) -> Iterator[Use]:
        """The stores of the name that are no assignments, those in files that cannot be parsed included."""
        patches = self.project.index.patches
        for store in patches.stores(self.name):
            if not isinstance(store.node, ast.Attribute):
                text = f"code may put another list into `{self.name}`"
                unread = f"a file that cannot be parsed names `{self.name}`"
                yield Use(patches.place(store), Does.OTHER, text if store.node is not None else unread)

    def _in_file(self, module: Module) -> Iterator[Use]:
        table = by_name(module.tree)
        for node in sorted(table.uses.get(self.name, ()), key=lambda node: module.span(node)):
            if isinstance(node, ast.Attribute) and not self.is_of_another_class(module, node.value):
                yield from self._mention(module, node, node.value)
            elif isinstance(node, ast.keyword):
                yield from self._keyword(module, node)
            elif isinstance(node, ast.MatchClass):
                yield self._other(module, node, "a pattern takes the object apart")
        for text in table.strings.get(self.name, ()):
            yield from self._string(module, text)

    def _other(self, module: Module, node: ast.AST, what: str, rule: str = "") -> Use:
        return Use(module.place(node), Does.OTHER, what, rule, node)

    def _mention(self, module: Module, node: ast.expr, holder: ast.expr) -> Iterator[Use]:
        selected = self._selected(module, node, holder) if self.selects else None
        if selected is not None:
            yield replace(selected, does=Does.OBJECT) if self._keeps_classes(module, node) else selected
        yield from self.mention(module, node)

    # -- whose field it is ---------------------------------------------------------------------------------------------

    def is_of_another_class(self, module: Module, holder: ast.expr) -> bool:
        """True if the object is shown to be of a class that shares no subclass with the owner of the list."""
        home = home_of(self.project, module, holder)
        if isinstance(home.meaning(holder), Package | External):
            return True  # a module, such as `keras.layers`
        if self._is_declared_data(module, holder):
            return True
        cls = class_of(self.project, module, holder)
        if isinstance(cls, External):
            bases = [base for owner in self._related() for base in self.project.classes.bases(owner)]
            return cls not in bases and None not in bases
        if not isinstance(cls, Definition) or not isinstance(cls.node, ast.ClassDef):
            return False
        if any(getattr(each, "qualname", "") == "typing.Protocol" for each in self.project.classes.bases(cls)):
            return False
        heirs = {each.node for each in (cls, *self.project.classes.heirs(cls))}
        lineage = (*self.project.classes.lineage(cls), *self._related())
        known = not any(base is None for each in lineage for base in self.project.classes.bases(each))
        return known and bool(self.owners) and heirs.isdisjoint(self.owners)

    def _related(self) -> list[Definition]:
        owner = self.layers.owner
        if owner is None:
            return []
        heirs = (owner, *self.project.classes.heirs(owner))
        return [each for heir in heirs for each in self.project.classes.lineage(heir)]

    def _is_declared_data(self, module: Module, holder: ast.expr) -> bool:
        """True for parameters and fields that are annotated with classes that are no modules: `config: Config`."""
        if isinstance(holder, ast.Name):
            home = home_of(self.project, module, holder)
            if home.function is None or not home.is_local(holder) or home.values_of(holder.id):
                return False
            annotation = next((each.annotation for each in parameters(home.function) if each.arg == holder.id), None)
            return declared(self.project, module, annotation).data
        owner = class_of(self.project, module, holder.value) if isinstance(holder, ast.Attribute) else None
        field = self.project.classes.fields(owner).get(holder.attr) if isinstance(owner, Definition) else None  # type: ignore
        return field is not None and declared(self.project, field.owner.module, field.statement.annotation).data

    # -- parts that are replaced ---------------------------------------------------------------------------------------

    def _keeps_classes(self, module: Module, node: ast.expr) -> bool:
        """True if what is selected is replaced by an array or by a layer of the class that all layers have.

        A field of a layer is declared to hold an array: `m.layers[0].weight`; or `tree_at` is passed a new layer.
        """
        element = parent_of(module, node)
        part = parent_of(module, element) if isinstance(element, ast.Subscript) else None
        if isinstance(part, ast.Lambda) and isinstance(call := parent_of(module, part), ast.Call):
            made = class_of(self.project, module, call.args[2]) if len(call.args) == 3 else None
            return made is not None and {identity(each) for each in self.layers.classes} == {identity(made)}
        fields = [self.project.classes.fields(cls) for cls in self.layers.classes if isinstance(cls, Definition)]
        if not isinstance(part, ast.Attribute) or len(fields) < len(self.layers.classes):
            return False
        found = [each.get(part.attr) for each in fields]
        return all(each and declared(self.project, each.owner.module, each.statement.annotation).data for each in found)

    def _selected(self, module: Module, node: ast.expr, holder: ast.expr) -> Use | None:
        """A function from a model to parts of its list, if code replaces parts: `tree_at` needs the very leaves."""
        functions = (each for each in ancestors(module, node) if isinstance(each, (*FUNCTIONS, ast.Lambda)))
        name = root(holder)
        around = next((each for each in functions if name in {arg.arg for arg in parameters(each)}), None)
        above = parent_of(module, around) if around is not None else None
        if isinstance(around, ast.Lambda):
            function = (called(above) or "") if isinstance(above, ast.Call) else ""
            replaces = function.rpartition(".")[2] in _REPLACING
            what = f"`{function}` replaces a part of the list" if replaces else "a lambda gives parts of the list"
            return self._other(module, node, what if replaces else f"{what}, which `tree_at` may replace", "SCN316")
        if around is None or not _gives_part(module, node):
            return None  # a function that `tree_at` is passed by its name is a reader
        what = f"`{around.name}` may give parts of the list, which `tree_at` may replace"
        return self._other(module, node, what, "SCN316")

    # -- names of fields -----------------------------------------------------------------------------------------------

    def _keyword(self, module: Module, keyword: ast.keyword) -> Iterator[Use]:
        """`replace(model, layers=...)` puts another list in its place; a parameter of that name is another thing."""
        call = parent_of(module, keyword)
        if not isinstance(call, ast.Call):
            return  # of a class
        name = (dotted(call.func) or "").rpartition(".")[2]
        meaning = home_of(self.project, module, call).meaning(call.func)
        if name not in _COPIES_WITH and (
            isinstance(meaning, External)
            or isinstance(getattr(meaning, "node", None), ast.ClassDef)
            or self._is_own_parameter(name)
        ):
            return
        yield self._other(module, call, f"`{dotted(call.func) or '...'}` may put another list in its place")

    def _is_own_parameter(self, function: str) -> bool:
        """True if all functions of a name in the project have a parameter of the name of the list."""
        nodes = (each for module in self.project.index.modules_with(function) for each in nodes_in(module.tree))
        named = [each for each in nodes if getattr(each, "name", None) == function and isinstance(each, _NAMED)]
        own = (isinstance(each, ast.ClassDef) or self.name in {arg.arg for arg in parameters(each)} for each in named)
        return bool(named) and all(own)

    def _string(self, module: Module, text: ast.Constant) -> Iterator[Use]:
        """`getattr(model, "layers")` is the list; elsewhere a string is a name if code reads names that vary."""
        above = parent_of(module, text)
        match above:
            case ast.Call(func=ast.Name("hasattr"), args=[_, name, *_]) if name is text:
                return
            case ast.Call(func=ast.Name("getattr"), args=[holder, name, *_]) if name is text:
                if not self.is_of_another_class(module, holder):
                    yield from self._mention(module, above, holder)
                return
            case ast.Subscript(value=fields) if above.slice is text and (held := _object_of(fields)) is not None:
                if not self.is_of_another_class(module, held):
                    yield from self._mention(module, above, held)
                return
        calls = [each for each in ancestors(module, text) if isinstance(each, ast.Call)]
        by_fields = any(_object_of(getattr(each.func, "value", each.func)) is not None for each in calls)
        names = {getattr(each.func, "attr", getattr(each.func, "id", "")) for each in calls}
        patches = self.project.index.patches
        reads = patches.loose_reads(module)
        by_function = by_fields or names & {"attrgetter", *patches.loose_readers}
        if by_function or reads:
            around = (Context(home_of(self.project, module, each), frozenset()).uses(each) for each in reads)
            changes = by_function or any(use.does is Does.OTHER for found in around for use in found)
            use = self._other(module, text, f"code may read `{self.name}` by its name")
            yield use if changes else replace(use, does=Does.OBJECT)


def _object_of(node: ast.expr) -> ast.expr | None:
    """The object whose fields `vars(model)` and `model.__dict__` hold."""
    match node:
        case ast.Call(func=ast.Name("vars"), args=[holder]) | ast.Attribute(value=holder, attr="__dict__"):
            return holder
        case _:
            return None


def _gives_part(module: Module, node: ast.expr) -> bool:
    """True if a function returns a part of what an expression stands for: `return self.layers[0].weight`.

    What calls of the elements give is no part: `return [layer(x) for layer in self.layers]`.
    """
    parts = (ast.Attribute, ast.Subscript, ast.Tuple, ast.List, ast.IfExp, ast.Starred, ast.comprehension, ast.ListComp)
    above = parent_of(module, node)
    while isinstance(above, parts) and not isinstance(getattr(above, "elt", None), ast.Call):
        above = parent_of(module, above)
    return isinstance(above, ast.Return)
