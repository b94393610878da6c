"""All decisions about a project: loops are found, their functions run, and the decisions brought into line."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from scanify.analysis.block_seqs import block_seqs
from scanify.analysis.index.meaning import Definition
from scanify.analysis.index.project import Index
from scanify.analysis.linen.classes import LinenClasses
from scanify.analysis.linen.find import linen_decisions, stands_in_linen
from scanify.analysis.linen.first_look import may_be_linen
from scanify.analysis.loops.applied import calls_itself
from scanify.analysis.loops.fact import LoopFact, fact_of
from scanify.analysis.loops.lists.given import hand_in, holds_any_heir, is_given, settle
from scanify.analysis.loops.lists.layer_list import groups_of
from scanify.analysis.loops.lists.layers import fields_walked, kept_as, layers_of, walked_values
from scanify.analysis.loops.lists.used_as_data import used_as_data
from scanify.analysis.loops.lists.vocabulary import Vocabulary
from scanify.analysis.lower.loop import Form, Loop
from scanify.analysis.lower.loops import loops_in
from scanify.analysis.lower.own_builtins import by_own_builtins
from scanify.analysis.parameters.find import facts_over_parameters
from scanify.analysis.plan import Plan, Refusal
from scanify.analysis.planning.callers import called_by, callers, holds_unknown
from scanify.analysis.planning.decide import Choices, decide
from scanify.analysis.planning.scout import is_foreign, may_walk_modules, scout
from scanify.analysis.planning.together import Decided, in_line, left_behind, not_of_stacks
from scanify.analysis.values.domain import Instance, Listed, Mapped, Unknown, Value, join, options
from scanify.analysis.values.objects.likeness import is_layer
from scanify.analysis.values.run.explore import Code, Explorer, model_list
from scanify.analysis.values.run.interpreter import Interpreter

_ROUNDS = 6  # of following other names of lists, and the callers of functions


def decisions(
    index: Index, paths: Iterable[Path], choices: Choices, among: Callable[[Loop], bool] | None = None
) -> tuple[list[Plan | Refusal], Callable[[], list[Plan | Refusal]]]:
    """A decision for every loop over modules in some files of a project, and on demand those if all lists stay.

    All loops of the project are decided about, so that the answer for a file is the same whatever else is asked for;
    with `among` those alone that it says yes to, which is a first answer, soon and without regard to the others.
    """
    run = Interpreter(index)
    asked = list(dict.fromkeys(paths))
    facts = facts_of(run, index.paths if among is None else asked, among) if _any_to_decide(index, asked) else []
    if choices.parameters:
        facts += facts_over_parameters(index, asked, {fact.loop.node for fact in facts}, among)
    decide_all = partial(_decisions, run, facts, asked)
    return decide_all(choices), partial(decide_all, replace(choices, stack="call"))


def _decisions(
    run: Interpreter, facts: Sequence[LoopFact], asked: Collection[Path], choices: Choices
) -> list[Plan | Refusal]:
    index = run.index
    decided, final = _heeded(index, [(fact, decide(run, choices, fact)) for fact in facts])
    for _ in facts:
        stays = left_behind(decided, final)
        if not stays:
            break
        decided, final = _heeded(
            index,
            [
                (fact, decide(run, choices, fact, stays[fact.loop.node]) if fact.loop.node in stays else decision)
                for fact, decision in decided
            ],
        )
    found = [*(each for each in final if each.place.path in asked), *linen_decisions(index, asked)]
    found += block_seqs(index, asked) if choices.block_seqs else []
    return sorted(found, key=_position)


def _heeded(index: Index, decided: Decided) -> tuple[Decided, list[Plan | Refusal]]:
    """The decisions in line, where a loop that a comment silences for the rule of its decision is as one that is
    ignored altogether."""
    final = _together(index, decided)
    rules = {(each.place.path, each.place.span.start, each.place.span.end): each.rule for each in final}
    heeded: list[tuple[LoopFact, Plan | Refusal | None]] = []
    for fact, decision in decided:
        place = fact.loop.place
        rule = rules.get((place.path, place.span.start, place.span.end))
        if rule is not None and fact.loop.ignores_rule(rule):
            heeded.append((replace(fact, loop=replace(fact.loop, ignored=True)), None))
        else:
            heeded.append((fact, decision))
    silenced = any(fact.loop.ignored for fact, _ in heeded)
    return (heeded, _together(index, heeded)) if silenced else (decided, final)


def _together(index: Index, decided: Decided) -> list[Plan | Refusal]:
    found = list(not_of_stacks(decided))
    found.sort(key=_position)
    return in_line(index, found)


def _position(each: Plan | Refusal) -> tuple[str, int, int]:
    return str(each.place.path), each.place.span.start, each.place.span.end


def facts_of(run: Interpreter, paths: Collection[Path], among: Callable[[Loop], bool] | None = None) -> list[LoopFact]:
    """What is known of every loop over modules in some files, or of those that `among` says yes to."""
    explorer = Explorer(run)
    found = [loop for path in paths for loop in _loops_at(run.index, path)]
    loops = _that_may_walk_modules(run, found if among is None else list(filter(among, found)))
    if not loops:
        return []
    _run_functions(run, explorer, loops)
    loops = [loop for loop in loops if _may_be_over_modules(run, explorer, loop)]
    _look_around(run, explorer, loops)
    return [fact for loop in loops if (fact := fact_of(run, explorer, loop)) is not None]


def _any_to_decide(index: Index, asked: Sequence[Path]) -> bool:
    """Whether any loop of the files asked for may be over modules: else the others need not be looked at."""
    if len(asked) == len(index.paths):
        return True
    loops = [loop for path in asked for loop in _loops_at(index, path)]
    return bool(_that_may_walk_modules(Interpreter(index), loops, alone=True))


def _that_may_walk_modules(run: Interpreter, loops: Sequence[Loop], *, alone: bool = False) -> list[Loop]:
    words = Vocabulary(run.index, run.classes)
    loops = [
        each
        for each in loops
        if not each.walks or not (is_foreign(run, each) or all(used_as_data(each, walk, words) for walk in each.walks))
    ]
    shallow = scout(run)
    explorer = Explorer(shallow)
    _run_functions(shallow, explorer, loops)
    return [loop for loop in loops if may_walk_modules(shallow, explorer, loop, alone=alone)]


def _loops_at(index: Index, path: Path) -> Sequence[Loop]:
    """The loops of a file, without those of modules of Flax Linen, which are decided about by themselves."""
    module = index.module_at(path)
    if module is None:
        return ()
    loops = by_own_builtins(index, module, loops_in(module))
    if not loops or not may_be_linen(module.text):
        return loops
    classes = LinenClasses(index)
    return [each for each in loops if not stands_in_linen(classes, each)]


def _run_functions(run: Interpreter, explorer: Explorer, loops: Sequence[Loop]) -> None:
    """Run the functions that the loops stand in, with probes at the loops."""
    waiting: list[Code] = []
    for loop in loops:
        code = _code_of(explorer, loop)
        explorer.probe([loop.node], code.node if code is not None else None)
        run.probed |= {scope.node for scope in loop.scope.chain() if scope.is_function}
        if code is not None:
            waiting.append(code)
    for code in waiting:
        explorer.run_code(code)


def _may_be_over_modules(run: Interpreter, explorer: Explorer, loop: Loop) -> bool:
    """Whether a loop may turn out to be over modules when the rest of the project has been looked at."""
    envs = explorer.envs(loop.node)
    if not envs or loop.form is Form.SEQUENTIAL or layers_of(run, loop, envs) is not None:
        return True
    unclear = (walk for walk in loop.walks if any(isinstance(each, Unknown) for each in walked_values(run, walk, envs)))
    return any(calls_itself(loop, walk) for walk in unclear)


def _code_of(explorer: Explorer, loop: Loop) -> Code | None:
    return explorer.function_at(loop.module, loop.place.span.line)


def _look_around(run: Interpreter, explorer: Explorer, loops: Sequence[Loop]) -> None:
    """Run what else mentions the fields that hold the lists, and what calls functions that are given lists."""
    words: set[str] = set()
    fields: set[str] = set()
    made = {loop.node for loop in loops if loop.form is Form.SEQUENTIAL}
    for model in list(run.models.values()) if made else ():
        for name, value in getattr(model, "fields", {}).items():
            for option in options(value):
                if isinstance(option, Instance) and option.node in made:
                    words.add(name)
                    run.guesses.setdefault(name, option)
    for loop in loops:
        words |= _callers(run, explorer, loop)
        for walk in loop.walks:
            for base in walk.bases:
                attribute = getattr(base, "attr", None)
                if attribute is not None:
                    words.add(attribute)
                    words |= _owner_names(run, explorer, loop)
                    fields.add(attribute)
                elif getattr(base, "id", None) in loop.scope.params:
                    words.add(_called_by(explorer, loop))
    for name in sorted(fields):
        _guess(run, explorer, name)
    words.discard("")
    if words:
        words.add("tree_at")
    explored: set[str] = set()
    for _ in range(_ROUNDS):
        explored |= words
        explorer.run_again_where_guessed()
        explorer.explore(words)
        _look_at_names(run, explorer, loops, fields)
        words = _other_names(run, words) | run.asked_for - {""}
    if words - explored:
        run.capped[f"other names of lists are followed {_ROUNDS} times"] = None
    _hand_in(run, explorer, loops)


def _look_at_names(run: Interpreter, explorer: Explorer, loops: Sequence[Loop], fields: set[str]) -> None:
    """Run what mentions the fields, but some that are known, whose lists the loops walk by names of their own."""
    found: set[str] = set()
    for loop in loops:
        kept = kept_as(run, loop, explorer.envs(loop.node)) - fields
        found |= kept | (_owner_names(run, explorer, loop) if kept else set())
        for name in sorted(kept):
            fields.add(name)
            _guess(run, explorer, name)
    explorer.explore_again(found)


def _called_by(explorer: Explorer, loop: Loop) -> str:
    """The name by which the function around a loop is called: that of the class for its constructor."""
    function = loop.scope.function
    return called_by(_code_of(explorer, loop), function.name if function is not None else "")


def _callers(run: Interpreter, explorer: Explorer, loop: Loop) -> set[str]:
    """The names of what leads to the code that builds a list of what is not shown: callers may say what it is."""
    envs = explorer.envs(loop.node)
    found: set[str] = set()
    for walk in loop.walks:
        values = walked_values(run, walk, envs) if envs else []
        if holds_unknown(values) and (loop.form is Form.SEQUENTIAL or calls_itself(loop, walk)):
            owners = [owner for owner, _, _ in fields_walked(run, loop, envs)]
            for name in {owner.name for owner in owners} or {_called_by(explorer, loop)}:
                found |= callers(explorer, name)
    return found


def _other_names(run: Interpreter, words: Collection[str]) -> set[str]:
    """The fields that hold the same lists as those of some names, which are then the same lists under those names."""
    found: set[str] = set()
    for stores in run.stores.values():
        names = {each.attribute for each in stores.values() if each.attribute is not None}
        for known in names & set(words) & set(run.guesses) if len(names) > 1 else ():
            for name in names - set(run.guesses):
                found.add(name)
                run.guesses[name] = run.guesses[known]
    return found


def _hand_in(run: Interpreter, explorer: Explorer, loops: Sequence[Loop]) -> None:
    """Let fields that callers give hold what they give, and run again what uses them."""
    words = {
        attribute
        for loop in loops
        for owner, attribute, values in fields_walked(run, loop, explorer.envs(loop.node))
        if hand_in(run, owner, attribute, values)
    }
    if words:
        run.memo.clear()
        explorer.explore_again(words)
        settle(run)


def _owner_names(run: Interpreter, explorer: Explorer, loop: Loop) -> set[str]:
    """The class around a loop, where its constructor may be given the list: those who call it say what it is."""
    for env in explorer.envs(loop.node):
        instance = env.lookup(env.self_name) if env.self_name is not None else None
        if isinstance(instance, Instance) and isinstance(instance.cls, Definition):
            given = (value for field in instance.fields.values() for value in options(field))
            if any(isinstance(value, Unknown) or is_given(value) or holds_any_heir(run, value) for value in given):
                for cls in (instance.cls, *run.classes.heirs(instance.cls)):
                    for code in explorer.functions(cls.module):
                        if code.owner is not None and code.owner.node is cls.node:
                            explorer.run_code(code)
                return {instance.cls.name, *(heir.name for heir in run.classes.heirs(instance.cls))}
    return set()


def _guess(run: Interpreter, explorer: Explorer, attribute: str) -> None:
    """What an attribute of an object of unknown class may be: the lists of layers that modules hold under that name.

    Every module of the project is asked, whichever files are reported.
    """
    known = run.guesses.get(attribute)
    values: list[Value] = [known] if known is not None else []
    for definition in explorer.classes_with(attribute):
        held = model_list(run, definition, attribute) if run.classes.is_module(definition) else None
        values += [each for each in options(held) if _holds_layers(run, each)] if held is not None else []
    if values:
        run.guesses[attribute] = join(values)


def _holds_layers(run: Interpreter, value: Value) -> bool:
    """Whether a list or a dict may hold modules: one of numbers or texts does not."""
    if not isinstance(value, Listed | Mapped):
        return False
    elements = [option for each in groups_of(value.cell) for option in options(each.element)]
    return not elements or any(isinstance(each, Unknown) or is_layer(run, each) for each in elements)
