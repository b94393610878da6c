"""What ruff, black and pyupgrade do, tried: the table of docs/other-tools.md."""
