"""Comprehensions and generator expressions: loops that make a list, a set or a dict."""

import ast

from scanify.analysis.values.calls.allocate import keep, store_entry
from scanify.analysis.values.code.expressions import evaluate
from scanify.analysis.values.code.targets import bind_target
from scanify.analysis.values.domain import Listed, Mapped, Value, sized
from scanify.analysis.values.heap import DictCell, Group, ListCell
from scanify.analysis.values.iterations.iteration import iterate, note_length
from scanify.analysis.values.marks import Marks, merged
from scanify.analysis.values.objects import protocols
from scanify.analysis.values.objects.part import part_of
from scanify.analysis.values.objects.sharing import made_since
from scanify.analysis.values.run.environment import Env
from scanify.analysis.values.run.interpreter import Interpreter, Region

Comprehension = ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp


def comprehension(run: Interpreter, env: Env, node: Comprehension) -> Value:
    """The list, set or dict that a comprehension makes; of a generator its elements."""
    inner = env.inner(env.function or node, env.call)
    inner.owner, inner.self_name = env.owner, env.self_name
    born = run.tick()
    loops: list[int] = []
    count: int | None = 1
    conditional = False
    lengths: list[Marks] = []
    regions = len(run.regions)
    for level in node.generators:
        walked = evaluate(run, inner, level.iter)
        lengths.append(sized(walked.marks))
        loop = run.new_loop()
        note_length(run, loop, walked)
        element, times = iterate(run, inner, walked, loop, level.iter, ast.unparse(level.target))
        bind_target(run, inner, level.target, element)
        loops.append(loop)
        count = count * times if count is not None and times is not None else None
        run.regions.append(_loop_region(run, loop, times))
        for test in level.ifs:
            protocols.truth(run, inner, test, evaluate(run, inner, test))
            conditional, count = True, None
    churned = run.churned.count
    if isinstance(node, ast.DictComp):
        key, value = evaluate(run, inner, node.key), evaluate(run, inner, node.value)
        if run.churned.since(churned):
            key, value = evaluate(run, inner, node.key), evaluate(run, inner, node.value)
        protocols.asked(run, inner, node.key, [key], protocols.KEY)
        own = made_since(run, value, run.regions[-1].turn)
        del run.regions[regions:]
        cell = DictCell(node, env.module, born, function=env.function)
        store_entry(cell, key, value, node.value, env, tuple(loops), count, conditional, own)
        return Mapped(cell)
    value = evaluate(run, inner, node.elt)
    if run.churned.since(churned):
        value = evaluate(run, inner, node.elt)
    if isinstance(node, ast.SetComp):
        protocols.asked(run, inner, node.elt, [value], protocols.KEY)
    keep(run, env, value, node.elt, node)
    own = made_since(run, value, run.regions[-1].turn)
    del run.regions[regions:]
    listed = ListCell(node, env.module, born, function=env.function)
    around = tuple(loops)
    group = Group(value, node.elt, env.module, around, count, conditional=conditional, own=own, part=part_of(value))
    listed.groups.append(group)
    return Listed(listed, merged(lengths))


def _loop_region(run: Interpreter, loop: int, times: int | None) -> Region:
    return Region(loop, run.tick(), times, run.clock)
