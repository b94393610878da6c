"""Remarks on stacks and scans that are there already: code that hardly computes what its author means.

`find` looks at each file that has a telling word, through a `view` of it; `stacks` knows which objects hold several
layers in one array, `keys` which expressions are one random key; `scans` has one file for each rule about a scan.
"""
