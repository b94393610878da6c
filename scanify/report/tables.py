"""Tables on a console: ruled on a terminal, plain ASCII elsewhere so that log viewers show them correctly."""

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

# A header line, a rule under it, and columns separated by spaces.
_PLAIN = box.Box("    \n    \n -- \n    \n    \n    \n    \n    \n", ascii=True)


def table_for(console: Console) -> Table:
    """Create an empty table in the style of the console."""
    return Table(box=box.SIMPLE_HEAD if console.is_terminal else _PLAIN, padding=(0, 1), show_edge=False)


def print_table(table: Table, console: Console) -> None:
    """Print a table indented by one column, without trailing spaces."""
    for segments in console.render_lines(Padding(table, (0, 0, 0, 1), expand=False), pad=False):
        line = Text.assemble(*((segment.text, segment.style or "") for segment in segments))
        line.rstrip()
        print_line(console, line)


def print_line(console: Console, text: Text) -> None:
    """Print a line without wrapping or highlighting."""
    console.print(text, soft_wrap=True, highlight=False)
