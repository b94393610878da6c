"""Models put together at random from pieces of Python: each is a loop that is its own oracle."""

from tests.random_models.model import Model as Model
from tests.random_models.model import random_model as random_model
