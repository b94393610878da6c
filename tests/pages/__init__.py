"""Every page of docs/ run as it is written: `test_pages.py`, and `python -m tests.pages --write` for the outputs."""
