"""Names of the layers in the tree of variables, before and after, and other strings with such a name."""

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from scanify.analysis.facts import Place, Span
from scanify.analysis.index.meaning import Definition
from scanify.analysis.index.project import Index
from scanify.analysis.linen.classes import built_in
from scanify.analysis.linen.loop import LinenLoop
from scanify.analysis.linen_layers import RenamedLayers
from scanify.analysis.project_facts import ProjectFacts

_ALL = "layers"


def renamed_layers(project: ProjectFacts, owner: Definition, seen: LinenLoop) -> RenamedLayers | tuple[str, ast.AST]:
    """Return the names of the layers, or why they are unknown, with the node concerned."""
    layers, built = seen.layers, seen.layers.built
    attribute = seen.held.rpartition(".")[2] if "." in seen.held else ""
    given = built.given_name
    name = layer_name(given, layers.number) if given is not None else None
    if given is not None and name is None:
        text = f"`{layers.module.code(given)}` is not shown to be one name for each layer, with its number in it"
        return text, given
    if given is not None and name is not None:
        plain = name.loop.replace("{}", "").strip("_-./ ") or _ALL
        return replace(name, scan=attribute or _free(owner, plain, given))
    if attribute:
        return RenamedLayers(f"{attribute}_{{}}", attribute)
    if built.wrapped:
        return f"what Flax names a class of `nn.{built.wrapped}` is another name in each version", built.call
    for function in project.classes.methods(owner).values():
        for each in built_in(project, owner.module, *function.body) if function.name != "setup" else ():
            if each.call is not built.call and each.name == built.name and each.given_name is None:
                what = f"Flax counts `{built.name}` by class, and the one that is built here is counted with these"
                return what, each.call
    return RenamedLayers(f"{built.name}_{{}}", _free(owner, _ALL, built.call))


def layer_name(node: ast.expr, number: str) -> RenamedLayers | None:
    """Return the names that an expression has in each iteration, or None if it is not known to be one name per layer.

    It may be `f"layer_{i}"`, `str(i)`, `"layer_" + str(i + 1)`, `"layer_%d" % i` or `"layer_{}".format(i)`.
    """
    parts = list(_parts(node, number))
    numbers = [each for each in parts if isinstance(each, int)]
    text = "".join("{}" if isinstance(each, int) else str(each) for each in parts)
    known = None not in parts and len(numbers) == 1 and text.count("{") == text.count("}") == 1 and "%" not in text
    return RenamedLayers(text, _ALL, numbers[0]) if known else None


def _parts(node: ast.expr, number: str) -> Iterator[str | int | None]:
    """Yield the strings of a name, and the number that is added to `i`; None for any other part."""
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.JoinedStr(values=values):
            for value in values:
                yield from _parts(value, number)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            yield from (*_parts(left, number), *_parts(right, number))
        case (
            ast.FormattedValue(value=value, conversion=-1, format_spec=None)
            | ast.Call(func=ast.Name(id="str"), args=[value], keywords=[])
        ):
            yield _added_to(number, value)
        case (
            ast.BinOp(left=ast.Constant(value=text), op=ast.Mod(), right=value)
            | ast.Call(func=ast.Attribute(value=ast.Constant(value=text), attr="format"), args=[value], keywords=[])
        ):
            before, *after = re.split(r"%[ds]|\{\}", str(text))
            yield from (before, _added_to(number, value), *after) if len(after) == 1 else (None,)
        case _:
            yield None


def _added_to(number: str, value: ast.expr) -> int | None:
    """Return 1 for `i + 1`, 0 for `i`."""
    match value:
        case ast.BinOp(left=ast.Name(id=name), op=ast.Add(), right=ast.Constant(value=int(more))) if name == number:
            return more
        case ast.Name(id=name) if name == number:
            return 0
        case _:
            return None


def _free(owner: Definition, wanted: str, own: ast.AST) -> str:
    """Return a name, extended until no attribute, string, method or field of the class has it."""
    text = owner.module.code(owner.node).replace(owner.module.code(own), "")
    while re.search(rf"""(\.|["']|def |^\s+(?=\w+:)){re.escape(wanted)}\b""", text, re.MULTILINE):
        wanted = f"{wanted}_stack"
    return wanted


def named_elsewhere(index: Index, names: RenamedLayers, seen: LinenLoop) -> Iterator[tuple[str, Place]]:
    """Yield the first string of each file that has the name of a layer, except the call that names it."""
    parts = names.loop.split("{}")
    before, after = map(re.escape, parts)
    known = re.compile(rf"(?<=[\"'./]){before}(\d+|\{{[^}}]*\}}|%d|(?=[\"'] \+)){after}(?=[\"'./])")
    call, own = seen.layers.module.span(seen.layers.built.call), seen.layers.module.path
    texts = ((path, source.text) for path in index.paths if (source := index.source(path)) is not None)
    for path, text in texts if any(parts) else ():
        matches = known.finditer(text) if max(parts, key=len) in text else ()
        others = (each.span() for each in matches if path != own or not call.start <= each.start() < call.end)
        start, end = next(others, (0, 0))
        module = index.module_at(path) if end else None
        if module is not None:
            span = Span(start, end, module.line_of(start), module.line_of(end))
            yield text[start:end], module.place_of(span)
