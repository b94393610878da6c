"""Programs made at random, in which layers repeat or nearly repeat, rerolled and held against themselves."""
