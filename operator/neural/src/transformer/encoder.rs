//! A network of candle-transformers with a layer of labels on top.
//!
//! One window is processed at a time, on the calling thread, so that a window's scores depend on nothing
//! else.

use candle_core::{Device, Error, Result, Tensor};
use candle_nn::{LayerNorm, Linear, Module as _, VarBuilder, layer_norm_no_bias, linear, linear_no_bias};
use candle_transformers::models::debertav2::DebertaV2Model;
use candle_transformers::models::modernbert::ModernBert;
use candle_transformers::models::xlm_roberta::XLMRobertaModel;

use super::checkpoint::{Checkpoint, TransformerError};
use super::family::{Family, Shape};
use super::tensors;
use crate::alone::alone;

/// The network, and the layer that scores labels.
pub(super) struct Encoder {
    network: Network,
    classifier: Linear,
}

#[allow(clippy::large_enum_variant, reason = "one a member")]
enum Network {
    /// With the offset that is added to every id.
    Roberta(XLMRobertaModel, u32),
    Deberta(DebertaV2Model),
    /// With a layer and a normalisation before the labels.
    Modern(ModernBert, Linear, LayerNorm),
}

impl Encoder {
    /// Takes the tensors from the checkpoint.
    ///
    /// # Errors
    /// [`TransformerError`], naming the file and the tensor.
    pub(super) fn new(checkpoint: Checkpoint) -> std::result::Result<Self, TransformerError> {
        let shape = &checkpoint.shape;
        let path = checkpoint.folder.join("model.safetensors");
        alone(|| tensors::load(&path, checkpoint.weights, shape.names, |vb| Self::of(shape, &vb)))
    }

    fn of(shape: &Shape, vb: &VarBuilder<'_>) -> Result<Self> {
        let network = match &shape.family {
            Family::Bert(config) => Network::Roberta(XLMRobertaModel::new(config, vb.pp("roberta"))?, 1),
            Family::Roberta(config) => Network::Roberta(XLMRobertaModel::new(config, vb.pp("roberta"))?, 0),
            Family::Deberta(config) => Network::Deberta(DebertaV2Model::load(vb.pp("deberta"), config)?),
            Family::Modern(config) => {
                // The network would run without a missing normalisation, which only the first layer may lack.
                for layer in 1..config.num_hidden_layers {
                    vb.get(shape.hidden, &format!("model.layers.{layer}.attn_norm.weight"))?;
                }
                let head = vb.pp("head");
                Network::Modern(
                    ModernBert::load(vb.clone(), config)?,
                    linear_no_bias(shape.hidden, shape.hidden, head.pp("dense"))?,
                    layer_norm_no_bias(shape.hidden, config.layer_norm_eps, head.pp("norm"))?,
                )
            }
        };
        Ok(Self {
            network,
            classifier: linear(shape.hidden, shape.labels.len(), vb.pp("classifier"))?,
        })
    }

    /// Returns scores of labels before softmax, one row per sub-word of the window.
    ///
    /// # Errors
    /// If an id is not in the vocabulary, the window is longer than the positions, or a score is not finite.
    pub(super) fn scores(&self, window: &[u32]) -> Result<Vec<Vec<f32>>> {
        let rows = alone(|| self.forward(window))?;
        if rows.iter().flatten().all(|score| score.is_finite()) {
            Ok(rows)
        } else {
            Err(Error::msg("a score is not finite"))
        }
    }

    fn forward(&self, window: &[u32]) -> Result<Vec<Vec<f32>>> {
        let ids = Tensor::new(window, &Device::Cpu)?.unsqueeze(0)?;
        // Every sub-word is in the first segment, and none is padding.
        let hidden = match &self.network {
            Network::Roberta(roberta, more) => {
                let ids = ids.broadcast_add(&Tensor::new(*more, &Device::Cpu)?)?;
                roberta.forward(&ids, &ids.ones_like()?, &ids.zeros_like()?, None, None, None)?
            }
            Network::Deberta(deberta) => deberta.forward(&ids, None, None)?,
            Network::Modern(modern, dense, norm) => {
                let hidden = modern.forward(&ids, &ids.ones_like()?)?;
                norm.forward(&dense.forward(&hidden)?.gelu_erf()?)?
            }
        };
        self.classifier.forward(&hidden)?.squeeze(0)?.to_vec2()
    }
}
