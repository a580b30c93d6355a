//! A checkpoint's folder: what `config.json` says of its shape, and its tensors.

use std::path::{Path, PathBuf};

use safetensors::{Dtype, SafeTensors};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::layers::Activation;

/// Why a checkpoint cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransformerError {
    /// A file cannot be read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A key of `config.json` is missing, or what it says cannot be run.
    #[error("{}: key `{key}` {problem}", path.display())]
    Config {
        /// The file.
        path: PathBuf,
        /// The key.
        key: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A file is not what its name says, or was cut short.
    #[error("{}: {problem}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// A tensor is missing or not as `config.json` describes it.
    #[error("{}: tensor `{tensor}` {problem}", path.display())]
    Tensor {
        /// The file.
        path: PathBuf,
        /// The tensor.
        tensor: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The tokenizer cannot be used.
    #[error("{}: {problem}", path.display())]
    Tokenizer {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// A setting does not fit the checkpoint or the label set.
    #[error("member `{member}`: key `{key}`: {problem}")]
    Setting {
        /// The member's name.
        member: String,
        /// The setting.
        key: &'static str,
        /// What is wrong with it.
        problem: String,
    },
}

/// The sizes of an encoder, and what else `config.json` says of it.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    /// What the tensors' names begin with.
    pub(super) prefix: &'static str,
    /// Sub-words in the vocabulary.
    pub(super) words: usize,
    pub(super) hidden: usize,
    pub(super) layers: usize,
    pub(super) heads: usize,
    pub(super) inner: usize,
    /// Sub-words that it can see at once.
    pub(super) positions: usize,
    /// The row of the first position in its table: RoBERTa leaves rows for padding before it.
    pub(super) first_position: usize,
    /// Rows of the table of segments, of which every note has the first.
    pub(super) types: usize,
    pub(super) epsilon: f32,
    pub(super) activation: Activation,
    /// Labels by index.
    pub(super) labels: Vec<String>,
}

/// A checkpoint's folder, opened.
pub(super) struct Checkpoint {
    pub(super) folder: PathBuf,
    pub(super) shape: Shape,
    weights: Vec<u8>,
}

impl Checkpoint {
    /// Reads `config.json` and `model.safetensors`, whose SHA-256 must be `digest` if that is given.
    pub(super) fn read(folder: &Path, digest: Option<&str>) -> Result<Self, TransformerError> {
        let read = |name: &str| {
            let path = folder.join(name);
            std::fs::read(&path).map_err(|source| TransformerError::Io { path, source })
        };
        let page = Page {
            path: folder.join("config.json"),
            keys: serde_json::from_slice(&read("config.json")?).map_err(|error| TransformerError::File {
                path: folder.join("config.json"),
                problem: format!("not a JSON object: {error}"),
            })?,
        };
        let (shape, weights) = (page.shape()?, read("model.safetensors")?);
        if digest.is_some_and(|digest| !digest.eq_ignore_ascii_case(&hex(&weights))) {
            return Err(TransformerError::File {
                path: folder.join("model.safetensors"),
                problem: "its SHA-256 is not the configured `digest`".to_owned(),
            });
        }
        Ok(Self {
            folder: folder.to_owned(),
            shape,
            weights,
        })
    }

    /// An error about a key of `config.json`.
    pub(super) fn fault(&self, key: &str, problem: &str) -> TransformerError {
        TransformerError::Config {
            path: self.folder.join("config.json"),
            key: key.to_owned(),
            problem: problem.to_owned(),
        }
    }

    /// The tensors' names, shapes and bytes.
    pub(super) fn tensors(&self) -> Result<Tensors<'_>, TransformerError> {
        let path = self.folder.join("model.safetensors");
        match SafeTensors::deserialize(&self.weights) {
            Ok(tensors) => Ok(Tensors { path, tensors }),
            Err(error) => Err(TransformerError::File {
                path,
                problem: format!("not a whole safetensors file: {error}"),
            }),
        }
    }
}

/// SHA-256 in hexadecimal.
fn hex(bytes: &[u8]) -> String {
    let halves = Sha256::digest(bytes)
        .into_iter()
        .flat_map(|byte| [byte >> 4, byte & 15]);
    halves
        .filter_map(|half| char::from_digit(half.into(), 16))
        .collect()
}

/// SHA-256 over the digests of a checkpoint's files.
pub(super) fn fingerprint(folder: &Path) -> Result<String, TransformerError> {
    let mut digests = String::new();
    for name in ["config.json", "model.safetensors", "tokenizer.json"] {
        let path = folder.join(name);
        let bytes = std::fs::read(&path).map_err(|source| TransformerError::Io { path, source })?;
        digests.push_str(&hex(&bytes));
    }
    Ok(hex(digests.as_bytes()))
}

/// The tensors of `model.safetensors`.
pub(super) struct Tensors<'a> {
    path: PathBuf,
    tensors: SafeTensors<'a>,
}

impl Tensors<'_> {
    /// A tensor's numbers, row after row, whatever precision they are stored in.
    pub(super) fn get(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, TransformerError> {
        let fault = |problem: String| TransformerError::Tensor {
            path: self.path.clone(),
            tensor: name.to_owned(),
            problem,
        };
        // What was converted from TensorFlow bears that library's names for a normalisation's weight and bias.
        let older = name
            .strip_suffix("LayerNorm.weight")
            .map(|stem| format!("{stem}LayerNorm.gamma"))
            .or_else(|| {
                name.strip_suffix("LayerNorm.bias")
                    .map(|stem| format!("{stem}LayerNorm.beta"))
            });
        let tensor = self.tensors.tensor(name).ok();
        let tensor = tensor.or_else(|| self.tensors.tensor(older.as_deref()?).ok());
        let tensor = tensor.ok_or_else(|| fault("is missing".to_owned()))?;
        if tensor.shape() != shape {
            return Err(fault(format!(
                "has the shape {:?}, but config.json makes it {shape:?}",
                tensor.shape()
            )));
        }
        let data = tensor.data();
        let two = |f: fn([u8; 2]) -> f32| data.chunks_exact(2).map(|b| f([b[0], b[1]])).collect();
        let numbers: Vec<f32> = match tensor.dtype() {
            Dtype::F32 => data
                .chunks_exact(4)
                .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
                .collect(),
            Dtype::F16 => two(|b| half::f16::from_le_bytes(b).to_f32()),
            Dtype::BF16 => two(|b| half::bf16::from_le_bytes(b).to_f32()),
            other => {
                return Err(fault(format!(
                    "is stored as {other:?}; F32, F16 and BF16 can be read"
                )));
            }
        };
        if numbers.iter().any(|number| !number.is_finite()) {
            return Err(fault("holds a number that is not finite".to_owned()));
        }
        Ok(numbers)
    }
}

/// `config.json`.
struct Page {
    path: PathBuf,
    keys: Map<String, Value>,
}

impl Page {
    fn fault(&self, key: &str, problem: impl Into<String>) -> TransformerError {
        TransformerError::Config {
            path: self.path.clone(),
            key: key.to_owned(),
            problem: problem.into(),
        }
    }

    fn number(&self, key: &str, otherwise: Option<usize>) -> Result<usize, TransformerError> {
        match self.keys.get(key) {
            None | Some(Value::Null) => otherwise.ok_or_else(|| self.fault(key, "is missing")),
            Some(value) => value
                .as_u64()
                .and_then(|number| usize::try_from(number).ok())
                .ok_or_else(|| self.fault(key, "is no whole number")),
        }
    }

    /// A size, which must not be 0.
    fn size(&self, key: &str) -> Result<usize, TransformerError> {
        match self.number(key, None)? {
            0 => Err(self.fault(key, "is 0")),
            size => Ok(size),
        }
    }

    fn text(&self, key: &str, otherwise: &'static str) -> Result<&str, TransformerError> {
        match self.keys.get(key) {
            None | Some(Value::Null) => Ok(otherwise),
            Some(value) => value.as_str().ok_or_else(|| self.fault(key, "is no text")),
        }
    }

    fn shape(&self) -> Result<Shape, TransformerError> {
        let kind = self.text("model_type", "")?;
        let (prefix, first_position, epsilon) = match kind {
            "bert" => ("bert", 0, 1e-12),
            "roberta" | "xlm-roberta" | "camembert" => {
                ("roberta", 1 + self.number("pad_token_id", Some(1))?, 1e-5)
            }
            _ => {
                let problem = format!("is `{kind}`; bert, roberta, xlm-roberta and camembert can be run");
                return Err(self.fault("model_type", problem));
            }
        };
        if self.text("position_embedding_type", "absolute")? != "absolute" {
            return Err(self.fault("position_embedding_type", "is not `absolute`"));
        }
        let act = self.text("hidden_act", "gelu")?;
        let activation = Activation::by_name(act).ok_or_else(|| {
            self.fault(
                "hidden_act",
                format!("is `{act}`; gelu, gelu_new and relu can be run"),
            )
        })?;
        let (hidden, heads) = (self.size("hidden_size")?, self.size("num_attention_heads")?);
        if hidden % heads != 0 {
            return Err(self.fault(
                "num_attention_heads",
                format!("does not divide `hidden_size`, {hidden}"),
            ));
        }
        let positions = self.size("max_position_embeddings")?;
        let positions = positions
            .checked_sub(first_position)
            .filter(|&positions| positions > 0)
            .ok_or_else(|| self.fault("max_position_embeddings", "leaves no position beside padding"))?;
        let epsilon = match self.keys.get("layer_norm_eps") {
            None => epsilon,
            Some(value) => value
                .as_f64()
                .filter(|&number| number > 0.0 && number < 1.0)
                .ok_or_else(|| self.fault("layer_norm_eps", "is no number between 0 and 1"))?,
        };
        Ok(Shape {
            prefix,
            words: self.size("vocab_size")?,
            hidden,
            layers: self.size("num_hidden_layers")?,
            heads,
            inner: self.size("intermediate_size")?,
            positions,
            first_position,
            types: self.number("type_vocab_size", Some(2))?.max(1),
            epsilon: epsilon as f32,
            activation,
            labels: self.labels()?,
        })
    }

    /// `id2label`, whose keys are the numbers from 0.
    fn labels(&self) -> Result<Vec<String>, TransformerError> {
        let key = "id2label";
        let map = self.keys.get(key).ok_or_else(|| self.fault(key, "is missing"))?;
        let map = map.as_object().ok_or_else(|| self.fault(key, "is no object"))?;
        let label = |i: usize| {
            let label = map.get(&i.to_string()).and_then(Value::as_str);
            label
                .map(str::to_owned)
                .ok_or_else(|| self.fault(key, format!("has {} labels, but none of number {i}", map.len())))
        };
        (0..map.len()).map(label).collect()
    }
}
