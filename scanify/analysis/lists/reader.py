"""Read the elements that expressions put into a list, in the common forms; any other form is an obligation."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from scanify.analysis.classes.nnx import NNX_LIST
from scanify.analysis.index.meaning import Definition, External
from scanify.analysis.lists.home import COMPUTING, Home, Repeat, class_meant, given_in, is_none
from scanify.analysis.lists.layer_list import CALLED, Argument, Class, Made, class_name, not_shown
from scanify.analysis.lists.statements import Grown, Other, Put, statements_about
from scanify.analysis.lists.varies import Variation, plain_count
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import parent_of
from scanify.analysis.obligation import Obligation
from scanify.analysis.project_facts import ProjectFacts

_LISTS = ("list", "tuple")
_DATA = ("range", "str", "int", "float", "len", "set", "frozenset", "bytes", "sum")


@dataclass(frozen=True, eq=False)
class How:
    """How a place fills the list: in which loops, whether under a condition, and whether with one shared object."""

    loops: tuple[Repeat, ...] = ()
    conditional: bool = False
    shared: bool = False


PLAIN = How()


@dataclass(eq=False)
class Contents:
    """The known contents of a list. `data` is the text of an element that is no module, such as a function.

    `parameters` are the function parameters whose values are elements, or the list. The other fields are as in
    `LayerList`.
    """

    made: list[Made] = field(default_factory=list)
    open: list[Obligation] = field(default_factory=list)
    parameters: list[tuple[Home, str]] = field(default_factory=list)
    data: str = ""
    optional: bool = False
    of_dict: bool = False
    may_be_empty: bool = False


class ContentsReader:
    """Reads the contents of lists; `contents` accumulates the results."""

    def __init__(self, project: ProjectFacts) -> None:
        self.project = project
        self.contents = Contents()
        self._read: set[tuple[object, str]] = set()  # blocks and functions already read, with the name of the list

    def _open(self, home: Home, node: ast.AST, text: str = "") -> None:
        text = text or f"what `{home.module.code(node)}` gives is not shown"
        self.contents.open.append(not_shown(text, home.module.place(node)))

    # -- a list ----------------------------------------------------------------------------------------------------

    def value(self, home: Home, node: ast.expr, how: How) -> None:
        """Read an expression whose value is the list, or a part of it."""
        self.contents.of_dict |= isinstance(node, ast.Dict | ast.DictComp)
        match node:
            case (
                ast.ListComp(elt=element, generators=loops)
                | ast.DictComp(value=element, generators=loops)
                | ast.GeneratorExp(elt=element, generators=loops)
            ) if not isinstance(node, ast.GeneratorExp) or isinstance(parent_of(home.module, node), ast.Call):
                conditional = how.conditional or any(each.ifs for each in loops)
                self.element(home, element, replace(how, loops=(*how.loops, *loops), conditional=conditional))
            case ast.Dict(values=elements) | ast.List(elts=elements) | ast.Tuple(elts=elements):
                self.contents.may_be_empty |= not elements and not how.loops
                for each in elements:
                    if isinstance(each, ast.Starred):
                        self.value(home, each.value, how)
                    else:
                        self.element(home, each, how)
            case ast.BinOp(op=ast.Add()):
                self.value(home, node.left, how)
                self.value(home, node.right, how)
            case ast.BinOp(op=ast.Mult(), left=ast.List(elts=[element])) if not is_none(element):
                self.element(home, element, replace(how, shared=True))
            case ast.IfExp(body=body, orelse=orelse):
                self.value(home, body, replace(how, conditional=True))
                self.value(home, orelse, replace(how, conditional=True))
            case ast.Constant(value=None):
                self.contents.optional = True
            case ast.Constant():
                self.contents.data = ast.unparse(node)
            case ast.Call():
                self._call(home, node, how)
            case ast.Name(id=name) if home.is_local(node) and home.function is not None:
                if home.is_parameter(name):
                    self.contents.parameters.append((home, name))  # even if assigned: `layers = layers or [...]`
                if home.values_of(name) and not self.filled(home, home.function.body, name, how):
                    self._open(home, node)
            case _:
                self._open(home, node)

    def _call(self, home: Home, node: ast.Call, how: How) -> None:
        name, library = home.builtin(node), home.library(node)
        given = [value for _, value in given_in(node)]
        if is_empty(home, node):
            self.contents.may_be_empty = True
            self.contents.of_dict |= name == "dict"
        elif name in _LISTS or library == NNX_LIST:
            self.value(home, given[0], how) if len(given) == 1 else self._open(home, node)
        elif not how.loops and (found := _returned(home, node)) is not None and (found[1], "") not in self._read:
            self._read.add((found[1], ""))  # read a recursive function only once
            self.value(*found, how)
        elif library.startswith(("jax.", "numpy.")) or name in _DATA:
            self.contents.data = f"`{home.module.code(node)}`"
        else:
            self._open(home, node)

    def filled(self, home: Home, body: Sequence[ast.stmt], target: str, how: How) -> bool:
        """Read the values that a block of statements puts into the list `target`; False if it puts no values there."""
        key = (body[0] if body else None, target)
        if key in self._read:
            self._open(home, body[0], f"`{target}` may stand in the list more than once")
            return True
        self._read.add(key)
        found = statements_about(home, body, target)
        grown = [each for each in found if isinstance(each, Grown)]
        puts = [each for each in found if isinstance(each, Put) and each not in grown]
        real = [each for each in puts if not is_placeholder(home, each.value)]
        if len(real) > 1:
            self._open(home, real[1].statement, f"`{target}` is filled in several places")
        self.contents.of_dict |= any(
            isinstance(each.value, ast.Dict) or home.builtin(each.value) == "dict" for each in puts
        )
        for each in found:
            match each:
                case Grown(keyed=True) if not self.contents.of_dict:
                    self._open(home, each.statement, f"an element of `{target}` is replaced")
                case Grown():
                    outer = puts[0].loops if puts else ()
                    loops = (*how.loops, *(loop for loop in each.loops if loop not in outer))
                    own = replace(how, loops=loops, conditional=how.conditional or each.conditional)
                    (self.element if each.one else self.value)(home, each.value, own)
                case Put() if not (grown and is_empty(home, each.value)):
                    conditional = how.conditional or (each.conditional and len(puts) > 1)
                    self.value(home, each.value, replace(how, conditional=conditional))
                case Other():
                    self._open(home, each.node, each.text)
        return bool(puts or grown)

    # -- an element ------------------------------------------------------------------------------------------------

    def element(self, home: Home, node: ast.expr, how: How) -> None:
        """Read an expression whose value is one element."""
        match node:
            case ast.Call():
                self._made(home, node, how)
            case ast.IfExp(body=body, orelse=orelse):
                self.element(home, body, replace(how, conditional=True))
                self.element(home, orelse, replace(how, conditional=True))
            case ast.Constant() | ast.JoinedStr() | ast.UnaryOp() | ast.Compare() | ast.Lambda() if not is_none(node):
                self.contents.data = f"`{home.module.code(node)}`"
            case ast.Name() | ast.Attribute() if _is_function(home, node):
                self.contents.data = f"`{home.module.code(node)}`"
            case ast.Name(id=name) if home.is_local(node):
                self._named_element(home, node, name, how)
            case _:
                shared = how.shared or isinstance(node, ast.Subscript)
                self._not_shown(home, node, (), replace(how, shared=shared))

    def _named_element(self, home: Home, node: ast.Name, name: str, how: How) -> None:
        """Read an element under a name: the call assigned to it, shared if outside of the innermost loop."""
        if home.is_parameter(name):
            self.contents.parameters.append((home, name))
        match home.values_of(name):
            case [(statement, ast.Call() as value)] if not home.is_parameter(name):
                fresh = not how.loops or statement in getattr(how.loops[-1], "body", ())
                self._made(home, value, replace(how, shared=how.shared or not fresh))
            case _:
                self._not_shown(home, node, (), how)

    def _made(self, home: Home, node: ast.Call, how: How) -> None:
        """Add a call that makes layers."""
        called, library = class_meant(home, node.func), home.library(node)
        classes, given = self.project.classes, given_in(node)
        if called is None and (library.startswith((*COMPUTING, "equinox.filter_")) or home.builtin(node) in _LISTS):
            self.contents.data = f"`{home.module.code(node)}`"
        elif called is None:
            self._not_shown(home, node, [(CALLED, node.func), *given], how)
        elif classes.is_module(called):
            odd = classes.oddity(called) if isinstance(called, Definition) else None
            if odd is not None:
                self._open(home, node, f"what `{home.module.code(node.func)}` makes is not shown: {odd}")
            self._add(home, node, called, given, how)
        elif isinstance(called, Definition) and (classes.known_bases(called) or classes.is_foreign(called)):
            self.contents.data = f"`{class_name(called)}`"
        else:
            self._open(home, node, f"whether `{home.module.code(node.func)}` makes a module is not shown")
            self._add(home, node, called, given, how)

    def _not_shown(self, home: Home, node: ast.expr, given: Sequence[tuple[str | None, ast.expr]], how: How) -> None:
        called = f"what `{home.module.code(node.func)}` makes is not shown" if isinstance(node, ast.Call) else ""
        self._open(home, node, "an element may be None" if is_none(node) else called)
        self._add(home, node, None, given, how)

    def _add(
        self, home: Home, node: ast.expr, cls: Class | None, given: Sequence[tuple[str | None, ast.expr]], how: How
    ) -> None:
        """Add an expression that makes layers."""
        vary = Variation(home, how.loops)
        made = Made(
            module=home.module,
            node=node,
            cls=cls,
            arguments=tuple(Argument(name, each, vary.of(each)) for name, each in given),
            repeated=bool(how.loops) or how.shared,
            conditional=how.conditional,
            shared=how.shared,
            count=plain_count(home, how.loops) if not how.conditional else None,
        )
        self.contents.made.append(made)


def is_empty(home: Home, node: ast.expr) -> bool:
    """True for `[]`, `()`, `{}`, `list()` and `nnx.List([])`."""
    if isinstance(node, ast.Call):
        makes_list = home.builtin(node) in (*_LISTS, "dict") or home.library(node) == NNX_LIST
        return makes_list and not node.keywords and all(is_empty(home, each) for each in node.args)
    return not [*getattr(node, "elts", ()), *getattr(node, "values", ())] and isinstance(
        node, ast.Dict | ast.List | ast.Tuple
    )


def is_placeholder(home: Home, node: ast.expr) -> bool:
    """True for None and for an empty list."""
    return is_empty(home, node) or is_none(node)


def _is_function(home: Home, node: ast.expr) -> bool:
    """True if a name or an attribute is a function or a class."""
    match home.meaning(node):
        case External(qualname=name):
            return name.startswith(("jax.", "builtins.", "numpy."))
        case Definition(node=ast.FunctionDef() | ast.ClassDef()):
            return True
        case _:
            return False


def _returned(home: Home, node: ast.Call) -> tuple[Home, ast.expr] | None:
    """Return the expression that a function of the project returns, if its only `return` is its last statement."""
    match home.meaning(node.func):
        case Definition(module=module, node=ast.FunctionDef(body=[*_, last], decorator_list=[]) as function):
            leaves = (ast.Return, ast.Yield, ast.YieldFrom)
            if sum(isinstance(each, leaves) for each in nodes_in(*function.body)) == 1 and isinstance(last, ast.Return):
                return (Home(home.project, module, function), last.value) if last.value is not None else None
    return None
