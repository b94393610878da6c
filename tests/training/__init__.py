"""A small language model, trained on real text as a loop over its blocks and as scans: `make train`."""
