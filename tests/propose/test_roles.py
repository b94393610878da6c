"""The vocabulary: which names are which sizes."""

import pytest

from scanify.propose.values.names import function_name
from scanify.propose.values.roles import DIMENSIONS, ROLES, role_of, stem

NAMES = {
    "depth": "depth num_layers n_layer n_layers layers num_blocks nlayers num_hidden_layers encoder_layers n_block",
    "heads": "num_heads n_head heads nhead num_attention_heads n_heads",
    "kv_heads": "num_kv_heads num_key_value_heads n_kv_head kv_heads",
    "dim": "dim hidden_size hidden d_model n_embd embed_dim embedding_dim model_dim width hidden_channels width_size",
    "hidden": "ffn_dim mlp_dim intermediate_size intermediate d_ff dim_feedforward ff_dim mlp_hidden_dim",
    "vocab": "vocab_size n_vocab vocab num_embeddings padded_vocab_size num_tokens",
    "length": "block_size max_seq_len seq_len context_length num_patches max_position_embeddings n_ctx length max_len",
    "size": "image_size img_size resolution image_height",
    "patch": "patch_size patch",
    "channels": "channels in_channels num_channels",
    "inputs": "in_size in_features input_dim data_dim obs_dim input_size",
    "outputs": "num_classes out_size out_features output_dim n_classes out_channels",
    "experts": "num_experts experts n_experts",
    "chosen": "top_k num_experts_per_tok",
    "kernel": "kernel_size conv_kernel",
    "groups": "num_groups groups stride",
    "factor": "mlp_ratio expansion_factor",
    "modes": "num_modes modes",
    "other": "head_dim time_dim patch_dim z_dim n_things",
}


@pytest.mark.parametrize(("role", "name"), [(role, name) for role, names in NAMES.items() for name in names.split()])
def test_a_name_of_the_vocabulary(role: str, name: str) -> None:
    assert role_of(name) == role


@pytest.mark.parametrize("name", ["tokenizer", "x", "axis", "order", "", "period", "attention", "block_type"])
def test_a_name_that_says_no_size(name: str) -> None:
    assert role_of(name) is None


def test_the_sizes_fit_each_other() -> None:
    size = {role: each.value for role, each in ROLES.items()}
    assert size["dim"] % size["heads"] == 0 and size["heads"] % size["kv_heads"] == 0
    assert size["size"] % size["patch"] == 0 and size["chosen"] <= size["experts"]
    assert size["depth"] >= 4
    assert 2 * size["modes"] <= size["size"] and size["length"] != size["depth"]


def test_every_dimension_has_a_role() -> None:
    assert set(DIMENSIONS.values()) <= ROLES.keys()


@pytest.mark.parametrize(
    ("one", "other"),
    [("num_patches", "patches"), ("embed_dim", "embed"), ("max_seq_len", "seq"), ("vocab_size", "vocab")],
)
def test_one_size_by_two_names(one: str, other: str) -> None:
    assert stem(one) == stem(other)


@pytest.mark.parametrize(
    ("cls", "name"),
    [
        ("GPT", "gpt"),
        ("VisionTransformer", "vision_transformer"),
        ("MoEEncoder", "moe_encoder"),
        ("ResNet18", "res_net18"),
        ("Outer.Inner", "inner"),
        ("_Private", "private"),
        ("Model", "model_case"),
    ],
)
def test_the_name_of_the_function(cls: str, name: str) -> None:
    assert function_name(cls) == name
