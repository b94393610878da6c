"""A table of the mutants: the check that must tell each, and what the verification said."""

import tempfile
from pathlib import Path

import jax
from rich.console import Console
from rich.table import Table

from tests.mutants.catalogue import MUTANTS
from tests.mutants.checks import said
from tests.mutants.run import verify


def main() -> None:
    table = Table("mutant", "check", "only", "what the verification said")
    for each in MUTANTS:
        with tempfile.TemporaryDirectory() as folder:
            found = said(verify(each, Path(folder)), abstract=each.abstract)
        text = found.get(each.caught, f"NOT CAUGHT; said by {', '.join(found) or 'no check'}")
        table.add_row(str(each), each.caught, "yes" if each.only else "", text.partition("\n")[0])
    Console().print(table)


if __name__ == "__main__":
    jax.config.update("jax_disable_most_optimizations", True)
    main()
