"""The models: which package has them at which version, what its import needs, and where the loop is."""

from dataclasses import dataclass

CASES = {"scanify": "cases", "nnx": "nnx_cases", "lax": "plain_cases", "linen": "linen_cases"}
"""The folder with the cases of each target."""


@dataclass(frozen=True)
class Model:
    """A model of a published package, and the loop over its layers.

    `name` is the module of `tests.packages.cases` that builds it. `file` and `line` are where the loop starts, relative
    to the unpacked wheel. `needs` are what importing the package asks for beside jax, equinox and what they need.
    `python` is the first version that the package runs on. `target` is what the loop becomes; the cases of each target are
    in a folder of their own.
    """

    name: str
    title: str
    package: str
    version: str
    file: str
    line: int
    needs: tuple[str, ...] = ()
    python: tuple[int, int] = (3, 11)
    target: str = "scanify"

    @property
    def requirement(self) -> str:
        return f"{self.package}=={self.version}"

    @property
    def cases(self) -> str:
        """The dotted name of the file with the case."""
        return f"tests.packages.{CASES[self.target]}.{self.name}"

    @property
    def module(self) -> str:
        """The dotted name of the file with the loop."""
        return self.file.removesuffix(".py").replace("/", ".")


BEARTYPE, EINOPS, LOGURU = "beartype==0.23.1", "einops==0.8.2", "loguru==0.7.3"
OPTAX = ("optax==0.2.8", "absl-py==2.5.1")
# What `from flax import nnx` imports.
FLAX = ("flax==0.12.12", "msgpack==1.2.4", "PyYAML==6.0.3", "treescope==0.1.10")
MATPLOTLIB = (
    "matplotlib==3.11.2",
    "contourpy==1.4.0",
    "cycler==0.12.1",
    "fonttools==4.68.0",
    "kiwisolver==1.5.1",
    "packaging==26.3",
    "pillow==13.0.0",
    "pyparsing==3.3.3",
    "python-dateutil==4.0.0",
)
JAXONLAYERS = "jaxonlayers==0.2.7"
# What jaxonmodels imports.
JAXONMODELS = (
    JAXONLAYERS,
    BEARTYPE,
    "annotated-types==0.8.0",
    "ftfy==6.3.1",
    "pydantic==2.14.3",
    "pydantic-core==2.50.4",
    "regex==2026.11.15",
    "statedict2pytree==2.0.2",
    "tqdm==4.70.1",
    "typing-inspection==0.4.5",
    "wcwidth==0.9.4",
)
SAFETENSORS = ("safetensors==0.8.0",)

MODELS = (
    Model("e1", "E1 encoder", "e1jax", "0.3.0", "e1jax/_model.py", 255, (BEARTYPE, EINOPS, LOGURU)),
    Model("equinox_mlp", "MLP", "equinox", "0.13.8", "equinox/nn/_mlp.py", 190),
    Model(
        "flowjax_chain",
        "chain of affine bijections",
        "flowjax",
        "19.1.2",
        "flowjax/bijections/chain.py",
        45,
        ("paramax==0.0.5", "lineax==0.1.1", "tqdm==4.70.1", *OPTAX),
    ),
    Model("ginjax_dilresnet", "DilResNet", "ginjax", "0.1.8", "ginjax/models.py", 1632, MATPLOTLIB),
    Model(
        "jaxonlayers_encoder",
        "transformer encoder",
        "jaxonlayers",
        "0.2.7",
        "jaxonlayers/layers/transformer.py",
        520,
        (BEARTYPE,),
        (3, 13),
    ),
    Model(
        "convnext_stage",
        "stage of a ConvNeXt",
        "jaxonmodels",
        "0.5.5",
        "jaxonmodels/models/convnext.py",
        208,
        JAXONMODELS,
        (3, 13),
    ),
    Model(
        "resnet",
        "ResNet",
        "jaxonmodels",
        "0.5.5",
        "jaxonmodels/models/resnet.py",
        262,
        JAXONMODELS,
        (3, 13),
    ),
    Model(
        "klax_ficnn",
        "input convex network",
        "klax",
        "0.2.0",
        "klax/nn/_icnn.py",
        345,
        ("tqdm==4.70.1", *OPTAX),
        (3, 12),
    ),
    Model("megalodon", "Megalodon", "megalodon-jax", "0.2.2", "megalodon_jax/model.py", 617, SAFETENSORS),
    Model(
        "megalodon_cache", "Megalodon with caches", "megalodon-jax", "0.2.2", "megalodon_jax/model.py", 617, SAFETENSORS
    ),
    Model("neojax_fno_blocks", "FNO blocks", "neojax-operators", "0.3.0", "neojax/nn/fno_blocks.py", 689),
    Model("norax_fno", "FNO", "norax", "1.0.1", "norax/models.py", 182, python=(3, 12)),
    Model("pdequinox_resnet", "ClassicResNet", "pdequinox", "0.1.2", "pdequinox/_sequential.py", 113),
    Model("pdequinox_convnet", "ConvNet", "pdequinox", "0.1.2", "pdequinox/arch/_conv_net.py", 112),
    Model("pdequinox_fno", "ClassicFNO", "pdequinox", "0.1.2", "pdequinox/_sequential.py", 113),
)
