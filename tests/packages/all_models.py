"""Every model of every framework, by its name."""

from tests.packages.linen_models import LINEN_MODELS, LINEN_REFUSED
from tests.packages.models import MODELS, Model
from tests.packages.nnx_models import NNX_MODELS, NNX_REFUSED
from tests.packages.plain_models import PLAIN_MODELS, PLAIN_REFUSED

ALL_MODELS = (*MODELS, *NNX_MODELS, *NNX_REFUSED, *LINEN_MODELS, *LINEN_REFUSED, *PLAIN_MODELS, *PLAIN_REFUSED)


def model(name: str) -> Model:
    return next(each for each in ALL_MODELS if each.name == name)
