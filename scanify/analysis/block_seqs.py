"""`haliax.nn.BlockSeq` that is built of one class: `Stacked` is built, folded and scanned in the same words.

    self.blocks = hnn.BlockSeq.init(Layers, Block, gradient_checkpointing=True)(config, key=keys)

It is a Python loop inside of haliax, which no remat policy reaches. The two are not the same everywhere: what
`BlockSeq.fold_via` is given beside the carry goes to every layer whole, and `Stacked.fold_via` takes plain arrays apart
(haliax/nn/scan.py, marin-haliax 0.2.227).
"""

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from scanify.analysis.classes.classes import Classes, Field
from scanify.analysis.facts import Place
from scanify.analysis.index.meaning import Definition, External
from scanify.analysis.index.module import Module
from scanify.analysis.index.project import Index
from scanify.analysis.lower.ignores import is_silenced
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import ancestors, parent_of
from scanify.analysis.lower.text import dotted
from scanify.analysis.obligation import Kind as Shows
from scanify.analysis.obligation import Obligation
from scanify.analysis.plan import Body, Kind, Plan, Refusal
from scanify.analysis.stack import Annotation, InitStack, Named

RULE = "SCN107"
_NAME = "BlockSeq"
_SAME = frozenset("fold scan unstacked get_layer to_state_dict Block gradient_checkpointing".split())
_OF_CARRY = frozenset(("fold_via", "scan_via"))  # the same where they are given a carry and nothing else
_KEEP = "keep the BlockSeq, or use it as a Stacked is used"
_TREE = "nothing looks into the tree of `{field}`: its `blocks[0]`, `blocks[1]` and so on become one layer, `stacked`"
_BUILT = "`{cls}.init` does the same when one trace builds all layers: it counts nothing and asks for no values"
_SCANNED = "what each layer gives beside the carry are named arrays"


def may_build_block_seqs(text: str) -> bool:
    """A first look at a file: whether it names haliax and its `BlockSeq`."""
    return "haliax" in text and _NAME in text and ".init(" in text


@dataclass(frozen=True)
class _Site:
    """One `BlockSeq.init(axis, cls)(...)`: the name that is called, and the field that keeps what it gives."""

    module: Module
    call: ast.Call
    name: ast.expr
    cls: str
    owner: ast.ClassDef | None
    field: str | None


def block_seqs(index: Index, paths: Iterable[Path]) -> list[Plan | Refusal]:
    """A decision about each `BlockSeq` that is built in some files."""
    modules = [module for path in paths if (module := index.module_at(path)) is not None]
    sites = [site for module in modules for site in _sites(index, module)]
    decided = ((site, _decided(index, site)) for site in sites)
    return [decision for site, decision in decided if not is_silenced(site.module, site.call, decision.rule)]


def _sites(index: Index, module: Module) -> Iterator[_Site]:
    if not may_build_block_seqs(module.text):
        return
    for node in nodes_in(module.tree):
        match node:
            case ast.Call(func=ast.Call(func=ast.Attribute(value=name, attr="init"), args=[_, cls, *_])) if (
                _is_block_seq(index, module, name)
            ):
                owner, field = _kept_in(index, module, node)
                yield _Site(module, node, name, dotted(cls) or ast.unparse(cls), owner, field)


def _is_block_seq(index: Index, module: Module, node: ast.AST) -> bool:
    name = dotted(node) if isinstance(node, ast.Name | ast.Attribute) else None
    if name is None:
        return False
    found = index.resolve(module, name)
    return isinstance(found, External) and found.qualname.startswith("haliax.") and found.qualname.endswith(_NAME)


def _kept_in(index: Index, module: Module, call: ast.Call) -> tuple[ast.ClassDef | None, str | None]:
    """The class and the field that get what a call builds: by an assignment to `self`, or by a call of the class."""
    cls = next((each for each in ancestors(module, call) if isinstance(each, ast.ClassDef)), None)
    parent: ast.AST | None = parent_of(module, call)
    match parent:
        case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=field)]):
            return cls, field
        case ast.AnnAssign(target=ast.Attribute(value=ast.Name(id="self"), attr=field)):
            return cls, field
        case ast.Assign(targets=[ast.Name(id=local)]):
            return _given_to(index, module, cls, call, local)
        case ast.Call() | ast.keyword():
            outer = parent if isinstance(parent, ast.Call) else parent_of(module, parent)
            return _argument(index, module, cls, outer, call) if isinstance(outer, ast.Call) else (None, None)
        case _:
            return None, None


def _given_to(
    index: Index, module: Module, cls: ast.ClassDef | None, call: ast.Call, local: str
) -> tuple[ast.ClassDef | None, str | None]:
    """The field that a local name is given for, where that is all that is done with it."""
    function = next((each for each in ancestors(module, call) if isinstance(each, ast.FunctionDef)), None)
    if function is None:
        return None, None
    names = [each for each in nodes_in(function) if isinstance(each, ast.Name) and each.id == local]
    if len(names) != 2:
        return None, None
    used = next(each for each in names if isinstance(each.ctx, ast.Load))
    outer = parent_of(module, used)
    outer = parent_of(module, outer) if isinstance(outer, ast.keyword) else outer
    return _argument(index, module, cls, outer, used) if isinstance(outer, ast.Call) else (None, None)


def _argument(
    index: Index, module: Module, cls: ast.ClassDef | None, call: ast.Call, given: ast.expr
) -> tuple[ast.ClassDef | None, str | None]:
    """The field of a class that an argument of its call is for, where a dataclass's own `__init__` takes it."""
    meaning = index.resolve(module, cls.name) if cls is not None else None
    if cls is None or not isinstance(meaning, Definition) or meaning.node is not cls:
        return None, None
    classes = Classes(index)
    made = dotted(call.func) in (cls.name, "cls") and classes.known_bases(meaning)
    if not made or classes.method(meaning, "__init__") is not None:
        return None, None
    fields = classes.fields(meaning)
    keyword = next((each.arg for each in call.keywords if each.value is given), None)
    if keyword is not None:
        return (cls, keyword) if keyword in fields else (None, None)
    if any(isinstance(each, ast.Starred) for each in call.args) or any(map(_may_be_left_out, fields.values())):
        return None, None
    at = call.args.index(given)
    return (cls, list(fields)[at]) if at < len(fields) else (None, None)


def _may_be_left_out(field: Field) -> bool:
    """Whether `field(init=False)` or `field(kw_only=True)` may keep a field out of the positions."""
    return isinstance(field.default, ast.Call) and any(
        each.arg in ("init", "kw_only", None) for each in field.default.keywords
    )


def _decided(index: Index, site: _Site) -> Plan | Refusal:
    place = site.module.place(site.call)
    if site.owner is None or site.field is None:
        reason = "the source does not show which field keeps it, so its uses are not known"
        return _refused(site, reason, None)
    other = next(_other_uses(index, site.field), None)
    if other is not None:
        return _refused(site, *other)
    declared = [
        each.annotation
        for each in site.owner.body
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name) and each.target.id == site.field
    ]
    if not declared:
        return _refused(site, "the class that builds it does not declare the field that keeps it", None)
    named = [node for each in declared for node in nodes_in(each) if _is_block_seq(index, site.module, node)]
    texts = [each for each in declared for node in nodes_in(each) if isinstance(node, ast.Constant) and node.value]
    if texts:
        return _refused(site, "the field that keeps it is annotated with a text", site.module.place(texts[0]))
    return Plan(
        place=place,
        kind=Kind.FOLD,
        container=f"self.{site.field}",
        layer="",
        carry=(),
        body=Body(place.span, "", "", inline=True),
        stack=InitStack(
            (Named(site.module.place(site.name), site.module.code(site.name)),),
            tuple(Annotation(site.module.place(node), site.module.code(node)) for node in named),
        ),
        obligations=(
            Obligation(Shows.ELSEWHERE, _TREE.format(field=site.field), place),
            Obligation(Shows.LAYERS, _BUILT.format(cls=site.cls), place),
            *([Obligation(Shows.BODY, _SCANNED, place)] if any(_uses(index, site.field, ("scan", "scan_via"))) else []),
        ),
        rule=RULE,
    )


def _refused(site: _Site, reason: str, at: Place | None) -> Refusal:
    return Refusal(
        place=site.module.place(site.call),
        rule="SCN214",
        reason=reason,
        kind=Kind.FOLD,
        container=" ".join(site.module.code(site.call.func).split()),
        at=at,
        remedy=_KEEP,
    )


def _other_uses(index: Index, field: str) -> Iterator[tuple[str, Place]]:
    """Uses of what is called as the field that a `Stacked` does not serve in the same way."""
    for module in index.modules_with(field):
        for node in nodes_in(module.tree):
            if not isinstance(node, ast.Attribute) or node.attr != field or not isinstance(node.ctx, ast.Load):
                continue
            if isinstance(node.value, ast.Attribute) and node.value.attr == field:
                continue  # `self.blocks.blocks` is a use of `self.blocks`
            used = parent_of(module, node)
            what = f"`{module.code(node)}`"
            if not isinstance(used, ast.Attribute):
                yield f"{what} is used as a whole, and not folded or scanned", module.place(node)
            elif used.attr in _OF_CARRY:
                if (call := _called_twice(module, used)) is not None and (len(call.args) != 1 or call.keywords):
                    reason = f"`{used.attr}` of a BlockSeq hands what it is given beside the carry to every layer whole"
                    yield f"{reason}, and that of a Stacked takes arrays apart", module.place(call)
                elif call is None:
                    yield f"what `{module.code(used)}` gives is not called where it stands", module.place(used)
            elif used.attr not in _SAME:
                yield f"`{module.code(used)}` is not what it is of a Stacked", module.place(used)


def _uses(index: Index, field: str, methods: Sequence[str]) -> Iterator[ast.Attribute]:
    """Where one of the methods of what is called as the field is named."""
    for module in index.modules_with(field):
        for node in nodes_in(module.tree):
            match node:
                case ast.Attribute(value=ast.Attribute(attr=name), attr=method) if name == field and method in methods:
                    yield node


def _called_twice(module: Module, method: ast.Attribute) -> ast.Call | None:
    """The second call of `stack.fold_via(function)(carry)`."""
    first = parent_of(module, method)
    second = parent_of(module, first) if isinstance(first, ast.Call) and first.func is method else None
    return second if isinstance(second, ast.Call) and second.func is first else None
