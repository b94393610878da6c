"""The models of Flax Linen, by the target `linen`: those of transformers, whose last release with Flax is 4.5x."""

from functools import partial

from tests.packages.models import FLAX, SAFETENSORS, Model

# What transformers imports.
TRANSFORMERS = (
    *FLAX,
    *SAFETENSORS,
    "certifi==2026.10.18",
    "charset-normalizer==3.5.2",
    "filelock==4.2.12",
    "fsspec==2026.9.0",
    "huggingface_hub==0.36.2",
    "idna==3.20",
    "packaging==26.3",
    "regex==2026.11.15",
    "requests==2.34.2",
    "tokenizers==0.21.4",
    "tqdm==4.70.1",
    "typing_extensions==4.16.0",
    "urllib3==2.8.0",
)
_transformers = partial(Model, package="transformers", version="4.49.0", needs=TRANSFORMERS, target="linen")


def _of(name: str, title: str, line: int) -> Model:
    return _transformers(name, title, file=f"transformers/models/{name}/modeling_flax_{name}.py", line=line)


LINEN_MODELS = (
    _of("bert", "BERT in training", 591),
    _of("roberta", "RoBERTa", 559),
    _of("vit", "ViT", 362),
    _of("clip", "CLIP, text", 461),
    _of("gpt2", "GPT-2", 560),
    _of("distilbert", "DistilBERT", 341),
    _of("llama", "Llama", 559),
    _of("opt", "OPT in training", 384),
)
