"""Expressions as documents, broken as ruff and black break them."""

from collections.abc import Sequence

import libcst as cst

from scanify.emit.loops.comments import comments_in
from scanify.emit.text.doc import SOFT, SPACE, Doc, Group, IfBreak, Indent

_CHAINS = (cst.BinaryOperation, cst.BooleanOperation, cst.Comparison)
_PRECEDENCE = (
    (cst.Or,),
    (cst.And,),
    (cst.Not,),
    (cst.BaseCompOp,),
    (cst.BitOr,),
    (cst.BitXor,),
    (cst.BitAnd,),
    (cst.LeftShift, cst.RightShift),
    (cst.Add, cst.Subtract),
    (cst.Multiply, cst.Divide, cst.FloorDivide, cst.Modulo, cst.MatrixMultiply),
    (cst.Power,),
)


class Unsupported(Exception):
    """An expression has a part whose layout is not known here, such as a comment between its tokens."""


def document(node: cst.BaseExpression) -> Doc:
    """Return the layout of an expression inside brackets. Raises Unsupported."""
    if isinstance(node, cst.Tuple) and not node.elements:
        return "()"
    inner = _bare(node)
    magic = isinstance(node, cst.Tuple) and len(node.elements) > 1 and isinstance(node.elements[-1].comma, cst.Comma)
    for _ in getattr(node, "lpar", ()):
        inner = bracketed("(", inner, ")", magic)
    return inner


def code(node: cst.CSTNode) -> str:
    """Return the node's own text, which must be on one line. Raises Unsupported."""
    text = cst.Module([]).code_for_node(node)
    if "\n" in text or "\r" in text or ("#" in text and comments_in(node)):
        raise Unsupported(text)
    return text


def bracketed(opening: str, inner: Doc, closing: str, broken: bool = False) -> Doc:
    return Group([opening, Indent([SOFT, inner]), SOFT, closing], broken)


def _bare(node: cst.BaseExpression) -> Doc:
    match node:
        case cst.Name() | cst.BaseNumber() | cst.Ellipsis() | cst.SimpleString() | cst.FormattedString():
            return code(node.with_changes(lpar=(), rpar=()))
        case cst.Attribute():
            _nothing_between(node.dot)
            return [document(node.value), ".", node.attr.value]
        case cst.Call():
            return [document(node.func), arguments(node)]
        case cst.Subscript():
            return [document(node.value), _subscript(node)]
        case cst.List() | cst.Tuple() | cst.Set():
            return display(node)
        case cst.Dict():
            return _dict(node)
        case cst.ListComp() | cst.SetComp() | cst.DictComp() | cst.GeneratorExp():
            return _comprehension(node)
        case cst.Lambda():
            head = code(node.with_changes(body=cst.Name("_"), lpar=(), rpar=())).removesuffix("_")
            body = document(node.body)
            if isinstance(node.body, (*_CHAINS, cst.IfExp)) and not node.body.lpar:
                body = Group([IfBreak("("), Indent([SOFT, body]), SOFT, IfBreak(")")])
            return [head.rstrip() + " ", body]
        case cst.UnaryOperation():
            operator = cst.Module([]).code_for_node(node.operator).strip()
            return [operator + (" " if operator == "not" else ""), document(node.expression)]
        case cst.IfExp():
            return Group(_conditional(node))
        case cst.NamedExpr():
            return [code(node.target), " := ", document(node.value)]
        case _ if isinstance(node, _CHAINS):
            return Group(chain(node))
        case _:
            return code(node.with_changes(lpar=(), rpar=()))


def _nothing_between(node: cst.CSTNode) -> None:
    if comments_in(node) or "\n" in cst.Module([]).code_for_node(node):
        raise Unsupported


def arguments(node: cst.Call) -> Doc:
    """Lay out the parentheses of a call: on one line, else their content on one line, else one argument per line."""
    if not node.args:
        return "()"
    only = node.args[0]
    if len(node.args) == 1 and isinstance(only.value, cst.GeneratorExp) and not only.value.lpar:
        return bracketed("(", _clauses(only.value), ")")
    items = [_argument(each) for each in node.args]
    magic = isinstance(node.args[-1].comma, cst.Comma)
    return bracketed("(", Group(_separated(items, magic), magic), ")", magic)


def _argument(node: cst.Arg) -> Doc:
    keyword = f"{node.keyword.value}=" if node.keyword is not None else ""
    return [node.star + keyword, document(node.value)]


def _separated(items: Sequence[Doc], magic: bool = False) -> Doc:
    made: list[Doc] = []
    for item in items:
        if made:
            made += [",", SPACE]
        made.append(item)
    return [*made, IfBreak(",")] if len(items) > 1 or magic else made


def _subscript(node: cst.Subscript) -> Doc:
    items: list[Doc] = []
    for element in node.slice:
        match element.slice:
            case cst.Index(value, star):
                items.append([star or "", document(value)])
            case other:
                items.append(code(other))
    last = node.slice[-1].comma
    if len(items) == 1:
        return bracketed("[", [items[0], ","] if isinstance(last, cst.Comma) else items[0], "]")
    magic = isinstance(last, cst.Comma)
    return bracketed("[", Group(_separated(items, magic), magic), "]", magic)


def display(node: cst.List | cst.Tuple | cst.Set) -> Doc:
    """Lay out a list, tuple or set: on one line, else one element per line."""
    items: list[Doc] = [_element(each) for each in node.elements]
    if isinstance(node, cst.Tuple):  # `document` adds the parentheses
        if not node.lpar:
            raise Unsupported
        return [items[0], ","] if len(items) == 1 else _separated(items)
    opening, closing = "{}" if isinstance(node, cst.Set) else "[]"
    if not items:
        return opening + closing
    magic = isinstance(node.elements[-1].comma, cst.Comma)
    return bracketed(opening, _separated(items, magic), closing, magic)


def _element(node: cst.BaseElement) -> Doc:
    star = "*" if isinstance(node, cst.StarredElement) else ""
    return [star, document(node.value)]


def _dict(node: cst.Dict) -> Doc:
    if not node.elements:
        return "{}"
    items: list[Doc] = []
    for element in node.elements:
        if isinstance(element, cst.DictElement):
            items.append([document(element.key), ": ", document(element.value)])
        else:
            items.append(["**", document(element.value)])
    magic = isinstance(node.elements[-1].comma, cst.Comma)
    return bracketed("{", _separated(items, magic), "}", magic)


def _comprehension(node: cst.ListComp | cst.SetComp | cst.DictComp | cst.GeneratorExp) -> Doc:
    match node:
        case cst.ListComp():
            return bracketed("[", _clauses(node), "]")
        case cst.GeneratorExp():
            return _clauses(node)
        case _:
            return bracketed("{", _clauses(node), "}")


def _clauses(node: cst.ListComp | cst.SetComp | cst.DictComp | cst.GeneratorExp) -> Doc:
    if isinstance(node, cst.DictComp):
        made: list[Doc] = [[document(node.key), ": ", document(node.value)]]
    else:
        made = [document(node.elt)]
    clause: cst.CompFor | None = node.for_in
    while clause is not None:
        head = "async for " if clause.asynchronous is not None else "for "
        made += [SPACE, head, _target(clause.target), " in ", document(clause.iter)]
        for test in clause.ifs:
            made += [SPACE, "if ", document(test.test)]
        clause = clause.inner_for_in
    return Group(made)


def _target(node: cst.BaseExpression) -> Doc:
    if isinstance(node, cst.Tuple) and len(node.lpar) < 2:
        return code(node.with_changes(lpar=(), rpar=()))
    return document(node)


def _conditional(node: cst.IfExp) -> list[Doc]:
    other = _conditional(node.orelse) if isinstance(node.orelse, cst.IfExp) and not node.orelse.lpar else None
    return [
        document(node.body),
        *(SPACE, "if ", document(node.test)),
        *(SPACE, "else ", *(other if other is not None else [document(node.orelse)])),
    ]


def _operands(node: cst.BaseExpression) -> tuple[list[cst.BaseExpression], list[cst.CSTNode]]:
    """Return the operands of a chain without parentheses, of all precedences, and the operators between them."""
    if getattr(node, "lpar", ()):
        return [node], []
    match node:
        case cst.BinaryOperation() | cst.BooleanOperation():
            first, before = _operands(node.left)
            last, after = _operands(node.right)
            return [*first, *last], [*before, node.operator, *after]
        case cst.Comparison(left=left, comparisons=comparisons):
            operands, operators = _operands(left)
            for each in comparisons:
                more, inside = _operands(each.comparator)
                operands += more
                operators += [each.operator, *inside]
            return operands, operators
        case _:
            return [node], []


def chain(node: cst.BaseExpression) -> Doc:
    """Lay out operands with their operators; it breaks before operators of the lowest precedence first."""
    operands, operators = _operands(node.with_changes(lpar=(), rpar=()))
    return _chain(operands, operators)


def _chain(operands: Sequence[cst.BaseExpression], operators: Sequence[cst.CSTNode]) -> Doc:
    if not operators:
        return document(operands[0])
    lowest = min(map(precedence, operators))
    cuts = [at for at, each in enumerate(operators) if precedence(each) == lowest]
    made: list[Doc] = []
    begin = 0
    for cut in [*cuts, len(operators)]:
        part = _chain(operands[begin : cut + 1], operators[begin:cut])
        made.append(Group(part) if cut > begin else part)
        if cut < len(operators):
            text = cst.Module([]).code_for_node(operators[cut])
            if comments_in(operators[cut]):
                raise Unsupported
            tight = not text[:1].isspace()
            made += [text.strip()] if tight else [SPACE, " ".join(text.split()) + " "]
        begin = cut + 1
    return made


def precedence(operator: cst.CSTNode) -> int:
    """Return the precedence of an operator, 0 for the lowest."""
    return next((at for at, kinds in enumerate(_PRECEDENCE) if isinstance(operator, kinds)), 0)
