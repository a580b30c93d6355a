"""Prints the reference numbers of the transformer tests: `python reference.py > ../src/transformer/parity/scores.rs`.

Needs torch and transformers. It creates the same small checkpoints as `src/transformer/testing.rs`, with the same formula for
every tensor, runs them in the library that checkpoints are fitted with, and prints the scores of labels.
"""

import torch
import transformers

WINDOW = [0, 9, 200, 33, 17, 254, 9, 88, 120, 61, 5, 2]
LABELS = ["O", "B-DATE", "I-DATE", "B-PER", "I-PER"]
COMMON = dict(
    vocab_size=260,
    id2label=dict(enumerate(LABELS)),
    label2id={label: i for i, label in enumerate(LABELS)},
)
USUAL = dict(
    hidden_size=24,
    num_hidden_layers=2,
    num_attention_heads=3,
    intermediate_size=48,
    max_position_embeddings=66,
    hidden_act="gelu",
)
RELATIVE = dict(relative_attention=True, max_relative_positions=-1, layer_norm_eps=1e-7)
CASES = {
    "BERT": ("bert", dict(USUAL, type_vocab_size=2, layer_norm_eps=1e-12)),
    "BERT_TANH": ("bert", dict(USUAL, type_vocab_size=2, layer_norm_eps=1e-12, hidden_act="gelu_new")),
    "ELECTRA": ("electra", dict(USUAL, embedding_size=24, type_vocab_size=2, layer_norm_eps=1e-12)),
    "DISTILBERT": (
        "distilbert",
        dict(dim=24, n_layers=2, n_heads=3, hidden_dim=48, max_position_embeddings=66, activation="gelu"),
    ),
    "ROBERTA": ("roberta", dict(USUAL, type_vocab_size=2, layer_norm_eps=1e-5, pad_token_id=1)),
    "XLM_ROBERTA": ("xlm-roberta", dict(USUAL, type_vocab_size=1, layer_norm_eps=1e-5, pad_token_id=1)),
    "CAMEMBERT": ("camembert", dict(USUAL, type_vocab_size=1, layer_norm_eps=1e-5, pad_token_id=1)),
    "DEBERTA_V2": (
        "deberta-v2",
        dict(USUAL, **RELATIVE, type_vocab_size=2, position_biased_input=True, pos_att_type=["c2p", "p2c"]),
    ),
    "DEBERTA_V3": (
        "deberta-v2",
        dict(
            USUAL,
            **RELATIVE,
            type_vocab_size=0,
            position_biased_input=False,
            pos_att_type="p2c|c2p",
            position_buckets=4,
            share_att_key=True,
            norm_rel_ebd="layer_norm",
        ),
    ),
    "MODERNBERT": (
        "modernbert",
        dict(
            hidden_size=24,
            num_hidden_layers=3,
            num_attention_heads=3,
            intermediate_size=48,
            max_position_embeddings=66,
            norm_eps=1e-5,
            global_attn_every_n_layers=2,
            local_attention=4,
            global_rope_theta=160000.0,
            local_rope_theta=10000.0,
            pad_token_id=1,
            reference_compile=False,
        ),
    ),
}
WORD = 2**64 - 1


def numbers(count, seed):
    """Yields numbers from -1 to 1."""
    state = (seed * 0x9E3779B97F4A7C15 & WORD) | 1
    for _ in range(count):
        state ^= state << 13 & WORD
        state ^= state >> 7
        state ^= state << 17 & WORD
        yield (state >> 40) / 2**23 - 1


def tensor(name, shape):
    seed = 7
    for byte in name.encode():
        seed = (seed * 31 + byte) & WORD
    values = torch.tensor(list(numbers(shape.numel(), seed)), dtype=torch.float32).reshape(shape)
    return 0.6 * values + (1.0 if name.lower().endswith("norm.weight") else 0.0)


print("//! Scores by the library that checkpoints are fitted with: `examples/reference.py` generates this file.")
print("#![allow(clippy::excessive_precision, clippy::unreadable_literal, reason = \"printed by a program\")]")
print(f"\n/// Sub-words of the window.\npub(super) const WINDOW: [u32; {len(WINDOW)}] = {WINDOW};")
printed = {}
for name, (kind, keys) in CASES.items():
    config = transformers.AutoConfig.for_model(kind, **COMMON, **keys)
    config._attn_implementation = "eager"
    model = transformers.AutoModelForTokenClassification.from_config(config).eval()
    state = {key: tensor(key, value.shape) for key, value in model.state_dict().items() if value.is_floating_point()}
    assert not model.load_state_dict(state, strict=False).unexpected_keys
    with torch.no_grad():
        # Double precision keeps rounding errors of the library out of the numbers.
        scores = model.double()(input_ids=torch.tensor([WINDOW])).logits[0]
    rows = "".join(f"    [{', '.join(f'{score:.6f}' for score in row)}],\n" for row in scores.tolist())
    # Architectures that differ only in their names have the same numbers.
    same = printed.setdefault(rows, name)
    value = f"[\n{rows}]" if same == name else same
    print(f"\n/// One row per sub-word, one column per label.\npub(super) const {name}: [[f32; {len(LABELS)}]; {len(WINDOW)}] = {value};")
