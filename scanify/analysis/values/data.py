"""How much is known of a value of unknown class."""

from enum import IntEnum


class Data(IntEnum):
    """What is known of a value whose class is not.

    OPEN is nothing: any operation on it may do anything. ARGUMENT is an argument of the function that has the loop,
    or a part of one, which no annotation describes: an array, a number or a container of these, or an object of a
    class whose operators act on nothing. ARRAYS are arrays, numbers, texts, keys, None, and containers of these alone.
    """

    OPEN = 0
    ARGUMENT = 1
    ARRAYS = 2
