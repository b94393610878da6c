"""A stand-in for `scanify.nn` in plain Python, strict about `in_axes`. Its layers answer in text what they got."""


class ArrayStacked:
    def __init__(self, layers, gradient_checkpointing=True):
        self.layers, self.gradient_checkpointing = list(layers), gradient_checkpointing

    @classmethod
    def of(cls, layers, *, gradient_checkpointing=True):
        assert not isinstance(layers, cls), "stacked twice"
        return cls(layers, gradient_checkpointing)

    def __class_getitem__(cls, item):
        return cls

    def __len__(self):
        return len(self.layers)

    def __getattr__(self, name):
        raise AttributeError(name)

    def fold(self, carry, *args, **kwargs):
        return self.fold_via(type(self.layers[0]).__call__)(carry, *args, **kwargs)

    def fold_via(self, fn, *, in_axes=None):
        def run(carry, *args, **kwargs):
            axes, named = in_axes, {}
            if isinstance(axes, tuple) and len(axes) == 2 and isinstance(axes[1], dict):
                axes, named = axes
            axes = (None,) * len(args) if axes is None else axes
            assert len(axes) == len(args), f"in_axes {axes} for {len(args)} arguments"
            assert not named or named.keys() == kwargs.keys(), f"in_axes {named} for {list(kwargs)}"
            for index, layer in enumerate(self.layers):
                mine = [self._at(arg, axis, index) for arg, axis in zip(args, axes, strict=True)]
                mine_named = {name: self._at(arg, named.get(name), index) for name, arg in kwargs.items()}
                carry = fn(layer, carry, *mine, **mine_named)
            return carry

        return run

    def _at(self, value, axis, index):
        if axis is None:
            return value
        assert axis == 0
        assert len(value) == len(self.layers)
        return value[index]


class Block:
    def __init__(self, index):
        self.index = index

    def __call__(self, x, *args, **kwargs):
        return f"L{self.index}({', '.join(map(str, (x, *args, *sorted(kwargs.items()))))})"

    def forward(self, x, *args, **kwargs):
        return f"F{self.index}({', '.join(map(str, (x, *args, *sorted(kwargs.items()))))})"
