"""The kinds of obligations that no case shows, by the names under which users accept them (`--accept elsewhere`)."""

ELSEWHERE = "elsewhere"
"""Obligations about code outside of the loop, of its layers and of what these call: no case runs that code."""

ACCEPTABLE = (ELSEWHERE,)

UNSAFE = "unsafe"
"""Every obligation, by the name of the option that accepts all (`--unsafe`)."""
