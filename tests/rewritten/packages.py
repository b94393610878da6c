"""The packages: where their source is, what their import and their tests ask for, and which of their tests are run."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Package:
    """A published package.

    `sdist` says that the source distribution is taken, which has the package's own tests; else the wheel is. `root` is
    the folder below it that an import finds. `needs` are what its import and its tests ask for beside jax, equinox and
    what those need; `tests` are the folders of its tests, and `leave_out` expressions for tests (pytest's `-k`) that
    need what is not here: the network, torch, hours.
    """

    name: str
    version: str
    sdist: bool = False
    root: str = "."
    needs: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    leave_out: str = ""

    @property
    def requirement(self) -> str:
        return f"{self.name}=={self.version}"


_JAXONMODELS = ("beartype", "ftfy", "regex", "tqdm", "statedict2pytree", "pydantic", "huggingface_hub")

# The models that tests compare with, and what the import of data sets asks for: some 3 GB each.
_TORCH = ("torch", "torchvision")
_SBGM = ("powerbox", "scikit-learn", *_TORCH)

PACKAGES = (
    Package(
        "e1jax",
        "0.3.0",
        True,
        needs=("beartype", "einops", "loguru", "safetensors", "huggingface_hub"),
        tests=("tests",),
    ),
    Package("eqxvision", "0.2.8"),
    Package("flowjax", "19.1.2", True, needs=("paramax", "numpyro", "optax", "lineax", "tqdm"), tests=("tests",)),
    Package("generax", "0.1.2", needs=("diffrax", "tqdm", "optax", "einops", "matplotlib")),
    Package(
        "ginjax",
        "0.1.8",
        True,
        root="src",
        needs=("matplotlib", "optax", "typing_extensions", "jaxopt", "h5py", "imageio", "cmasher"),
        tests=("tests",),
    ),
    Package(
        "jax-unirep",
        "3.0.0",
        True,
        needs=("optax", "multipledispatch", "optuna", "scikit-learn", "tqdm"),
        tests=("tests",),
    ),
    Package("jaxonlayers", "0.2.7", True, needs=("beartype",), tests=("tests",)),
    Package("jaxonmodels", "0.5.5", True, needs=("jaxonlayers==0.2.7", *_JAXONMODELS, *_TORCH), tests=("tests",)),
    Package("klax", "0.2.0", True, needs=("optax", "matplotlib", "tqdm"), tests=("tests",)),
    Package(
        "marin-haliax",
        "0.2.227.dev40316220070",
        True,
        root="src",
        needs=("chex", "safetensors", "packaging", "aqtp"),
        tests=("tests",),
    ),
    Package("megalodon-jax", "0.2.2", True, root="src", needs=("safetensors",), tests=("tests",)),
    Package("neojax-operators", "0.3.0", True, needs=("optax", "typing_extensions", "h5py", "requests")),
    Package("norax", "1.0.1", True, needs=("beartype",), tests=("tests",)),
    Package("noxton", "0.1.4", True, needs=_JAXONMODELS, tests=("tests",)),
    Package("pdequinox", "0.1.2", True, tests=("tests",)),
    Package("quantax", "0.4.0", needs=("lineax", "matplotlib", "scipy", "lrux", "quspin")),
    Package(
        "rraes", "0.1.0", True, needs=("optax", "matplotlib", "pandas", "tqdm", "dill", "prettytable", "scikit-image")
    ),
    Package(
        "sbgm",
        "0.0.38",
        needs=("beartype", "cloudpickle", "einops", "einx", "diffrax", "optax", "ml_collections", "tqdm", *_SBGM),
    ),
    Package("trainax", "0.0.2", True, needs=("optax", "tqdm"), tests=("tests",)),
    Package("connex", "0.4.0", needs=("networkx",)),
    Package("diffrax", "0.7.2", needs=("optimistix", "lineax")),
    Package("equinox", "0.13.8"),
    Package("esm2quinox", "0.2.0"),
)
