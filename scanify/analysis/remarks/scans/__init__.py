"""The rules about scans over layers, one file each: `remarks` yields what is wrong with one call."""
