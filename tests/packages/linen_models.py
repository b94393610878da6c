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


def _of(name: str, title: str, line: int, called: str = "") -> Model:
    return _transformers(called or name, title, file=f"transformers/models/{name}/modeling_flax_{name}.py", line=line)


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
# Loops that are left as they are: their layers are built with numbers of their own, or the list is read as a list.
LINEN_REFUSED = (
    _of("beit", "BEiT, with a rate for each layer", 522),
    _of("bloom", "BLOOM", 549),
    _of("gpt_neo", "GPT-Neo, by the number of the layer", 495),
    _of("resnet", "ResNet", 391, "flax_resnet"),
    _of("t5", "T5, its first layer another", 689),
)
