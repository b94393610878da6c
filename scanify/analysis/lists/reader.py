"""Read the elements that expressions put into a list, by the shapes that people write; others are obligations."""

import ast
from collections.abc import Sequence
from dataclasses import replace

from scanify.analysis.classes.nnx import NNX_LIST
from scanify.analysis.flow.names import target_names
from scanify.analysis.index.meaning import Definition, External
from scanify.analysis.lists.contents import (
    PLAIN,
    Contents,
    How,
    is_empty,
    is_none,
    is_placeholder,
)
from scanify.analysis.lists.home import COMPUTING, TRANSFORMS, Home, class_meant, given_in
from scanify.analysis.lists.layer_list import CALLED, Argument, Class, Made, Varies, class_name, not_shown
from scanify.analysis.lists.statements import Grown, Other, Put, statements_about
from scanify.analysis.lists.varies import Variation, plain_count
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import ancestors, parent_of
from scanify.analysis.project_facts import ProjectFacts

_SEQUENTIALS = ("equinox.nn.Sequential", "equinox.nn._sequential.Sequential", "flax.nnx.Sequential")
_LISTS = ("list", "tuple")
_DATA = ("range", "str", "int", "float", "len", "set", "frozenset", "bytes", "sum")


class ContentsReader:
    """Reads what lists hold; `contents` has the result of all that was read."""

    def __init__(self, project: ProjectFacts) -> None:
        self.project = project
        self.contents = Contents()
        self._followed: set[tuple[object, str]] = set()
        self._returns: list[ast.expr] = []
        self._elements: list[str] = []

    # -- a list ----------------------------------------------------------------------------------------------------

    def value(self, home: Home, node: ast.expr, how: How = PLAIN) -> None:
        """Read an expression whose value is the list, or a part of it."""
        match node:
            case ast.GeneratorExp() if not isinstance(parent_of(home.module, node), ast.Call):
                self._unknown(home, node)
            case ast.ListComp() | ast.GeneratorExp():
                self._comprehension(home, node.elt, node.generators, how)
            case ast.DictComp():
                self.contents.of_dict = True
                self._comprehension(home, node.value, node.generators, how)
            case ast.Dict(values=values):
                self.contents.of_dict = True
                self._display(home, values, how)
            case ast.List(elts=elements) | ast.Tuple(elts=elements):
                self._display(home, elements, how)
            case ast.BinOp(op=ast.Add()):
                self.value(home, node.left, how)
                self.value(home, node.right, how)
            case ast.BinOp(op=ast.Mult(), left=left, right=right):
                listed, count = (left, right) if isinstance(left, ast.List | ast.Tuple) else (right, left)
                if isinstance(listed, ast.List | ast.Tuple) and all(map(is_none, listed.elts)):
                    self.contents.open.append(not_shown("an element may be None", home.module.place(node)))
                elif isinstance(listed, ast.List | ast.Tuple):
                    self.value(home, listed, replace(how, shared=True, times=home.module.code(count)))
                else:
                    self._unknown(home, node)
            case ast.IfExp(body=body, orelse=orelse):
                self.value(home, body, replace(how, conditional=True))
                self.value(home, orelse, replace(how, conditional=True))
            case ast.Constant(value=None):
                self.contents.optional = True
            case ast.Constant():
                self.contents.data = ast.unparse(node)
            case ast.Call():
                self._call(home, node, how)
            case ast.Name(id=name):
                self._name(home, node, name, how)
            case _:
                self._unknown(home, node)

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
        given = [*node.args, *(each.value for each in node.keywords)]
        if name in _LISTS or library == NNX_LIST or name == "dict":
            if len(given) == 1 and not isinstance(given[0], ast.Starred) and name != "dict":
                self.value(home, given[0], how)
            elif not given:
                self.contents.may_be_empty = True
                self.contents.of_dict |= name == "dict"
            else:
                self._unknown(home, node)
        elif library in _SEQUENTIALS:
            self.contents.sequential = True
            if len(given) == 1 and library.startswith("equinox."):
                self.value(home, given[0], how)
            else:
                self._unknown(home, node)
        elif not how.loops and (found := _returned(home, node)) is not None and found[1] not in self._returns:
            self._returns.append(found[1])  # a function that calls itself is read once
            self.value(*found, how)
        elif (library.startswith(("jax.", "numpy.")) and library not in TRANSFORMS) or name in _DATA:
            self.contents.data = f"`{home.module.code(node)}`"
        else:
            self._unknown(home, node)

    def _name(self, home: Home, node: ast.Name, name: str, how: How) -> None:
        """Follow a name to what the function around assigns to it."""
        home = home.binder(node)
        if home.is_local(node) and home.function is not None:
            if home.is_parameter(name):
                self.contents.parameters.append((home, name))  # be it assigned too: `layers = layers or [...]`
            if home.values_of(name) and not self.filled(home, home.function.body, name, how):
                self._unknown(home, node)
            return
        meaning = home.meaning(node)
        value = getattr(meaning.node, "value", None) if isinstance(meaning, Definition) else None
        if isinstance(meaning, Definition) and isinstance(value, ast.expr):
            text = f"`{name}` is a list of the whole module, which any code may change"
            self.contents.open.append(not_shown(text, meaning.module.place(meaning.node)))
            self.contents.lasting = True
            self.value(Home(self.project, meaning.module, None), value, how)
        else:
            self._unknown(home, node)

    def filled(self, home: Home, body: Sequence[ast.stmt], target: str, how: How = PLAIN) -> bool:
        """Read all that a block of statements puts into the list `target`; False if it does nothing with it."""
        key = (body[0] if body else None, target)
        if key in self._followed:
            text = f"`{target}` may stand in the list more than once"
            self.contents.open.append(not_shown(text, home.module.place(body[0])))
            return True
        self._followed.add(key)
        found = statements_about(home, body, target)
        puts = [each for each in found if isinstance(each, Put)]
        if not any(isinstance(each, Put | Grown) for each in found):
            return False
        real = [each for each in puts if not is_placeholder(home, each.value)]
        if len(real) > 1:
            text = f"`{target}` is filled in several places"
            self.contents.open.append(not_shown(text, home.module.place(real[1].statement)))
        outer = puts[0].loops if puts else ()
        self.contents.of_dict |= any(
            isinstance(each.value, ast.Dict) or home.builtin(each.value) == "dict" for each in puts
        )
        grown = any(isinstance(each, Grown) for each in found)
        for each in found:
            match each:
                case Put():
                    if not (grown and is_empty(home, each.value)):
                        conditional = how.conditional or (each.conditional and len(puts) > 1)
                        self.value(home, each.value, replace(how, conditional=conditional))
                case Grown(keyed=True) if not self.contents.of_dict:
                    self.contents.open.append(
                        not_shown(f"an element of `{target}` is replaced", home.module.place(each.statement))
                    )
                case Grown():
                    own = replace(
                        how,
                        loops=(*how.loops, *(loop for loop in each.loops if loop not in outer)),
                        conditional=how.conditional or each.conditional,
                        counted=how.counted and not each.early_end,
                    )
                    (self.element if each.one else self.value)(home, each.value, own)
                case Other():
                    self.contents.open.append(not_shown(each.text, home.module.place(each.node)))
        return True

    def _unknown(self, home: Home, node: ast.expr) -> None:
        text = f"what `{home.module.code(node)}` gives is not shown"
        self.contents.open.append(not_shown(text, home.module.place(node)))

    # -- an element ------------------------------------------------------------------------------------------------

    def element(self, home: Home, node: ast.expr, how: How) -> None:
        """Read an expression whose value is one element."""
        match node:
            case ast.Call():
                self._made(home, node, how)
            case ast.IfExp(body=body, orelse=orelse):
                self.element(home, body, replace(how, conditional=True))
                self.element(home, orelse, replace(how, conditional=True))
            case ast.Lambda():
                self.contents.functions = True
            case ast.Constant(value=None):
                self._not_shown(home, node, "an element may be None", how)
            case ast.Constant() | ast.JoinedStr() | ast.UnaryOp() | ast.Compare():
                self.contents.data = f"`{home.module.code(node)}`"
            case ast.Name():
                self._named_element(home, node, how)
            case ast.Subscript():
                text = f"what `{home.module.code(node)}` gives is not shown"
                self._not_shown(home, node, text, replace(how, shared=True))
            case ast.Attribute() if self._is_function(home, node):
                self.contents.functions = True
            case _:
                self._not_shown(home, node, f"what `{home.module.code(node)}` gives is not shown", how)

    def _is_function(self, home: Home, node: ast.expr) -> bool:
        meaning = home.meaning(node)
        if isinstance(meaning, External):
            return meaning.qualname.startswith(("jax.", "builtins.", "numpy."))
        return isinstance(meaning, Definition) and isinstance(meaning.node, ast.FunctionDef | ast.ClassDef)

    def _named_element(self, home: Home, node: ast.Name, how: How) -> None:
        """An element with a name: what the function assigns to it, in the loop that makes the layers or outside."""
        name = node.id
        if self._is_function(home, node):
            self.contents.functions = True
            return
        loops = [each for each in how.loops if not isinstance(each, ast.While)]
        walked = any(name in target_names(each.target) for each in loops)
        if walked and Variation(home, how.loops).of(node) in (Varies.KEY, Varies.INDEX):
            self.contents.data = f"`{name}`"
            return
        parameter = home.is_local(node) and home.is_parameter(name)
        known = home.is_local(node) and not parameter and name not in self._elements
        match home.values_of(name) if known else []:
            case [(statement, ast.expr() as value)]:
                around = list(ancestors(home.module, statement))
                inner = how.loops[-1] if how.loops else None
                fresh = inner is None or (isinstance(inner, ast.For | ast.While) and statement in inner.body)
                chosen = inner not in around and any(isinstance(each, ast.If) for each in around)
                self._elements.append(name)
                own = replace(how, conditional=how.conditional or chosen, shared=how.shared or not fresh)
                self.element(home, value, own)
                self._elements.pop()
            case _:
                if parameter:
                    self.contents.parameters.append((home, name))
                self._not_shown(home, node, f"what `{name}` stands for is not shown", how)

    def _not_shown(self, home: Home, node: ast.expr, text: str, how: How) -> None:
        self.contents.open.append(not_shown(text, home.module.place(node)))
        self.contents.made.append(self._made_of(home, node, None, (), how))

    # -- a call that makes a layer -----------------------------------------------------------------------------------

    def _made(self, home: Home, node: ast.Call, how: How) -> None:
        called = class_meant(home, node.func)
        classes = self.project.classes
        name = home.module.code(node.func)
        if called is None:
            self._call_not_shown(home, node, how)
            return
        if not classes.is_module(called):
            if isinstance(called, Definition) and (classes.known_bases(called) or classes.is_foreign(called)):
                self.contents.data = f"`{class_name(called)}`"
                return
            text = f"whether `{name}` makes a module is not shown"
            self.contents.open.append(not_shown(text, home.module.place(node)))
        elif isinstance(called, Definition) and (odd := classes.oddity(called)) is not None:
            self.contents.open.append(not_shown(f"what `{name}` makes is not shown: {odd}", home.module.place(node)))
        self.contents.made.append(self._made_of(home, node, called, _arguments(home, given_in(node), how), how))

    def _call_not_shown(self, home: Home, node: ast.Call, how: How) -> None:
        library = home.library(node)
        if library in TRANSFORMS or library.startswith("equinox.filter_"):
            self.contents.functions = True
        elif library.startswith(COMPUTING) or home.builtin(node) in _LISTS:
            self.contents.data = f"`{home.module.code(node)}`"
        else:
            text = f"what `{home.module.code(node.func)}` makes is not shown"
            self.contents.open.append(not_shown(text, home.module.place(node)))
            given = [(CALLED, node.func), *given_in(node)]
            self.contents.made.append(self._made_of(home, node, None, _arguments(home, given, how), how))

    def _made_of(
        self, home: Home, node: ast.expr, cls: Class | None, arguments: tuple[Argument, ...], how: How
    ) -> Made:
        count = how.times if how.times is not None else plain_count(home, how.loops) if how.loops else None
        return Made(
            module=home.module,
            node=node,
            cls=cls,
            arguments=arguments,
            repeated=bool(how.loops) or how.times is not None,
            conditional=how.conditional,
            shared=how.shared,
            count=count if how.counted and not how.conditional else None,
            loops=tuple(each for each in how.loops if not isinstance(each, ast.While)),
        )


def _arguments(home: Home, given: Sequence[tuple[str | None, ast.expr]], how: How) -> tuple[Argument, ...]:
    variation = Variation(home, how.loops)
    return tuple(Argument(name, value, variation.of(value), variation.takes_few_values(value)) for name, value in given)


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
