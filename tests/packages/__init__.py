"""Models of published packages, held against their own loops: `python -m tests.packages`."""
