"""Read the elements that expressions put into a list, by the shapes that people write; others are obligations."""

import ast
from collections.abc import Sequence
from dataclasses import replace

from scanify.analysis.classes.nnx import NNX_LIST
from scanify.analysis.index.meaning import Definition, External
from scanify.analysis.lists.contents import PLAIN, Contents, How, is_empty, is_none, is_placeholder
from scanify.analysis.lists.home import COMPUTING, Home, class_meant, given_in
from scanify.analysis.lists.layer_list import CALLED, Argument, Class, Made, class_name, not_shown
from scanify.analysis.lists.statements import Grown, Other, Put, statements_about
from scanify.analysis.lists.varies import Variation, plain_count
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import parent_of
from scanify.analysis.project_facts import ProjectFacts

_SEQUENTIALS = ("equinox.nn.Sequential", "equinox.nn._sequential.Sequential", "flax.nnx.Sequential")
_LISTS = ("list", "tuple")
_DATA = ("range", "str", "int", "float", "len", "set", "frozenset", "bytes", "sum")


class ContentsReader:
    """Reads what lists hold; `contents` has the result of all that was read."""

    def __init__(self, project: ProjectFacts) -> None:
        self.project = project
        self.contents = Contents()
        self._read: set[tuple[object, str]] = set()  # blocks and functions that are read, each once, with the name

    def _open(self, home: Home, node: ast.AST, text: str = "") -> None:
        text = text or f"what `{home.module.code(node)}` gives is not shown"
        self.contents.open.append(not_shown(text, home.module.place(node)))

    # -- a list ----------------------------------------------------------------------------------------------------

    def value(self, home: Home, node: ast.expr, how: How = PLAIN) -> None:
        """Read an expression whose value is the list, or a part of it."""
        match node:
            case ast.ListComp(elt=element, generators=loops):
                self._comprehension(home, element, loops, how)
            case ast.GeneratorExp(elt=element, generators=loops) if isinstance(parent_of(home.module, node), ast.Call):
                self._comprehension(home, element, loops, how)
            case ast.DictComp(value=element, generators=loops):
                self.contents.of_dict = True
                self._comprehension(home, element, loops, how)
            case ast.Dict(values=elements) | ast.List(elts=elements) | ast.Tuple(elts=elements):
                self.contents.of_dict |= isinstance(node, ast.Dict)
                self._display(home, elements, how)
            case ast.BinOp(op=ast.Add()):
                self.value(home, node.left, how)
                self.value(home, node.right, how)
            case (
                ast.BinOp(op=ast.Mult(), left=ast.List() | ast.Tuple() as listed, right=count)
                | ast.BinOp(op=ast.Mult(), left=count, right=ast.List() | ast.Tuple() as listed)
            ):
                if all(map(is_none, listed.elts)):
                    self._open(home, node, "an element may be None")
                else:
                    self.value(home, listed, replace(how, shared=True, times=home.module.code(count)))
            case ast.IfExp(body=body, orelse=orelse):
                self.value(home, body, replace(how, conditional=True))
                self.value(home, orelse, replace(how, conditional=True))
            case ast.Constant(value=None):
                self.contents.optional = True
            case ast.Constant():
                self.contents.data = ast.unparse(node)
            case ast.Call():
                self._call(home, node, how)
            case ast.Name():
                self._name(home, node, how)
            case _:
                self._open(home, node)

    def _comprehension(self, home: Home, element: ast.expr, loops: Sequence[ast.comprehension], how: How) -> None:
        conditional = how.conditional or any(each.ifs for each in loops)
        self.element(home, element, replace(how, loops=(*how.loops, *loops), conditional=conditional))

    def _display(self, home: Home, elements: Sequence[ast.expr], how: How) -> None:
        self.contents.may_be_empty |= not elements and not how.loops
        texts = [ast.unparse(each) for each in elements if isinstance(each, ast.Name | ast.Attribute)]
        for each in elements:
            if isinstance(each, ast.Starred):
                self.value(home, each.value, how)
            else:
                again = isinstance(each, ast.Name | ast.Attribute) and texts.count(ast.unparse(each)) > 1
                self.element(home, each, replace(how, shared=True) if again else how)

    def _call(self, home: Home, node: ast.Call, how: How) -> None:
        name, library = home.builtin(node), home.library(node)
        given = [value for _, value in given_in(node)]
        sequential = library in _SEQUENTIALS
        self.contents.sequential |= sequential
        if is_empty(home, node):
            self.contents.may_be_empty = True
            self.contents.of_dict |= name == "dict"
        elif name in _LISTS or library == NNX_LIST or (sequential and library.startswith("equinox.")):
            if len(given) == 1 and not isinstance(given[0], ast.Starred):
                self.value(home, given[0], how)
            else:
                self._open(home, node)
        elif not how.loops and (found := _returned(home, node)) is not None and (found[1], "") not in self._read:
            self._read.add((found[1], ""))  # a function that calls itself is read once
            self.value(*found, how)
        elif library.startswith(("jax.", "numpy.")) or name in _DATA:
            self.contents.data = f"`{home.module.code(node)}`"
        else:
            self._open(home, node)

    def _name(self, home: Home, node: ast.Name, how: How) -> None:
        """Follow a name to what the function around assigns to it."""
        home, name = home.binder(node), node.id
        if home.is_local(node) and home.function is not None:
            if home.is_parameter(name):
                self.contents.parameters.append((home, name))  # be it assigned too: `layers = layers or [...]`
            if home.values_of(name) and not self.filled(home, home.function.body, name, how):
                self._open(home, node)
            return
        self._open(home, node)

    def filled(self, home: Home, body: Sequence[ast.stmt], target: str, how: How = PLAIN) -> bool:
        """Read all that a block of statements puts into the list `target`; False if it does nothing with it."""
        key = (body[0] if body else None, target)
        if key in self._read:
            self._open(home, body[0], f"`{target}` may stand in the list more than once")
            return True
        self._read.add(key)
        found = statements_about(home, body, target)
        puts = [each for each in found if isinstance(each, Put)]
        grown = any(isinstance(each, Grown) for each in found)
        real = [each for each in puts if not is_placeholder(home, each.value)]
        if len(real) > 1:
            self._open(home, real[1].statement, f"`{target}` is filled in several places")
        dicts = (isinstance(each.value, ast.Dict) or home.builtin(each.value) == "dict" for each in puts)
        self.contents.of_dict |= any(dicts)
        for each in found:
            match each:
                case Put() if not (grown and is_empty(home, each.value)):
                    conditional = how.conditional or (each.conditional and len(puts) > 1)
                    self.value(home, each.value, replace(how, conditional=conditional))
                case Grown(keyed=True) if not self.contents.of_dict:
                    self._open(home, each.statement, f"an element of `{target}` is replaced")
                case Grown():
                    outer = puts[0].loops if puts else ()
                    loops = (*how.loops, *(loop for loop in each.loops if loop not in outer))
                    own = replace(how, loops=loops, conditional=how.conditional or each.conditional)
                    own = replace(own, counted=how.counted and not each.early_end)
                    (self.element if each.one else self.value)(home, each.value, own)
                case Other():
                    self._open(home, each.node, each.text)
        return bool(puts) or grown

    # -- an element ------------------------------------------------------------------------------------------------

    def element(self, home: Home, node: ast.expr, how: How) -> None:
        """Read an expression whose value is one element."""
        match node:
            case ast.Call():
                self._made(home, node, how)
            case ast.IfExp(body=body, orelse=orelse):
                self.element(home, body, replace(how, conditional=True))
                self.element(home, orelse, replace(how, conditional=True))
            case ast.Constant(value=None):
                self._not_shown(home, node, "an element may be None", how)
            case ast.Constant() | ast.JoinedStr() | ast.UnaryOp() | ast.Compare() | ast.Lambda():
                self.contents.data = f"`{home.module.code(node)}`"
            case ast.Name() | ast.Attribute() if _is_function(home, node):
                self.contents.data = f"`{home.module.code(node)}`"
            case ast.Name():
                self._named_element(home, node, how)
            case _:
                text = f"what `{home.module.code(node)}` gives is not shown"
                self._not_shown(home, node, text, replace(how, shared=how.shared or isinstance(node, ast.Subscript)))

    def _named_element(self, home: Home, node: ast.Name, how: How) -> None:
        """An element with a name: the call that the function assigns to it, in the innermost loop or outside of it."""
        bound = home.values_of(node.id) if home.is_local(node) else []
        match bound:
            case [(statement, ast.Call() as value)] if not home.is_parameter(node.id):
                fresh = not how.loops or statement in getattr(how.loops[-1], "body", ())
                self._made(home, value, replace(how, shared=how.shared or not fresh))
            case _:
                if home.is_local(node) and home.is_parameter(node.id):
                    self.contents.parameters.append((home, node.id))
                self._not_shown(home, node, f"what `{node.id}` stands for is not shown", how)

    def _not_shown(self, home: Home, node: ast.expr, text: str, how: How) -> None:
        self._open(home, node, text)
        self._add(home, node, None, (), how)

    # -- a call that makes a layer -----------------------------------------------------------------------------------

    def _made(self, home: Home, node: ast.Call, how: How) -> None:
        called, library = class_meant(home, node.func), home.library(node)
        classes, name, given = self.project.classes, home.module.code(node.func), given_in(node)
        if called is None:
            if library.startswith((*COMPUTING, "equinox.filter_")) or home.builtin(node) in _LISTS:
                self.contents.data = f"`{home.module.code(node)}`"
            else:
                self._open(home, node, f"what `{name}` makes is not shown")
                self._add(home, node, None, [(CALLED, node.func), *given], how)
            return
        if not classes.is_module(called):
            if isinstance(called, Definition) and (classes.known_bases(called) or classes.is_foreign(called)):
                self.contents.data = f"`{class_name(called)}`"
                return
            self._open(home, node, f"whether `{name}` makes a module is not shown")
        elif isinstance(called, Definition) and (odd := classes.oddity(called)) is not None:
            self._open(home, node, f"what `{name}` makes is not shown: {odd}")
        self._add(home, node, called, given, how)

    def _add(
        self, home: Home, node: ast.expr, cls: Class | None, given: Sequence[tuple[str | None, ast.expr]], how: How
    ) -> None:
        """Add an expression that makes layers."""
        vary = Variation(home, how.loops)
        count = how.times if how.times is not None else plain_count(home, how.loops) if how.loops else None
        made = Made(
            module=home.module,
            node=node,
            cls=cls,
            arguments=tuple(Argument(name, each, vary.of(each), vary.takes_few_values(each)) for name, each in given),
            repeated=bool(how.loops) or how.times is not None,
            conditional=how.conditional,
            shared=how.shared,
            count=count if how.counted and not how.conditional else None,
            loops=tuple(each for each in how.loops if not isinstance(each, ast.While)),
        )
        self.contents.made.append(made)


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
    """The value that a function of the project returns, if its only `return` is its last statement."""
    meaning = home.meaning(node.func)
    function = meaning.node if isinstance(meaning, Definition) else None
    if not isinstance(meaning, Definition) or not isinstance(function, ast.FunctionDef) or function.decorator_list:
        return None
    leaves = [each for each in nodes_in(*function.body) if isinstance(each, ast.Return | ast.Yield | ast.YieldFrom)]
    last = function.body[-1]
    if len(leaves) != 1 or not isinstance(last, ast.Return) or last.value is None:
        return None
    return Home(home.project, meaning.module, function), last.value
