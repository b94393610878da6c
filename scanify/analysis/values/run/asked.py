"""What a call asks of the run beyond what it is given, with the answers: where one is another now, it is run again.

Of the names that loops write to it asks in which of the loops around they are written to, of an attribute of an object
of unknown class what it may hold, and of an object whether a scan makes tracers of its arrays.
"""

from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

from scanify.analysis.values.domain import Value

if TYPE_CHECKING:
    from scanify.analysis.values.run.interpreter import Interpreter


class Asks(Enum):
    """What is asked of a place."""

    LOOPS = "in which of the loops around it is written to"
    GUESS = "what an attribute of an object of unknown class may hold"
    TRACED = "whether a scan makes tracers of the arrays of an object"


Question: TypeAlias = tuple[Asks, object]
Answer: TypeAlias = "tuple[int, ...] | frozenset[Value] | Value | bool | None"
Answers: TypeAlias = dict[Question, Answer]


def answer_to(run: "Interpreter", question: Question) -> Answer:
    """What is true now."""
    asks, place = question
    if asks is Asks.LOOPS:
        return run.churned.loops_at(place)
    if asks is Asks.GUESS:
        return run.guesses.get(place) if isinstance(place, str) else frozenset(run.guesses.values())
    return place in run.scanned


def ask(run: "Interpreter", asks: Asks, place: object) -> Answer:
    """The same, kept in mind as something that the call asks which runs: of one question the first answer counts."""
    question = (asks, place)
    answer = answer_to(run, question)
    run.asked.setdefault(question, answer)
    if asks is Asks.LOOPS and run.regions:
        run.churned.note_read(place)
    return answer


def guessed(run: "Interpreter", name: str) -> Value | None:
    """What an attribute of an object of unknown class may hold."""
    ask(run, Asks.GUESS, name)
    return run.guesses.get(name)


def all_guesses(run: "Interpreter") -> tuple[Value, ...]:
    """What attributes of objects of unknown class may hold, whatever their names."""
    ask(run, Asks.GUESS, None)
    return tuple(run.guesses.values())


def outside(answer: Answer, loops: int) -> Answer:
    """An answer as it is for the caller, who is in none of the loops beyond a number."""
    return tuple(loop for loop in answer if loop <= loops) if isinstance(answer, tuple) else answer
