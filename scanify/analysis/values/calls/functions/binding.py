"""What the parameters of a function stand for in a call of it."""

import ast
from collections.abc import Mapping, Sequence

from scanify.analysis.values.code.annotations import parameter
from scanify.analysis.values.data import Data
from scanify.analysis.values.domain import Listed, Unknown, Value, marked
from scanify.analysis.values.heap import Group, ListCell
from scanify.analysis.values.marks import merged
from scanify.analysis.values.objects.protocols import data_of
from scanify.analysis.values.replace import replace
from scanify.analysis.values.run.before import made_once
from scanify.analysis.values.run.environment import Env
from scanify.analysis.values.run.interpreter import Interpreter

Named = Mapping[str, Value]


def bind_parameters(
    run: Interpreter, env: Env, args: ast.arguments, positional: Sequence[Value], named: Named, sure: int = 0
) -> None:
    """Bind the parameters of a function to what it is given, and the others to their defaults.

    `sure` are the first arguments that stand in front of any which are not shown: the object of a method.
    """
    plain = [*args.posonlyargs, *args.args]
    defaults = dict(zip([each.arg for each in plain[len(plain) - len(args.defaults) :]], args.defaults, strict=True))
    defaults |= {
        each.arg: value for each, value in zip(args.kwonlyargs, args.kw_defaults, strict=True) if value is not None
    }
    unclear = "*" in named or "**" in named
    for position, each in enumerate([*plain, *args.kwonlyargs]):
        if each.arg in named:
            value = named[each.arg]
        elif position < len(plain) and position < len(positional) and ("*" not in named or position < sure):
            value = positional[position]
        elif each.arg in defaults and not unclear:
            value = made_once(run, env.parent if env.parent is not None else env, defaults[each.arg])
            run.changes.reach(value)
        else:
            value = parameter(run, env, each.arg, each.annotation)
            if unclear:
                hidden = [one for key, one in named.items() if key.startswith("*")]
                value = marked(value, merged(one.marks for one in hidden))
                if isinstance(value, Unknown):
                    value = replace(value, data=data_of(run, hidden))
        env.bind(each.arg, value)
    if args.vararg is not None:
        cell = ListCell(args.vararg, env.module, run.tick(), function=env.function, is_tuple=True)
        cell.groups = [Group(value, args.vararg, env.module) for value in positional[len(plain) :]]
        cell.whole = "*" not in named
        cell.given = f"the arguments `*{args.vararg.arg}`" if not cell.groups else ""
        cell.data = min(data_of(run, [named["*"]]) if "*" in named else Data.ARRAYS, Data.ARGUMENT)
        if cell.groups and not cell.whole:
            rest = Unknown("the number of arguments is not shown", env.place(args.vararg), data=cell.data)
            cell.groups.append(Group(rest, args.vararg, env.module, (), None, True))
        env.bind(args.vararg.arg, Listed(cell))
    if args.kwarg is not None:
        text = f"the keyword arguments `**{args.kwarg.arg}`"
        names = {each.arg for each in (*plain, *args.kwonlyargs)}
        known = data_of(run, [value for name, value in named.items() if name not in names])
        made = Unknown(text, born=run.tick(), data=min(known, Data.ARGUMENT), argument=args.kwarg)
        env.bind(args.kwarg.arg, made)  # a dict of its own for each call
