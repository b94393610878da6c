"""The kinds of obligations that no case shows, by the names under which users accept them (`--accept elsewhere`)."""

ELSEWHERE = "elsewhere"
"""Obligations about code outside of the loop, of its layers and of what these call: no case runs that code."""

COST = "cost"
"""Obligations about the time that a scan takes: a proof that two versions are equal says nothing of it."""

ACCEPTABLE = (ELSEWHERE, COST)

UNSAFE = "unsafe"
"""Every obligation, by the name of the option that accepts all (`--unsafe`)."""
