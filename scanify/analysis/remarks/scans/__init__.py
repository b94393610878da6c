"""Rules about scans over layers, one file each: `remarks` yields the problems of one call."""
