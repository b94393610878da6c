"""The functions that the targets write into files, so that those files do not depend on scanify.

Each raises if layers do not suit a scan: stacking assumes that layers differ in the values of arrays alone, and this
must hold for the layers at run time.
"""

from scanify.emit.target import Helper

STACK_LAYERS = Helper(r'''
def stack_layers(layers):
    """Layers that differ in the values of their arrays alone, as one.

    Each of its arrays has the layers along axis 0. ValueError where they differ in more.
    """
    layers = list(layers)
    if not layers:
        raise ValueError("expected at least one layer to stack, got none")

    def is_array(leaf):
        return eqx.is_array(leaf) or eqx.is_inexact_array(leaf)

    def outline(leaf):
        if not is_array(leaf):
            return leaf
        return leaf.shape, str(leaf.dtype), getattr(leaf, "weak_type", False)

    first = jax.tree.map(outline, layers[0])
    for number, layer in enumerate(layers):
        if not eqx.tree_equal(first, jax.tree.map(outline, layer), typematch=True):
            raise ValueError(
                "expected layers that differ in the values of arrays alone, got as layers "
                f"0 and {number}:\n{layers[0]}\n{layer}"
            )
    return jax.tree.map(
        lambda leaf, *more: jax.numpy.stack([leaf, *more]) if is_array(leaf) else leaf, *layers
    )
''')

COUNT_LAYERS = Helper('''
def count_layers(stacked):
    """How many layers there are in what `stack_layers` has made."""
    return len(jax.tree.leaves(eqx.filter(stacked, eqx.is_array))[0])
''')

PER_LAYER = Helper('''
def per_layer(values, count):
    """One of the values for each layer, along axis 0: an array as it is, a list stacked."""
    if len(values) != count:
        raise ValueError(f"expected {count} values, one for each layer, got {len(values)}")
    if eqx.is_array(values):
        return values
    if all(type(value) in (int, float) for value in values) and len(set(values)) > 1:
        return jax.numpy.stack([jax.numpy.asarray(value) for value in values])
    return stack_layers(values)
''')

UNSTACK_LAYERS = Helper(r'''
def unstack_layers(stacked, count):
    """A list with what each layer gave, of arrays that have the layers along axis 0."""
    return [jax.tree.map(lambda rows, at=number: rows[at], stacked) for number in range(count)]
''')

MAP_LAYERS = Helper('''
def map_layers(function, layers):
    """A list of what `function` gives for each of the layers, which are stacked."""
    arrays, static = eqx.partition(layers, eqx.is_array)
    stacked = jax.lax.map(lambda one: function(*eqx.combine(one, static)), arrays)
    return unstack_layers(stacked, len(jax.tree.leaves(arrays)[0]))
''')

SCAN_IN_CHUNKS = Helper('''
def scan_in_chunks(body, carry, layers):
    """`jax.lax.scan`, which keeps one carry for each chunk of layers, and those of one chunk while it goes back."""
    count = len(jax.tree.leaves(layers)[0])
    size = max(number for number in range(1, count + 1) if number * number <= count)
    full = count // size
    body = jax.checkpoint(body, prevent_cse=False)

    def chunk(carry, layers):
        return jax.lax.scan(body, carry, layers)

    chunks = jax.tree.map(lambda rows: rows[: full * size].reshape(full, size, *rows.shape[1:]), layers)
    carry, outputs = jax.lax.scan(jax.checkpoint(chunk, prevent_cse=False), carry, chunks)
    outputs = jax.tree.map(lambda rows: rows.reshape(full * size, *rows.shape[2:]), outputs)
    if full * size == count:
        return carry, outputs
    carry, last = jax.checkpoint(chunk)(carry, jax.tree.map(lambda rows: rows[full * size :], layers))
    return carry, jax.tree.map(lambda *rows: jax.numpy.concatenate(rows), outputs, last)
''')

OFFLOAD_CARRIES = Helper('''
def offload_carries(body):
    """A scan's `body`, of which the backward pass keeps the carries alone, in host memory."""

    def named(carry, layer):
        carry = jax.tree.map(lambda leaf: checkpoint_name(leaf, "carry"), carry)
        return body(carry, layer)

    policy = jax.checkpoint_policies.save_and_offload_only_these_names(
        names_which_can_be_saved=[],
        names_which_can_be_offloaded=["carry"],
        offload_src="device",
        offload_dst="pinned_host",
    )
    return jax.checkpoint(named, prevent_cse=False, policy=policy)
''')

IN_ARRAYS = Helper('''
def array_stacked(layers, policy):
    """A stack of layers that differ in the values of their arrays alone, under a remat policy."""
    layers = list(layers)
    return ArrayStacked(
        stack_layers(layers), len(layers), ScanCheckpointPolicy.from_bool_or_str(policy)
    )
''')

AT_LAYER = Helper('''
def at_layer(stacked, number):
    """What the layer of a number has of its own."""
    return jax.tree.map(lambda leaf: leaf[number] if eqx.is_array(leaf) else leaf, stacked)
''')

STACK_NAMED = Helper(r'''
def stack_arrays(trees):
    """Trees that differ in the values of their arrays alone, as one.

    Arrays have the trees along axis 0, named ones along the axis "layers". ValueError where they
    differ in more.
    """
    trees = list(trees)
    if not trees:
        raise ValueError("expected at least one layer to stack, got none")

    def is_named(leaf):
        return isinstance(leaf, hax.NamedArray)

    def is_array(leaf):
        return hasattr(leaf, "shape") and hasattr(leaf, "dtype")

    def outline(leaf):
        if not is_array(leaf):
            return leaf
        axes = str(leaf.axes) if is_named(leaf) else leaf.shape
        return axes, str(leaf.dtype), getattr(leaf, "weak_type", False)

    def stack(leaf, *more):
        if is_named(leaf):
            return hax.stack(hax.Axis("layers", len(trees)), [leaf, *more])
        return jax.numpy.stack([leaf, *more]) if is_array(leaf) else leaf

    first = jax.tree.map(outline, trees[0], is_leaf=is_named)
    for number, tree in enumerate(trees):
        if not eqx.tree_equal(first, jax.tree.map(outline, tree, is_leaf=is_named), typematch=True):
            raise ValueError(
                "expected layers that differ in the values of arrays alone, got as layers "
                f"0 and {number}:\n{trees[0]}\n{tree}"
            )
    return jax.tree.map(stack, *trees, is_leaf=is_named)
''')

STACKED = Helper('''
def stack_layers(layers, policy):
    """A stack of layers that differ in the values of their arrays alone, under a remat policy."""
    layers = list(layers)
    return hax.nn.Stacked(
        stack_arrays(layers),
        hax.Axis("layers", len(layers)),
        hax.ScanCheckpointPolicy.from_bool_or_str(policy),
    )
''')

PER_LAYER_NAMED = Helper('''
def per_layer(values, count):
    """One of the values for each layer, along axis 0: an array as it is, a list stacked."""
    if len(values) != count:
        raise ValueError(f"expected {count} values, one for each layer, got {len(values)}")
    if eqx.is_array(values):
        return values
    if all(type(value) in (int, float) for value in values) and len(set(values)) > 1:
        return jax.numpy.stack([jax.numpy.asarray(value) for value in values])
    return stack_arrays(values)
''')

UNSTACK_NAMED = Helper('''
def unstack_layers(stacked, count):
    """A list with what each of the layers gave, of arrays that have the layers along axis 0."""

    def is_named(leaf):
        return isinstance(leaf, hax.NamedArray)

    def taken(rows, number):
        return rows["layers", number] if is_named(rows) else rows[number]

    return [
        jax.tree.map(lambda rows, at=number: taken(rows, at), stacked, is_leaf=is_named)
        for number in range(count)
    ]
''')
