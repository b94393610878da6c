"""A probe: a real model with one mutation, and how to run and watch it."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Probe:
    """The files of a mutated model.

    `target` is the file with the loop, `case` the function of `case_text` that builds the model of its module.
    `family` names the kind of mutation, `how` its spelling, `what` what it does. `watch` is an expression of the module
    `watched` that shows the effect, "" if the outputs show it. `poke` is a function of the target that a program calls
    with the model before it is run, "" if there is none.
    """

    seed: int
    model: str
    files: Mapping[str, str]
    target: str
    case_text: str
    case: str
    family: str
    how: str
    what: str
    watch: str = ""
    watched: str = ""
    poke: str = ""
