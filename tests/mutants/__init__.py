"""Wrong rewrites, each a small mistake that people make by hand, and the check of a verification that must tell it.

`python -m tests.mutants` lists them with what the verification said.
"""
