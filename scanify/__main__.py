"""`python -m scanify`."""

from scanify.cli import main

main()
