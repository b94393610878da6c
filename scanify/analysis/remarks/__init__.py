"""What is said of stacks and scans that are there already: code that hardly computes what its author means.

`find` asks each file that has a telling word; `stacks` knows which objects hold several layers in one array, `kinds`
what an expression is by its syntax; `scans` has one file for each rule about a scan.
"""
