"""The numbers that a loop counts through: `range(n)`, `reversed(range(n))`, what `enumerate` counts, a list of them."""

from collections.abc import Sequence
from dataclasses import dataclass

import libcst as cst

from scanify.analysis.code import code_of
from scanify.analysis.dotted import dotted

_COUNT = 2  # `range(0, n)`; with a third argument it may step


@dataclass(frozen=True, eq=False)
class Numbers:
    """Numbers that an expression gives each time that it is evaluated, in order.

    `of` is the dotted name of a list whose own numbers they are, 0 to its length, where they are that. `keys_of` is
    that of a dict whose keys are walked instead, if it is one; `in_order` says that they are walked in its own order.
    """

    node: cst.BaseExpression
    of: str | None = None
    keys_of: str | None = None
    in_order: bool = False

    def expression(self) -> cst.BaseExpression:
        """The expression, made anew: no node stands in a tree twice."""
        node = self.node.deep_clone()
        assert isinstance(node, cst.BaseExpression)
        return node

    def keys(self, container: str) -> bool:
        """Whether these are the keys of a dict in its own order, if it is one."""
        return self.in_order and self.keys_of == container

    def are_places(self, number: cst.BaseExpression, index: str) -> bool:
        """Whether no two turns can speak of one place of a list, as -1 and 2 may be: by `i`, `i + 1`, `i - start`."""
        match number:
            case cst.Name(value=name):
                return name == index and _are_places(self.node)
            case cst.BinaryOperation(left=left, operator=cst.Add(), right=cst.Integer()):
                return dotted(left) == index and _are_places(self.node)
            case cst.BinaryOperation(left=left, operator=cst.Subtract(), right=right):
                return dotted(left) == index and self._begins_with(right)
            case _:
                return False

    def _begins_with(self, start: cst.BaseExpression) -> bool:
        match self.node:
            case cst.Call(func=cst.Name(value="range"), args=[cst.Arg(value=first), cst.Arg()]):
                return code_of(first) == code_of(start)
            case _:
                return False

    def counts(self, container: str) -> bool:
        """Whether these are the numbers of a list's own elements."""
        return self.of == container


@dataclass(frozen=True, eq=False)
class Walk:
    """A loop's index, the numbers that it goes through, and what is walked beside it: targets with sources."""

    index: str
    numbers: Numbers
    beside: tuple[tuple[cst.BaseExpression, cst.BaseExpression], ...] = ()


def numbers_of(target: cst.BaseExpression, walked: cst.BaseExpression) -> Walk | None:
    """What the head of a loop counts through; None where it does not count, or what it walks is evaluated only once.

    `for i in range(n)`, `for i, k in enumerate(keys)`, `for i, k in zip(range(n), keys)`, `for i in order`.
    """
    if isinstance(target, cst.Name):
        numbers = _keys(walked) or _numbers(walked)
        return Walk(target.value, numbers) if numbers is not None else None
    name = dotted(walked.func) if isinstance(walked, cst.Call) else None
    if not isinstance(walked, cst.Call) or not isinstance(target, cst.Tuple | cst.List):
        return None
    if any(isinstance(one, cst.StarredElement) for one in target.elements) or any(arg.star for arg in walked.args):
        return None
    targets = [one.value for one in target.elements]
    if name == "enumerate" and len(targets) == 2:
        return _enumerated(targets, walked)
    sources = _zip_sources(walked) if name == "zip" else None
    return _zipped(targets, sources) if sources is not None and len(targets) == len(sources) else None


def _numbers(node: cst.BaseExpression) -> Numbers | None:
    match node:
        case cst.Call(func=cst.Name(value="range"), args=args):
            values = [arg.value for arg in args]
            if (
                not values
                or not all(arg.keyword is None and not arg.star for arg in args)
                or not all(map(_pure, values))
            ):
                return None
            if len(values) == _COUNT and code_of(values[0]) == "0":
                node, values = cst.Call(cst.Name("range"), [cst.Arg(values[1])]), values[1:]
            return Numbers(node, _measured(values[0]) if len(values) == 1 else None)
        case cst.Call(func=cst.Name(value="reversed"), args=[cst.Arg(star="", keyword=None, value=inner)]):
            return Numbers(node) if _numbers(inner) is not None else None
        case cst.Subscript(value=cst.Call() as inner, slice=[cst.SubscriptElement(slice=cst.Slice() as part)]):
            ends = [one for one in (part.lower, part.upper, part.step) if one is not None]
            return Numbers(node) if _numbers(inner) is not None and all(map(_pure, ends)) else None
        case cst.Tuple(elements=elements) | cst.List(elements=elements):
            literal = elements and all(isinstance(one.value, cst.Integer | cst.SimpleString) for one in elements)
            return Numbers(node) if literal else None
        case _:
            return None


def _keys(node: cst.BaseExpression) -> Numbers | None:
    """What walks the keys of a dict: `blocks`, `blocks.keys()`, `sorted(blocks)`, `list(blocks)`."""
    match node:
        case cst.Name() | cst.Attribute():
            name = dotted(node)
            return Numbers(node, keys_of=name, in_order=True) if name is not None else None
        case cst.Call(func=cst.Attribute(value=owner, attr=cst.Name(value="keys")), args=[]):
            return _keys(owner) if dotted(owner) is not None else None
        case cst.Call(func=cst.Name(value="list" | "tuple"), args=[cst.Arg(star="", keyword=None, value=inner)]):
            return _keys(inner)
        case cst.Call(func=cst.Name(value="sorted"), args=[cst.Arg(star="", keyword=None, value=inner), *rest]):
            how = [arg.keyword.value for arg in rest if arg.keyword is not None and dotted(arg.value) is not None]
            found = _keys(inner) if how in ([], ["reverse"]) and len(how) == len(rest) else None
            return Numbers(node, keys_of=found.keys_of) if found is not None else None
        case _:
            return None


def label(node: cst.BaseExpression) -> bool:
    """Whether an expression is a name made of numbers: `f"block{i}"`, `str(i)`, `"block" + str(i)`, `"block%d" % i`."""
    match node:
        case cst.SimpleString():
            return True
        case cst.FormattedString(parts=parts):
            return all(isinstance(one, cst.FormattedStringText) or _formatted(one) for one in parts)
        case cst.Call(func=cst.Name(value="str"), args=[cst.Arg(star="", keyword=None, value=value)]):
            return arithmetic(value)
        case cst.BinaryOperation(left=left, operator=cst.Add(), right=right):
            return label(left) and label(right)
        case cst.BinaryOperation(left=cst.SimpleString(), operator=cst.Modulo(), right=right):
            return arithmetic(right)
        case _:
            return False


def _formatted(part: cst.BaseFormattedStringContent) -> bool:
    """`{i}`, `{i + 1:02d}`."""
    if not isinstance(part, cst.FormattedStringExpression) or not arithmetic(part.expression):
        return False
    return all(isinstance(one, cst.FormattedStringText) for one in part.format_spec or ())


def _are_places(node: cst.CSTNode) -> bool:
    match node:
        case cst.Call(func=cst.Name(value="reversed"), args=[cst.Arg(value=inner)]):
            return _are_places(inner)
        case cst.Call(func=cst.Name(value="range"), args=[_]):
            return True
        case cst.Call(func=cst.Name(value="range"), args=[cst.Arg(value=first), cst.Arg()]):
            return isinstance(first, cst.Integer)
        case cst.Call(func=cst.Name(value="range"), args=[_, cst.Arg(value=last), cst.Arg(value=step)]):
            return code_of(last) == code_of(step) == "-1"
        case cst.Tuple(elements=elements) | cst.List(elements=elements):
            literals = [one.value for one in elements if isinstance(one.value, cst.Integer | cst.SimpleString)]
            found = [one.evaluated_value for one in literals]
            return len(set(found)) == len(elements)
        case _:
            return False


def _measured(node: cst.BaseExpression) -> str | None:
    """`self.layers` of `len(self.layers)`."""
    match node:
        case cst.Call(func=cst.Name(value="len"), args=[cst.Arg(star="", keyword=None, value=value)]):
            return dotted(value)
        case _:
            return None


def _pure(node: cst.BaseExpression) -> bool:
    """Whether evaluating an expression again gives the same number: names, attributes, `len`, `min`, arithmetic."""
    match node:
        case cst.Integer():
            return True
        case cst.Name() | cst.Attribute():
            return dotted(node) is not None
        case cst.UnaryOperation(expression=inner):
            return _pure(inner)
        case cst.BinaryOperation(left=left, right=right):
            return _pure(left) and _pure(right)
        case cst.Call(func=cst.Name(value="len" | "min" | "max" | "int" | "abs"), args=args):
            return all(arg.keyword is None and not arg.star and _pure(arg.value) for arg in args)
        case cst.Subscript(value=value, slice=[cst.SubscriptElement(slice=cst.Index(value=inner))]):
            return dotted(value) is not None and _pure(inner)  # `config.depths[0]`, `x.shape[0]`
        case _:
            return False


def arithmetic(node: cst.BaseExpression) -> bool:
    """Whether an expression is a number computed from names: evaluating it twice is evaluating it once."""
    match node:
        case cst.Integer() | cst.Name() | cst.Attribute():
            return isinstance(node, cst.Integer) or dotted(node) is not None
        case cst.UnaryOperation(operator=cst.Minus(), expression=inner):
            return arithmetic(inner)
        case cst.BinaryOperation(left=left, right=right):
            return arithmetic(left) and arithmetic(right)
        case cst.Call(func=cst.Name(value="len"), args=[cst.Arg(star="", keyword=None, value=value)]):
            return dotted(value) is not None
        case _:
            return False


def _enumerated(targets: Sequence[cst.BaseExpression], walked: cst.Call) -> Walk | None:
    """`for i, k in enumerate(keys)`: as many numbers as there are keys."""
    index = targets[0]
    if not isinstance(index, cst.Name) or not walked.args or walked.args[0].keyword is not None:
        return None
    beside = _beside(targets[1], walked.args[0].value)
    rest = [arg.value for arg in walked.args[1:] if arg.keyword is None or arg.keyword.value == "start"]
    if beside is None or len(rest) != len(walked.args) - 1 or not all(map(_pure, rest)):
        return None
    measured = next((counted for _, source in beside if (counted := _counted(source)) is not None), None)
    if measured is None:
        return None
    count = cst.Call(cst.Name("len"), [cst.Arg(_clone(measured))])
    if not rest:
        return Walk(index.value, Numbers(cst.Call(cst.Name("range"), [cst.Arg(count)]), dotted(measured)), beside)
    start, stop = _clone(rest[0]), cst.BinaryOperation(_clone(rest[0]), cst.Add(), count)
    return Walk(index.value, Numbers(cst.Call(cst.Name("range"), [cst.Arg(start), cst.Arg(stop)])), beside)


def _beside(
    target: cst.BaseExpression, walked: cst.BaseExpression
) -> tuple[tuple[cst.BaseExpression, cst.BaseExpression], ...] | None:
    """What `enumerate` is given: one thing, or what a `zip` is given."""
    if not isinstance(walked, cst.Call) or dotted(walked.func) != "zip":
        return ((target, walked),)
    sources = _zip_sources(walked)
    if sources is None or not isinstance(target, cst.Tuple | cst.List) or len(sources) != len(target.elements):
        return None
    if any(isinstance(one, cst.StarredElement) for one in target.elements):
        return None
    return tuple((one.value, source) for one, source in zip(target.elements, sources, strict=True))


def _zip_sources(walked: cst.Call) -> list[cst.BaseExpression] | None:
    """What a `zip` walks; `strict` is nothing that it walks."""
    plain = [arg for arg in walked.args if arg.keyword is None or arg.keyword.value != "strict"]
    if any(arg.keyword is not None or arg.star for arg in plain):
        return None
    return [arg.value for arg in plain]


def _counted(node: cst.BaseExpression) -> cst.BaseExpression | None:
    """The list of which a source has as many elements, where asking for its length again is the same."""
    match node:
        case cst.Call(func=cst.Name(value="reversed" | "list" | "tuple"), args=[cst.Arg(star="", keyword=None)]):
            return _counted(node.args[0].value)
        case _:
            return node if _again(node) else None


def _again(node: cst.BaseExpression) -> bool:
    """Whether evaluating an expression again gives the same elements: a name or an attribute, or a slice of it."""
    if isinstance(node, cst.Subscript) and len(node.slice) == 1 and isinstance(part := node.slice[0].slice, cst.Slice):
        ends = [one for one in (part.lower, part.upper, part.step) if one is not None]
        return dotted(node.value) is not None and all(map(_pure, ends))
    return dotted(node) is not None


def _zipped(targets: Sequence[cst.BaseExpression], sources: Sequence[cst.BaseExpression]) -> Walk | None:
    """`for i, k in zip(range(n), keys)`: a `zip` that ends before the numbers do is an error of the lengths."""
    counted = [
        (one, numbers)
        for one, source in zip(targets, sources, strict=True)
        if isinstance(one, cst.Name) and isinstance(source, cst.Call) and (numbers := _numbers(source)) is not None
    ]
    if len(counted) != 1:
        return None
    index, numbers = counted[0]
    assert isinstance(index, cst.Name)
    rest = tuple((one, source) for one, source in zip(targets, sources, strict=True) if one is not index)
    return Walk(index.value, numbers, rest)


def _clone(node: cst.BaseExpression) -> cst.BaseExpression:
    clone = node.deep_clone()
    assert isinstance(clone, cst.BaseExpression)
    return clone
