"""Lay out a simple statement, or the header of a function, as `ruff format` does."""

import libcst as cst

from scanify.emit.loops.comments import comments_in
from scanify.emit.text.doc import SOFT, SPACE, Doc, Group, IfBreak, Indent, Line, must_break, render
from scanify.emit.text.expression_doc import Unsupported, code, document, precedence
from scanify.emit.text.layout import Style

_OPERATORS = (cst.BinaryOperation, cst.BooleanOperation, cst.Comparison, cst.IfExp)


def laid_out(text: str, style: Style, tail: int = 0) -> str | None:
    """Lay out a statement without its indentation and line end; None if its layout is not known here, or too wide.

    `tail` is the width of the text behind it on its line.
    """
    try:
        module = cst.parse_module(text + "\n")
        if len(module.body) != 1 or comments_in(module):
            return None
        docs = _documents(module.body[0])
    except (Unsupported, cst.ParserSyntaxError):
        return None
    laid = [render(doc, style.indent, style.step, style.width, tail) for doc in docs]
    fitting = next((lines for lines in laid if _fit(lines, style, tail)), None)
    return style.newline.join(fitting) if fitting is not None else None


def _fit(lines: list[str], style: Style, tail: int) -> bool:
    widths = [len(line.expandtabs(4)) for line in lines]
    widths[0] += len(style.indent.expandtabs(4))
    widths[-1] += tail
    return max(widths) <= style.width


def _documents(statement: cst.BaseStatement) -> list[Doc]:
    """Return the possible layouts of a statement, in order of preference."""
    match statement:
        case cst.SimpleStatementLine(body=[small]):
            pass
        case cst.FunctionDef():
            return [_header(statement)]
        case _:
            raise Unsupported
    match small:
        case cst.Expr(value):
            return _values("", value)
        case cst.Return(value=value) if value is not None:
            return _values("return ", value)
        case cst.Assign(targets, value):
            return _values("".join(f"{code(each.target)} = " for each in targets), value)
        case cst.AnnAssign(target, annotation, value) if value is not None:
            return _values(f"{code(target)}: {code(annotation.annotation)} = ", value)
        case cst.AugAssign(target, operator, value):
            return _values(f"{code(target)} {code(operator).strip()} ", value)
        case _:
            raise Unsupported


def _values(head: str, value: cst.BaseExpression) -> list[Doc]:
    """Lay out the right side of `=` or `return`, with or without redundant parentheses, depending on the width."""
    while len(getattr(value, "lpar", ())) > 0 and not isinstance(value, cst.Tuple | cst.GeneratorExp):
        value = value.with_changes(lpar=value.lpar[1:], rpar=value.rpar[1:])
    if isinstance(value, cst.Tuple) and len(value.lpar) < 2:
        return [[head, _tuple(value)]]
    if isinstance(value, cst.Name | cst.Attribute | cst.BaseNumber | cst.SimpleString | cst.FormattedString):
        flat: Doc = head + code(value)
        return [flat, [head, Group(["(", Indent([SOFT, code(value)]), SOFT, ")"], True)], flat] if head else [flat]
    if not isinstance(value, _OPERATORS):
        if _attributes_behind_brackets(value) > 1:
            raise Unsupported
        return [[head, document(value)]]
    inner = document(value)
    flat = _without_breaks(inner)
    if _may_go_without(value):  # the break point is known only if nothing has to break
        return [[head, flat]] if not must_break(inner) else []
    return [[head, Group([IfBreak("("), Indent([SOFT, inner]), SOFT, IfBreak(")")])]]


def _without_breaks(doc: Doc) -> Doc:
    """Return the document with all its line ends flat."""
    match doc:
        case list():
            return [_without_breaks(each) for each in doc]
        case Indent(inner) | Group(inner):
            return _without_breaks(inner)
        case Line(text):
            return text
        case IfBreak():
            return ""
        case _:
            return doc


def _may_go_without(value: cst.BaseExpression) -> bool:
    """True if ruff breaks inside the first or last brackets rather than adding parentheses."""
    match value:
        case cst.IfExp():
            return False
        case cst.BinaryOperation() | cst.BooleanOperation():
            pass
        case cst.Comparison():
            if len(value.comparisons) > 1:
                return False
    operators = _operators(value)
    lowest = min(map(precedence, operators))
    if sum(precedence(each) == lowest for each in operators) > 1:
        return False
    return _ends_in_brackets(_last(value)) or _ends_in_brackets(_first(value))


def _operators(node: cst.BaseExpression) -> list[cst.CSTNode]:
    match node:
        case cst.BinaryOperation() | cst.BooleanOperation() if not node.lpar:
            return [*_operators(node.left), node.operator, *_operators(node.right)]
        case cst.Comparison() if not node.lpar:
            more = [[each.operator, *_operators(each.comparator)] for each in node.comparisons]
            return [*_operators(node.left), *(each for some in more for each in some)]
        case _:
            return []


def _first(node: cst.BaseExpression) -> cst.BaseExpression:
    return _first(node.left) if isinstance(node, _OPERATORS[:3]) and not node.lpar else node


def _last(node: cst.BaseExpression) -> cst.BaseExpression:
    match node:
        case cst.BinaryOperation() | cst.BooleanOperation() if not node.lpar:
            return _last(node.right)
        case cst.Comparison() if not node.lpar:
            return _last(node.comparisons[-1].comparator)
        case _:
            return node


def _ends_in_brackets(node: cst.BaseExpression) -> bool:
    match node:
        case cst.Call():
            return bool(node.args)
        case cst.Subscript() | cst.ListComp() | cst.DictComp() | cst.SetComp() | cst.GeneratorExp():
            return True
        case cst.List() | cst.Tuple() | cst.Dict() | cst.Set():
            return bool(node.elements)
        case _:
            return bool(getattr(node, "lpar", ()))


def _attributes_behind_brackets(node: cst.BaseExpression) -> int:
    """Count the attributes behind brackets; from two on, ruff may break a chain of calls before its dots."""
    count = 0
    while isinstance(node, cst.Call | cst.Subscript | cst.Attribute):
        if isinstance(node, cst.Attribute):
            count += isinstance(node.value, cst.Call | cst.Subscript) or bool(getattr(node.value, "lpar", ()))
            node = node.value
        else:
            node = node.func if isinstance(node, cst.Call) else node.value
    return count


def _tuple(node: cst.Tuple) -> Doc:
    items: list[Doc] = []
    for element in node.elements:
        star = "*" if isinstance(element, cst.StarredElement) else ""
        if items:
            items += [",", SPACE]
        items += [star, document(element.value)]
    if not items:
        return "()"
    magic = len(node.elements) > 1 and isinstance(node.elements[-1].comma, cst.Comma)
    if len(node.elements) == 1 or (not magic and must_break(items)):
        raise Unsupported
    if node.lpar and not magic:
        return Group(["(", Indent([SOFT, items, IfBreak(",")]), SOFT, ")"])
    return Group([IfBreak("("), Indent([SOFT, items, IfBreak(",")]), SOFT, IfBreak(")")], magic)


def _header(node: cst.FunctionDef) -> Doc:
    """Lay out `def name(parameters) -> annotation:` without decorators or a body."""
    params = node.params
    if node.decorators or params.star_arg is not cst.MaybeSentinel.DEFAULT or params.kwonly_params or params.star_kwarg:
        raise Unsupported
    if params.posonly_params or node.asynchronous is not None or node.type_parameters is not None:
        raise Unsupported
    items: list[Doc] = []
    for each in params.params:
        plain = code(each.with_changes(comma=cst.MaybeSentinel.DEFAULT)).strip()
        if items:
            items += [",", SPACE]
        items.append(plain)
    gives = f" -> {code(node.returns.annotation)}" if node.returns is not None else ""
    if not items:
        return f"def {node.name.value}(){gives}:"
    magic = isinstance(params.params[-1].comma, cst.Comma)
    inside: Doc = Group([*items, IfBreak(",")], magic)
    if len(params.params) == 1:
        inside = [items[0], IfBreak(",")]
    return [f"def {node.name.value}(", Group([Indent([SOFT, inside]), SOFT, ")"], magic), f"{gives}:"]
