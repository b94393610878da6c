"""What the layers are called in the tree of variables, before and after; and what else has such a name."""

import ast
import re
from collections.abc import Iterator

from scanify.analysis.facts import Place
from scanify.analysis.index.meaning import Definition
from scanify.analysis.index.project import Index
from scanify.analysis.linen.built_layers import BuiltLayers, built_in, given_name
from scanify.analysis.linen.classes import LinenClasses
from scanify.analysis.linen.layer_name import layer_name
from scanify.analysis.linen_layers import RenamedLayers
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import inner_scope

_ALL = "layers"
Unnamed = tuple[str, ast.AST]


def renamed_layers(classes: LinenClasses, owner: Definition, layers: BuiltLayers, held: str) -> RenamedLayers | Unnamed:
    """The names of the layers, or why they are not known, with the node that says so."""
    call = layers.built.call
    attribute = held.rpartition(".")[2] if "." in held else ""
    if layers.name is not None:
        name = layers.layer_name
        if name is None:
            what = layers.scope.module.code(layers.name)
            return f"`{what}` is not shown to be one name for each layer, with its number in it", layers.name
        scan = attribute or name.text.replace("{}", "").strip("_-./ ") or _ALL
        scan = scan if attribute else _free(owner, scan, layers)
        return RenamedLayers(name.text, scan, name.first)
    if attribute:
        return RenamedLayers(f"{attribute}_{{}}", attribute)
    if layers.built.wrapped:
        return f"what Flax names a class of `nn.{layers.built.wrapped}` is another name in each version", call
    other = _named_alike(classes, owner, layers)
    if other is not None:
        what = f"Flax counts `{layers.built.name}` by class, and the one that is built here is counted with these"
        return what, other
    return RenamedLayers(f"{layers.built.name}_{{}}", _free(owner, _ALL, layers))


def _named_alike(classes: LinenClasses, owner: Definition, layers: BuiltLayers) -> ast.AST | None:
    """Another module of the class that is built without a name: it gets the next number. In `setup` attributes name."""
    for function in classes.classes.methods(owner).values():
        if function.name == "setup":
            continue
        for each in built_in(classes, inner_scope(owner.module, function), function.body):
            if each.call is not layers.built.call and each.name == layers.built.name and given_name(each) is None:
                return each.call
    return None


def _free(owner: Definition, wanted: str, layers: BuiltLayers) -> str:
    """The name, or one like it that nothing else in the class is called."""
    words = set()
    own = set(nodes_in(layers.name)) if layers.name is not None else set()
    for node in nodes_in(owner.node):
        match node:
            case ast.Constant(value=str(word)) if node not in own:
                words.add(word)
            case ast.Attribute(attr=word) | ast.FunctionDef(name=word) | ast.AnnAssign(target=ast.Name(id=word)):
                words.add(word)
    while wanted in words:
        wanted = f"{wanted}_stack"
    return wanted


def named_elsewhere(index: Index, names: RenamedLayers, layers: BuiltLayers) -> Iterator[tuple[str, Place]]:
    """The texts of the project that are names of the layers, beside the one that names them."""
    known = re.compile(re.escape(names.loop).replace(r"\{\}", r"\d+") + r"\Z")
    written = max(names.loop.split("{}"), key=len)  # `layer_` of `layer_0`, which is no word of its own
    own = set(map(id, nodes_in(layers.name))) if layers.name is not None else set()
    texts = {path: source.text for path in index.paths if (source := index.source(path)) is not None}
    modules = (index.module_at(path) for path, text in texts.items() if len(written) > 1 and written in text)
    for module in filter(None, modules):
        for node in nodes_in(module.tree):
            if id(node) in own or not isinstance(node, ast.Constant | ast.JoinedStr | ast.BinOp):
                continue
            if isinstance(node, ast.Constant):
                one = isinstance(node.value, str) and any(map(known.match, re.split(r"[./']", node.value)))
            else:
                numbers = [each.id for each in nodes_in(node) if isinstance(each, ast.Name)]
                read = (layer_name(node, number) for number in numbers)
                one = any(each is not None and each.text == names.loop for each in read)
            if one:
                yield module.code(node), module.place(node)
