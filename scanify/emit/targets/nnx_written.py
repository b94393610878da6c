"""The functions that the target `nnx` writes into files: a scan over the modules of a list, which stays.

They raise if a scan would differ from the loop: if layers differ in more than arrays or share a variable, if a call
changes more of a layer than values, if a loop reads elsewhere what a layer writes, and if a scan gets a value that is
not an array.
"""

from scanify.emit.target import Helper

SAME_STATICS = Helper('''
def same_statics(one, other):
    """Whether two values without arrays are the same: functions made anew are, of one code that holds the same."""
    if one is other:
        return True
    if type(one) is not type(other) or hasattr(one, "dtype"):
        return False
    if isinstance(one, float):
        return repr(one) == repr(other)
    if isinstance(one, type(same_statics)):
        if one.__code__ is not other.__code__ or one.__globals__ is not other.__globals__:
            return False
        one, other = (
            [
                [cell.cell_contents for cell in function.__closure__ or ()],
                [function.__defaults__, function.__kwdefaults__, function.__dict__],
            ]
            for function in (one, other)
        )
    if hasattr(one, "keys"):
        return one.keys() == other.keys() and all(same_statics(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same_statics, one, other))
    fields = getattr(type(one), "__dataclass_fields__", ())
    if fields:
        return all(same_statics(getattr(one, name), getattr(other, name)) for name in fields)
    return bool(one == other)
''')

SCAN_LAYERS = Helper(r'''
def scan_layers(apply, carry, layers, *per_layer, remat=False, policy=None):
    """`carry, output = apply(layer, carry, *values)` for each of the layers, as one scan over all of them.

    Gives the last carry and a list of the outputs. The layers are stacked for the scan, and have the
    state afterwards that they would have after a loop. They may differ in the values of their arrays
    alone, and share no variable. Of `per_layer` each layer is given its own values. What a layer writes
    to is read through that layer alone: `apply` is traced again with nothing to be read elsewhere.
    """
    layers = list(layers)
    if not layers:
        return carry, []
    parts = [nnx.split(layer) for layer in layers]
    rows = [jax.tree.leaves(state) for _, state in parts]
    graph, tree = parts[0][0], jax.tree.structure(parts[0][1])

    def outline(values, what):
        def is_object(node):
            return isinstance(node, (nnx.Object, nnx.Variable))

        leaves, structure = jax.tree.flatten(values, is_leaf=is_object)
        for leaf in leaves:
            if not isinstance(leaf, jax.Array):
                raise TypeError(f"expected arrays of jax alone in {what}, got {leaf!r}")
        return structure, [(x.shape, x.dtype, getattr(x, "weak_type", False)) for x in leaves]

    def check_equal(parts, values, what):
        if not same_statics(parts[0], graph) or jax.tree.structure(parts[1]) != tree:
            raise ValueError(f"expected {what} that differ in the values of arrays alone, got\n{parts[0]}\n{graph}")
        if values is not None and outline(values, what) != outline(rows[0], what):
            raise ValueError(f"expected {what} whose arrays have one shape and dtype, got others")

    def stack(values):
        if len(values) != len(layers):
            raise ValueError(f"expected {len(layers)} values, one for each layer, got {len(values)}")
        if isinstance(values, jax.Array):
            return values
        outlines = [outline(value, "what is given to a layer") for value in values]
        if any(one != outlines[0] for one in outlines):
            raise ValueError(f"expected values of one shape and dtype for all layers, got {outlines}")
        return jax.tree.map(lambda *leaves: jax.numpy.stack(leaves), *values)

    for number, part in enumerate(parts):
        check_equal(part, rows[number], f"layers 0 and {number}")
    nodes = [node for layer in layers for _, node in nnx.iter_graph(layer)]
    variables = [id(node) for node in nodes if isinstance(node, nnx.Variable)]
    if len(set(variables)) < len(variables):
        raise ValueError("expected layers with variables of their own, got layers that share some")
    changed = []

    def body(carry, row):
        leaves, values = row
        check_equal(parts[0], leaves, "a layer and its row of the stack")
        layer = nnx.merge(graph, jax.tree.unflatten(tree, leaves))
        after, output = apply(layer, carry, *values)
        before = outline(carry, "what goes from layer to layer")
        if outline(after, "what goes from layer to layer") != before:
            raise ValueError(f"expected layers that give on what they are given, {before}, got {after}")
        outline(output, "what is collected")
        later = nnx.split(layer)
        check_equal(later, None, "a layer before and after its call")
        new = jax.tree.leaves(later[1])
        outline(new, "a layer after its call")
        changed[:] = [at for at, leaf in enumerate(new) if leaf is not leaves[at]]
        return after, (output, [new[at] for at in changed])

    outline(carry, "what goes from layer to layer")
    step = jax.checkpoint(body, prevent_cse=False, policy=policy) if remat else body
    stacked = [jax.numpy.stack(leaves) for leaves in zip(*rows, strict=True)]
    inputs = stacked, [stack(values) for values in per_layer]
    start = carry
    carry, (outputs, written) = jax.lax.scan(step, start, inputs, length=len(layers))
    places = nnx.to_flat_state(jax.tree.unflatten(tree, range(tree.num_leaves)))
    numbers = [jax.tree.leaves(at) for _, at in places]
    held = []
    try:
        for layer in layers if changed else ():
            flat = nnx.to_flat_state(nnx.state(layer))
            paths = [path for (path, _), at in zip(flat, numbers, strict=True) if not set(at).isdisjoint(changed)]
            variables = {path: node for path, node in nnx.iter_graph(layer) if isinstance(node, nnx.Variable)}
            for variable in (variables[path] for path in paths):
                held.append((variable, variable.get_raw_value()))
                variable.set_raw_value(object())
        if held:
            jax.eval_shape(lambda carry, rows: body(carry, jax.tree.map(lambda a: a[0], rows)), start, inputs)
    except Exception as error:
        what = "expected a loop that reads what its layers write to through each layer alone"
        raise ValueError(f"{what}, got one that reads it elsewhere, too") from error
    finally:
        for variable, value in held:
            variable.set_raw_value(value)
    for number, layer in enumerate(layers) if changed else ():
        for at, values in zip(changed, written, strict=True):
            rows[number][at] = values[number]
        state = nnx.to_flat_state(jax.tree.unflatten(tree, rows[number]))
        own = zip(state, numbers, strict=True)
        new = [one for one, at in own if not set(at).isdisjoint(changed)]
        nnx.update(layer, nnx.from_flat_state(new))
    return carry, [jax.tree.map(lambda values, at=at: values[at], outputs) for at in range(len(layers))]
''')

MAP_LAYERS = Helper('''
def map_layers(apply, layers, *per_layer):
    """A list of `apply(layer, *values)` for each of the layers, as one scan over all of them."""

    def body(layer, carry, *values):
        return carry, apply(layer, *values)

    return scan_layers(body, (), layers, *per_layer)[1]
''')
