"""Statements: running a function's body over abstract values, with joins where branches meet."""

import ast
from collections.abc import Callable, Sequence

from scanify.analysis.index.module import Module
from scanify.analysis.lower.nodes import children, names_in, nodes_below, nodes_in
from scanify.analysis.values.calls.functions.supers import own_birth
from scanify.analysis.values.calls.methods import extend
from scanify.analysis.values.code.annotations import annotated
from scanify.analysis.values.code.definitions import (
    class_statement,
    delete_statement,
    function_statement,
    global_statement,
    import_statement,
)
from scanify.analysis.values.code.expressions import evaluate, tested
from scanify.analysis.values.code.flow import TRY, Flow
from scanify.analysis.values.code.managers import with_statement
from scanify.analysis.values.code.narrowed import outcome
from scanify.analysis.values.code.operators import METHODS, combine
from scanify.analysis.values.code.patterns import match_statement
from scanify.analysis.values.code.stores import as_loaded, note_stores
from scanify.analysis.values.code.targets import bind_target
from scanify.analysis.values.domain import (
    NONE,
    Array,
    Class,
    Instance,
    Listed,
    Number,
    Unknown,
    Value,
    join,
    marked,
    options,
)
from scanify.analysis.values.heap import Does
from scanify.analysis.values.iterations.carried import carried_on, is_literal
from scanify.analysis.values.iterations.generators import generated
from scanify.analysis.values.iterations.iteration import iterate, note_length
from scanify.analysis.values.iterations.regrown import regrow
from scanify.analysis.values.marks import Vary, merged, raised
from scanify.analysis.values.objects.identity import is_coarse, kind_of
from scanify.analysis.values.objects.protocols import asked
from scanify.analysis.values.replace import replace
from scanify.analysis.values.run.churned import ARRAY
from scanify.analysis.values.run.effects import Act
from scanify.analysis.values.run.environment import Env
from scanify.analysis.values.run.interpreter import Interpreter


def run_body(run: Interpreter, env: Env, function: ast.FunctionDef | ast.AsyncFunctionDef) -> Value:
    """Run a function's body: what it returns."""
    flow = Flow()
    if _yields(function, env.module):
        if isinstance(function, ast.AsyncFunctionDef):
            execute(run, env, function.body, flow)
            return Unknown(f"what the generator `{function.name}` yields is not followed")
        return generated(run, env, function, lambda: execute(run, env, function.body, flow))
    ends = execute(run, env, function.body, flow)
    if not ends:
        flow.returned.append(NONE)
    return flow.value()


def _yields(function: ast.AST, module: Module) -> bool:
    """Whether a function is a generator; asked once for each."""
    known = getattr(function, "_yields", None)
    if known is None:
        known = False
        waiting = children(function) if module.writes("yield") else []
        while waiting and not known:
            node = waiting.pop()
            known = isinstance(node, ast.Yield | ast.YieldFrom)
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
                waiting.extend(children(node))
        function._yields = known  # type: ignore[attr-defined]
    return bool(known)


def execute(run: Interpreter, env: Env, statements: Sequence[ast.stmt], flow: Flow) -> bool:
    """Run statements in order. True where none of the paths goes on behind them."""
    for statement in statements:
        run.steps += 1
        probe = run.probes.get(statement)
        if probe is not None:
            probe.note(env)
        if run.exhausted:
            run.cut_short(statement)
            return False
        handler = _HANDLERS.get(type(statement))
        if handler is None:
            run.effect(Act.UNKNOWN, env.code(statement), statement, env)
        elif handler(run, env, statement, flow):
            return True
    return False


# -- assignments -----------------------------------------------------------------------------------------------------


def assigned_value(run: Interpreter, env: Env, node: ast.stmt, name: str) -> Value:
    """What a statement at the top level of a file gives a name."""
    inner = Env(env.module, env.parent, env.function, env.owner, env.self_name, env.call)
    execute(run, inner, [node], Flow())
    value = inner.names.get(name)
    return value if value is not None else Unknown(f"`{name}` is not shown", env.place(node))


def _assign(run: Interpreter, env: Env, node: ast.Assign, flow: Flow) -> bool:
    if regrow(run, env, node):
        return False
    if isinstance(node.targets[0], ast.Tuple | ast.List):
        run.unpacking = node.value
    value = evaluate(run, env, node.value)
    for target in node.targets:
        bind_target(run, env, target, value)
        note_stores(run, env, node, target, node.value, value)
    return False


def _annotated_assign(run: Interpreter, env: Env, node: ast.AnnAssign, flow: Flow) -> bool:
    if node.value is not None:
        value = evaluate(run, env, node.value)
        if isinstance(value, Unknown):
            said = annotated(run, env, node.annotation, env.code(node.target))
            value = said if isinstance(said, Number | Array) else value
        bind_target(run, env, node.target, value)
        note_stores(run, env, node, node.target, node.value, value)
    return False


def _augmented(run: Interpreter, env: Env, node: ast.AugAssign, flow: Flow) -> bool:
    if regrow(run, env, node):
        return False
    before = evaluate(run, env, as_loaded(node.target))
    value = evaluate(run, env, node.value)
    asked(run, env, node, [before], [f"__i{METHODS.get(type(node.op), '')}__"])
    if isinstance(before, Listed) and isinstance(node.op, ast.Add) and not before.cell.is_tuple:
        extend(run, env, before.cell, value, node.value, node)
        run.effect(Act.COLLECT, env.code(node.target), node, env, born=before.cell.born, root=before.cell.node)
        return False
    if isinstance(before, Unknown) and isinstance(value, Listed):
        run.effect(Act.COLLECT, env.code(node.target), node, env)
    if any(isinstance(option, Unknown) and option.given for option in options(before)):
        run.effect(Act.IN_PLACE, env.code(node.target), node, env)
    if isinstance(before, Array) and before.numpy:
        run.effect(Act.WRITE, env.code(node.target), node, env, born=before.born)
        run.churned.write((ARRAY, before.born), before.born, env.code(node.target), env.call)
    bind_target(run, env, node.target, combine(run, env, node, before, node.op, value))
    return False


# -- branches and loops ----------------------------------------------------------------------------------------------


def _fields_of_self(env: Env) -> dict[str, Value] | None:
    around: Env | None = env
    while around is not None and around.self_name is None:
        around = around.parent
    instance = around.lookup(around.self_name or "") if around is not None else None
    return instance.fields if isinstance(instance, Instance) and not instance.whole else None


def branches(run: Interpreter, env: Env, blocks: Sequence[Sequence[ast.stmt]], flow: Flow, test: Value | None) -> bool:
    """Run each block from here, and go on where those that do not end the function meet."""
    fields = _fields_of_self(env)
    start = dict(fields) if fields is not None else {}
    before = env.names
    returned = len(flow.returned)
    ends: list[tuple[dict[str, Value], dict[str, Value]]] = []
    for block in blocks:
        env.begin(before)  # and not a copy: functions that were made here see what a branch binds
        if fields is not None:
            fields.clear()
            fields.update(start)
        with run.region():
            over = execute(run, env, block, flow)
        if not over:
            ends.append((env.names, dict(fields) if fields is not None else {}))
    env.join([names for names, _ in ends], before)
    if test is not None:
        flow.decide(returned, test.marks)
    if not ends:
        return True
    if test is not None and test.marks:
        for name, value in env.names.items():
            if value is not before.get(name):
                env.names[name] = marked(value, raised(test.marks, Vary.CHOICE))
    if fields is not None:
        _join_fields(fields, [made for _, made in ends], test)
    return False


def _join_fields(fields: dict[str, Value], made: Sequence[dict[str, Value]], test: Value | None) -> None:
    names = dict.fromkeys(name for each in made for name in each)  # in order: reasons name the first of several
    fields.clear()
    for name in names:
        values = [each[name] for each in made if name in each]
        same = len(values) == len(made) and all(value is values[0] for value in values)
        value = values[0] if same else join(values)
        fields[name] = value if same or test is None else marked(value, raised(test.marks, Vary.CHOICE))


def _if(run: Interpreter, env: Env, node: ast.If, flow: Flow) -> bool:
    test = evaluate(run, env, node.test)
    tested(run, env, node.test, test)
    taken = outcome(env, node.test, test)
    if taken is not None:
        return execute(run, env, node.body if taken else node.orelse, flow)
    return branches(run, env, [node.body, node.orelse], flow, test)


def _for(run: Interpreter, env: Env, node: ast.For | ast.AsyncFor, flow: Flow) -> bool:
    walked = evaluate(run, env, node.iter)
    loop = run.new_loop()
    note_length(run, loop, walked)
    element, count = iterate(run, env, walked, loop, node.iter, ast.unparse(node.target))
    returned = len(flow.returned)
    _repeat(run, env, node, loop, count, flow, lambda inner: bind_target(run, inner, node.target, element))
    flow.decide(returned, merged([walked.marks, run.loop_lengths.get(loop, ())]))
    if node.orelse:
        return branches(run, env, [node.orelse, []], flow, None)
    return False


def _while(run: Interpreter, env: Env, node: ast.While, flow: Flow) -> bool:
    test, returned = evaluate(run, env, node.test), len(flow.returned)
    tested(run, env, node.test, test)
    _repeat(run, env, node, run.new_loop(), None, flow, lambda inner: None)
    flow.decide(returned, test.marks)
    return False


def _repeat(
    run: Interpreter,
    env: Env,
    node: ast.For | ast.AsyncFor | ast.While,
    loop: int,
    count: int | None,
    flow: Flow,
    begin: Callable[[Env], None],
) -> None:
    """Run a loop's body twice: the second time with what the first left behind, marked as it changes."""
    before = env.names
    env.begin(before)
    with run.region(loop, count):
        run.next_turn()
        begin(env)
        churned = run.churned.count
        execute(run, env, node.body, flow)
        kept = env.partly - before.keys()  # without them an iteration has those of the one before
        changing = {name for name, value in env.names.items() if name in before and value is not before[name]}
        carried = changing if isinstance(node, ast.While) else changing - names_in([node.target])
        if carried:
            same = is_coarse(run) and all(kind_of(before[name]) == kind_of(env.names[name]) for name in carried)
            # `cur, next = next, cur`, or `fan_in = width`: one of the values before the loop.
            swapped = [value for name, value in before.items() if name in carried or name not in changing]
            for name in carried:
                after = env.names[name]
                among = any(after is value for value in swapped) or is_literal(node, name, before[name], after)
                env.bind(name, carried_on(before[name], after, loop, name, among))
            kept = kept if same else carried  # what acts the same way need not be run again for its effects alone
        if run.churned.since(churned) or kept:
            run.next_turn()
            begin(env)
            execute(run, env, node.body, flow)
    env.join([before, env.names], before)


def _try(run: Interpreter, env: Env, node: ast.Try, flow: Flow) -> bool:
    blocks = [[*node.body, *node.orelse], *([*handler.body] for handler in node.handlers)]
    test, returned = Unknown("whether an exception is raised", marks=run.ambient(TRY)), len(flow.returned)
    for handler in node.handlers:
        if isinstance(handler.type, ast.Call | ast.BoolOp | ast.IfExp | ast.Subscript):
            evaluate(run, env, handler.type)
    read = (env.lookup(each.id) for part in node.body for each in nodes_in(part) if isinstance(each, ast.Name))
    raising = merged(value.marks for value in read if value is not None)
    over = branches(run, env, blocks, flow, test)
    flow.decide(returned, raising)
    return execute(run, env, node.finalbody, flow) or over


# -- the rest --------------------------------------------------------------------------------------------------------


def _expression(run: Interpreter, env: Env, node: ast.Expr, flow: Flow) -> bool:
    before = len(run.effects)
    evaluate(run, env, node.value)
    for at, effect in enumerate(run.effects[before:], start=before):
        called = isinstance(node.value, ast.Call) and effect.what == env.code(node.value.func)
        if effect.act is Act.UNKNOWN and effect.node is node.value and called and not effect.inside:
            own = own_birth(env, node.value)
            run.effects[at] = replace(effect, act=Act.WRITE, born=own, guess=own > 0, assumed=True)
    return False


def _return(run: Interpreter, env: Env, node: ast.Return, flow: Flow) -> bool:
    value = evaluate(run, env, node.value) if node.value is not None else NONE
    for option in options(value):
        if isinstance(option, Listed) and option.cell.function is not env.function and not option.cell.is_tuple:
            run.use(option.cell, Does.RETURN, node, env)
        elif isinstance(option, Instance) and not _made_in(option, env):
            run.use_of(option, Does.RETURN, node, env)
    flow.returned.append(value)
    return True


def _made_in(value: Instance, env: Env) -> bool:
    """Whether an object is made by the function that gives it back."""
    if env.function is None or value.node is None:
        return False
    return value.node in nodes_below(env.function)


def _raise(run: Interpreter, env: Env, node: ast.Raise, flow: Flow) -> bool:
    """What is raised is not followed, but a class of the project may do something as an object of it is made."""
    made = evaluate(run, env, node.exc.func) if isinstance(node.exc, ast.Call) else None
    if node.exc is not None and any(isinstance(option, Class) for option in options(made or NONE)):
        with run.recording() as recorded:
            evaluate(run, env, node.exc)
        run.effects.extend(effect for effect in recorded if effect.act in (Act.WRITE, Act.COLLECT))
    return True


def _jump(run: Interpreter, env: Env, node: ast.stmt, flow: Flow) -> bool:
    return False  # what follows in the block is run too, which only adds to what may be


def _assert(run: Interpreter, env: Env, node: ast.Assert, flow: Flow) -> bool:
    test = evaluate(run, env, node.test)
    tested(run, env, node.test, test)
    return False


_HANDLERS: dict[type[ast.stmt], Callable[..., bool]] = {
    ast.Assign: _assign,
    ast.AnnAssign: _annotated_assign,
    ast.AugAssign: _augmented,
    ast.If: _if,
    ast.For: _for,
    ast.AsyncFor: _for,
    ast.While: _while,
    ast.With: with_statement,
    ast.AsyncWith: with_statement,
    ast.Try: _try,
    ast.TryStar: _try,
    ast.Match: match_statement,
    ast.Expr: _expression,
    ast.Return: _return,
    ast.Raise: _raise,
    ast.Pass: _jump,
    ast.Break: _jump,
    ast.Continue: _jump,
    ast.FunctionDef: function_statement,
    ast.AsyncFunctionDef: function_statement,
    ast.ClassDef: class_statement,
    ast.Assert: _assert,
    ast.Delete: delete_statement,
    ast.Global: global_statement,
    ast.Nonlocal: global_statement,
    ast.Import: import_statement,
    ast.ImportFrom: import_statement,
}
