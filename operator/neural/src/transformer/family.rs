//! The supported architectures, and the values that `config.json` must have for each.
//!
//! Each is a network of candle-transformers. Settings that it does not support, or treats differently from
//! the library that checkpoints are fitted with, are refused here by their key.

use candle_nn::Activation;
use candle_transformers::models::{debertav2, modernbert, xlm_roberta};
use serde_json::Value;

use super::checkpoint::TransformerError;
use super::config_json::ConfigJson;
use super::tensors::{Names, Place};

/// An architecture with its sizes.
#[derive(Clone, Debug)]
pub(super) enum Family {
    /// BERT (Devlin 2019), ELECTRA (Clark 2020) and DistilBERT (Sanh 2019). They are a RoBERTa without a
    /// sub-word and a position for padding: candle's RoBERTa, whose attention is faster, runs them with a row
    /// of zeros before both tables and every id one higher.
    Bert(xlm_roberta::Config),
    /// RoBERTa (Liu 2019), XLM-R (Conneau 2020) and CamemBERT (Martin 2020).
    Roberta(xlm_roberta::Config),
    /// DeBERTa (He 2021), versions 2 and 3.
    Deberta(debertav2::Config),
    /// ModernBERT (Warner 2024).
    Modern(modernbert::Config),
}

/// The contents of `config.json`.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub(super) family: Family,
    /// Maps the family's names of tensors to the file's.
    pub(super) names: Names,
    /// The sub-words of the vocabulary.
    pub(super) words: usize,
    /// The most sub-words that it sees at once.
    pub(super) positions: usize,
    pub(super) hidden: usize,
    /// The labels by index.
    pub(super) labels: Vec<String>,
}

/// The supported values of `model_type`.
const RUN: &str = "supported are bert, distilbert, electra, roberta, xlm-roberta, camembert, deberta-v2 (also for v3) and modernbert";

impl Shape {
    /// Reads `config.json`.
    ///
    /// # Errors
    /// [`TransformerError::Config`], naming the key.
    pub(super) fn of(config_json: &ConfigJson) -> Result<Self, TransformerError> {
        let kind = config_json.text("model_type", "")?;
        let (family, names): (_, Names) = match kind {
            "bert" => (Family::Bert(of_bert(config_json)?), of_bert_name),
            "electra" => (Family::Bert(of_electra(config_json)?), of_electra_name),
            "distilbert" => (Family::Bert(of_distilbert(config_json)?), of_distilbert_name),
            "roberta" | "xlm-roberta" | "camembert" => (Family::Roberta(of_roberta(config_json)?), same),
            "deberta-v2" => (Family::Deberta(of_deberta(config_json)?), same),
            "modernbert" => (Family::Modern(of_modernbert(config_json)?), same),
            _ => return Err(config_json.fault("model_type", format!("is `{kind}`; {RUN}"))),
        };
        let mut positions = config_json.size("max_position_embeddings")?;
        if let Family::Roberta(config) = &family {
            // The rows of the table before the first sub-word's are for padding.
            positions = positions
                .checked_sub(1 + config.pad_token_id as usize)
                .filter(|&positions| positions > 0)
                .ok_or_else(|| {
                    config_json.fault("max_position_embeddings", "leaves no position besides padding")
                })?;
        }
        let hidden = match &family {
            Family::Bert(config) | Family::Roberta(config) => config.hidden_size,
            Family::Deberta(config) => config.hidden_size,
            Family::Modern(config) => config.hidden_size,
        };
        Ok(Self {
            family,
            names,
            words: config_json.size("vocab_size")?,
            positions,
            hidden,
            labels: config_json.labels()?,
        })
    }
}

fn same(name: &str) -> Place {
    Place::Named(name.to_owned())
}

/// Returns a name of RoBERTa's with another prefix.
fn renamed(name: &str, prefix: &str) -> Place {
    let Some(rest) = name.strip_prefix("roberta.") else {
        return same(name);
    };
    let name = format!("{prefix}.{rest}");
    if rest.starts_with("embeddings.word_") || rest.starts_with("embeddings.position_") {
        Place::Below(name)
    } else {
        Place::Named(name)
    }
}

fn of_bert_name(name: &str) -> Place {
    renamed(name, "bert")
}

fn of_electra_name(name: &str) -> Place {
    renamed(name, "electra")
}

/// Maps the names of DistilBERT, which is a BERT without segments and with other names.
fn of_distilbert_name(name: &str) -> Place {
    if name.contains(".token_type_embeddings.") {
        return Place::Zeros;
    }
    let mut name = match renamed(name, "distilbert") {
        Place::Named(name) => name.replacen("distilbert.encoder.", "distilbert.transformer.", 1),
        table => return table,
    };
    for (bert, distilbert) in [
        (".attention.self.query.", ".attention.q_lin."),
        (".attention.self.key.", ".attention.k_lin."),
        (".attention.self.value.", ".attention.v_lin."),
        (".attention.output.dense.", ".attention.out_lin."),
        (".attention.output.LayerNorm.", ".sa_layer_norm."),
        (".intermediate.dense.", ".ffn.lin1."),
        (".output.dense.", ".ffn.lin2."),
        (".output.LayerNorm.", ".output_layer_norm."),
    ] {
        if name.contains(bert) {
            name = name.replacen(bert, distilbert, 1);
            break;
        }
    }
    Place::Named(name)
}

/// The function between the two layers of a feed-forward block: exact GELU, its approximation, or ReLU.
#[derive(Clone, Copy)]
enum Bend {
    Gelu,
    Tanh,
    Relu,
}

fn bend(config_json: &ConfigJson, key: &str) -> Result<Bend, TransformerError> {
    match config_json.text(key, "gelu")? {
        "gelu" => Ok(Bend::Gelu),
        "gelu_new" | "gelu_fast" | "gelu_pytorch_tanh" => Ok(Bend::Tanh),
        "relu" => Ok(Bend::Relu),
        other => Err(config_json.fault(
            key,
            format!("is `{other}`; supported are gelu, gelu_new and relu"),
        )),
    }
}

fn of_bend(bend: Bend) -> Activation {
    match bend {
        Bend::Gelu => Activation::Gelu,
        Bend::Tanh => Activation::NewGelu,
        Bend::Relu => Activation::Relu,
    }
}

fn of_bert(config_json: &ConfigJson) -> Result<xlm_roberta::Config, TransformerError> {
    let config = of_roberta(config_json)?;
    Ok(below(config))
}

/// Returns the configuration with a row before the tables of sub-words and positions.
fn below(config: xlm_roberta::Config) -> xlm_roberta::Config {
    xlm_roberta::Config {
        vocab_size: config.vocab_size + 1,
        max_position_embeddings: config.max_position_embeddings + 1,
        pad_token_id: 0,
        ..config
    }
}

fn of_electra(config_json: &ConfigJson) -> Result<xlm_roberta::Config, TransformerError> {
    let config = of_bert(config_json)?;
    let size = config_json.size("embedding_size")?;
    if size != config.hidden_size {
        let problem = format!(
            "is {size}, but `hidden_size` is {}: a small ELECTRA is not supported",
            config.hidden_size
        );
        return Err(config_json.fault("embedding_size", problem));
    }
    Ok(config)
}

fn of_distilbert(config_json: &ConfigJson) -> Result<xlm_roberta::Config, TransformerError> {
    Ok(below(xlm_roberta::Config {
        hidden_size: config_json.size("dim")?,
        layer_norm_eps: 1e-12,
        attention_probs_dropout_prob: 0.0,
        hidden_dropout_prob: 0.0,
        num_attention_heads: config_json.heads("n_heads", "dim")?,
        position_embedding_type: "absolute".to_owned(),
        intermediate_size: config_json.size("hidden_dim")?,
        hidden_act: of_bend(bend(config_json, "activation")?),
        num_hidden_layers: config_json.layers("n_layers")?,
        vocab_size: config_json.size("vocab_size")?,
        max_position_embeddings: config_json.size("max_position_embeddings")?,
        type_vocab_size: 1,
        pad_token_id: 0,
    }))
}

fn of_roberta(config_json: &ConfigJson) -> Result<xlm_roberta::Config, TransformerError> {
    config_json.only("position_embedding_type", "absolute")?;
    let pad = config_json.number("pad_token_id", Some(1))?;
    Ok(xlm_roberta::Config {
        hidden_size: config_json.size("hidden_size")?,
        layer_norm_eps: config_json.epsilon("layer_norm_eps", 1e-12)?,
        attention_probs_dropout_prob: 0.0,
        hidden_dropout_prob: 0.0,
        num_attention_heads: config_json.heads("num_attention_heads", "hidden_size")?,
        position_embedding_type: "absolute".to_owned(),
        intermediate_size: config_json.size("intermediate_size")?,
        hidden_act: of_bend(bend(config_json, "hidden_act")?),
        num_hidden_layers: config_json.layers("num_hidden_layers")?,
        vocab_size: config_json.size("vocab_size")?,
        max_position_embeddings: config_json.size("max_position_embeddings")?,
        type_vocab_size: config_json.size_or("type_vocab_size", Some(2))?,
        pad_token_id: u32::try_from(pad)
            .map_err(|_| config_json.fault("pad_token_id", "is not the id of a sub-word"))?,
    })
}

fn of_deberta(config_json: &ConfigJson) -> Result<debertav2::Config, TransformerError> {
    if config_json.number("conv_kernel_size", Some(0))? > 0 {
        return Err(config_json.fault(
            "conv_kernel_size",
            "is not 0: a DeBERTa with a convolution is not supported",
        ));
    }
    let norm = config_json.text("norm_rel_ebd", "none")?.trim();
    if norm != "none" && norm != "layer_norm" {
        return Err(config_json.fault(
            "norm_rel_ebd",
            format!("is `{norm}`; supported are none and layer_norm"),
        ));
    }
    let kinds = config_json.names("pos_att_type")?;
    if let Some(kind) = kinds.iter().find(|kind| *kind != "c2p" && *kind != "p2c") {
        return Err(config_json.fault("pos_att_type", format!("has `{kind}`; supported are c2p and p2c")));
    }
    let (hidden, heads) = (
        config_json.size("hidden_size")?,
        config_json.heads("num_attention_heads", "hidden_size")?,
    );
    let head = config_json.size_or("attention_head_size", Some(hidden / heads))?;
    if head != hidden / heads {
        let problem = format!(
            "is {head}, but `hidden_size` by `num_attention_heads` is {}",
            hidden / heads
        );
        return Err(config_json.fault("attention_head_size", problem));
    }
    // A number of -1 means the same as a missing key.
    let signed = |key: &str| match config_json.get(key).map(Value::as_i64) {
        None | Some(Some(..0)) => Ok(-1),
        Some(_) => config_json.number(key, None).map(usize::cast_signed),
    };
    Ok(debertav2::Config {
        vocab_size: config_json.size("vocab_size")?,
        hidden_size: hidden,
        num_hidden_layers: config_json.layers("num_hidden_layers")?,
        num_attention_heads: heads,
        intermediate_size: config_json.size("intermediate_size")?,
        hidden_act: match bend(config_json, "hidden_act")? {
            Bend::Gelu => debertav2::HiddenAct::Gelu,
            Bend::Tanh => debertav2::HiddenAct::GeluApproximate,
            Bend::Relu => debertav2::HiddenAct::Relu,
        },
        hidden_dropout_prob: 0.0,
        attention_probs_dropout_prob: 0.0,
        max_position_embeddings: config_json.size("max_position_embeddings")?,
        type_vocab_size: config_json.number("type_vocab_size", Some(0))?,
        initializer_range: 0.0,
        layer_norm_eps: config_json.epsilon("layer_norm_eps", 1e-7)?,
        relative_attention: config_json.switch("relative_attention", false)?,
        max_relative_positions: signed("max_relative_positions")?,
        pad_token_id: None,
        position_biased_input: config_json.switch("position_biased_input", true)?,
        pos_att_type: kinds,
        position_buckets: Some(signed("position_buckets")?),
        share_att_key: Some(config_json.switch("share_att_key", false)?),
        attention_head_size: None,
        embedding_size: Some(config_json.size_or("embedding_size", Some(hidden))?),
        norm_rel_ebd: Some(norm.to_owned()),
        conv_kernel_size: None,
        conv_groups: None,
        conv_act: None,
        id2label: None,
        label2id: None,
        pooler_dropout: None,
        pooler_hidden_act: None,
        pooler_hidden_size: None,
        cls_dropout: None,
    })
}

fn of_modernbert(config_json: &ConfigJson) -> Result<modernbert::Config, TransformerError> {
    config_json.only("hidden_activation", "gelu")?;
    config_json.only("classifier_activation", "gelu")?;
    for key in ["norm_bias", "attention_bias", "mlp_bias", "classifier_bias"] {
        if config_json.switch(key, false)? {
            return Err(config_json.fault(key, "is true; only false is supported"));
        }
    }
    // Newer files have these for each kind of layer.
    for key in ["rope_parameters", "layer_types"] {
        if config_json.get(key).is_some() && config_json.get("global_rope_theta").is_none() {
            return Err(config_json.fault(
                key,
                "is not supported; use `global_rope_theta` and `global_attn_every_n_layers`",
            ));
        }
    }
    let theta = |key: &str, otherwise: f64| match config_json.get(key) {
        None => Ok(otherwise),
        Some(value) => (value.as_f64().filter(|&theta| theta >= 1.0 && theta.is_finite()))
            .ok_or_else(|| config_json.fault(key, "is not a number of at least 1")),
    };
    let global = theta("global_rope_theta", 160_000.0)?;
    Ok(modernbert::Config {
        vocab_size: config_json.size("vocab_size")?,
        hidden_size: config_json.size("hidden_size")?,
        num_hidden_layers: config_json.layers("num_hidden_layers")?,
        num_attention_heads: config_json.heads("num_attention_heads", "hidden_size")?,
        intermediate_size: config_json.size("intermediate_size")?,
        max_position_embeddings: config_json.size("max_position_embeddings")?,
        layer_norm_eps: config_json.epsilon("norm_eps", 1e-5)?,
        pad_token_id: 0,
        global_attn_every_n_layers: config_json.size_or("global_attn_every_n_layers", Some(3))?,
        global_rope_theta: global,
        local_attention: config_json.size_or("local_attention", Some(128))?,
        local_rope_theta: theta("local_rope_theta", 10_000.0)?,
        classifier_config: None,
    })
}
