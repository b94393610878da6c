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

from scanify.analysis.facts import Place
from scanify.analysis.index.meaning import External
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
    """One `BlockSeq.init(axis, cls)(...)`: the name that is called, the class around it and its fields for it."""

    module: Module
    call: ast.Call
    name: ast.expr
    cls: str
    owner: ast.ClassDef | None
    fields: tuple[ast.AnnAssign, ...]


def block_seqs(index: Index, paths: Iterable[Path]) -> list[Plan | Refusal]:
    """A decision about each `BlockSeq` that is built in some files."""
    modules = [module for path in paths if (module := index.module_at(path)) is not None]
    sites = [site for module in modules for site in _sites(index, module)]
    decided = ((site, _decided(index, site, sites)) for site in sites)
    return [decision for site, decision in decided if not is_silenced(site.module, site.call, decision.rule)]


def _sites(index: Index, module: Module) -> Iterator[_Site]:
    if not may_build_block_seqs(module.text):
        return
    for node in nodes_in(module.tree):
        match node:
            case ast.Call(func=ast.Call(func=ast.Attribute(value=name, attr="init"), args=[_, cls, *_])) if (
                _is_block_seq(index, module, name)
            ):
                owner = next((each for each in ancestors(module, node) if isinstance(each, ast.ClassDef)), None)
                declared = [each for each in owner.body if isinstance(each, ast.AnnAssign)] if owner is not None else []
                fields = tuple(each for each in declared if _names_block_seq(index, module, each.annotation))
                yield _Site(module, node, name, dotted(cls) or ast.unparse(cls), owner, fields)


def _names_block_seq(index: Index, module: Module, annotation: ast.expr) -> bool:
    return _NAME in ast.unparse(annotation) or any(_is_block_seq(index, module, each) for each in nodes_in(annotation))


def _is_block_seq(index: Index, module: Module, node: ast.AST) -> bool:
    name = dotted(node) if isinstance(node, ast.Name | ast.Attribute) else None
    found = index.resolve(module, name) if name is not None else None
    return isinstance(found, External) and found.qualname.startswith("haliax.") and found.qualname.endswith(_NAME)


def _decided(index: Index, site: _Site, sites: Sequence[_Site]) -> Plan | Refusal:
    """Return the decision about one site, whose `BlockSeq` is kept by the only field of its class for one."""
    place = site.module.place(site.call)
    if len(site.fields) != 1 or sum(each.owner is site.owner for each in sites) != 1:
        return _refused(site, "the class around it does not declare one field for it, so its uses are not known", None)
    declared = site.fields[0]
    field, named = dotted(declared.target) or "", nodes_in(declared.annotation)
    other = next(_other_uses(index, field), None)
    if other is not None:
        return _refused(site, *other)
    texts = [node for node in named if isinstance(node, ast.Constant) and node.value]
    if texts:
        return _refused(site, "the field that keeps it is annotated with a text", site.module.place(texts[0]))
    names = [node for node in named if _is_block_seq(index, site.module, node)]
    return Plan(
        place=place,
        kind=Kind.FOLD,
        container=f"self.{field}",
        layer="",
        carry=(),
        body=Body(place.span, "", "", inline=True),
        stack=InitStack(
            (Named(site.module.place(site.name), site.module.code(site.name)),),
            tuple(Annotation(site.module.place(node), site.module.code(node)) for node in names),
        ),
        obligations=(
            Obligation(Shows.ELSEWHERE, _TREE.format(field=field), place),
            Obligation(Shows.LAYERS, _BUILT.format(cls=site.cls), place),
            *([Obligation(Shows.BODY, _SCANNED, place)] if any(_scans(index, field)) else []),
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
    """Yield the uses of attributes with the name of the field that a `Stacked` does not serve in the same way."""
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


def _scans(index: Index, field: str) -> Iterator[ast.Attribute]:
    """Yield the places that name a method which collects something of each layer."""
    for module in index.modules_with(field):
        for node in nodes_in(module.tree):
            match node:
                case ast.Attribute(value=ast.Attribute(attr=name), attr="scan" | "scan_via") if name == field:
                    yield node


def _called_twice(module: Module, method: ast.Attribute) -> ast.Call | None:
    """The second call of `stack.fold_via(function)(carry)`."""
    first = parent_of(module, method)
    second = parent_of(module, first) if isinstance(first, ast.Call) and first.func is method else None
    return second if isinstance(second, ast.Call) and second.func is first else None
