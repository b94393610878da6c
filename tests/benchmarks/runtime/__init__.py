"""What a stack of layers costs: the loop, scans written by hand, other libraries' stacks, and ours, in one process."""
