"""Remarks on existing stacks and scans: code that probably does not compute what its author intended.

`find` checks each file that contains a telling word, through a `view` of it; `stacks` recognises objects that hold
several layers in one array, `keys` expressions that are one random key; `scans` has one file for each rule about a
scan.
"""
