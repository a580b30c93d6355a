//! The parts of a network: its architecture, its parameters, its vocabulary.

use lethe_learn::{Scheme, Speech, TagSet};
use serde::{Deserialize, Serialize};

use crate::precision::Precision;
use crate::reader::SPEECH_ROWS;
use crate::rng::Rng;
use crate::types::{CAPS, Casing, SHAPES, Vocabulary};

/// The shape of a recurrent network. By default sizes are those of Lample 2016, NeuroNER and Yang 2019.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Architecture {
    /// Whether a CRF layer scores whole sequences; without it each token's tag is independent.
    pub crf: bool,
    /// How spans are encoded as tags.
    pub scheme: Scheme,
    /// How words are looked up.
    pub casing: Casing,
    /// The size of a word's vector.
    pub word: usize,
    /// The size of a character's vector.
    pub char: usize,
    /// The units of the characters' LSTM, per direction.
    pub char_hidden: usize,
    /// The size of the embedding of capitalisation; 0 for none (Lample 2016).
    pub cap: usize,
    /// The size of the embedding of word shapes; 0 for none (Yang 2019).
    pub lexical: usize,
    /// The size of the embedding of dictionary entries; 0 for none (Yang 2019).
    pub knowledge: usize,
    /// The size of the embedding of the token's field, the words before the nearest colon; 0 for none.
    pub field: usize,
    /// The size of the embedding of the token's part of speech; 0 for none (Yang 2019, linguistic features, with a size of
    /// 15).
    /// It needs a tagger: see [`Recurrent::speech`](crate::Recurrent::speech).
    #[serde(skip_serializing_if = "is_zero")]
    pub speech: usize,
    /// The units of the words' LSTM, per direction.
    pub hidden: usize,
    /// The units of the tanh layer between LSTM and tags; 0 for none.
    pub layer: usize,
    /// Sentences are read together up to this many tokens; 0 reads each alone. The lines of a form explain
    /// each other: on a held-out tenth of MEDDOCAN's training set, strict F1 was 0.962 at 0, 0.966 at 60 and
    /// 0.971 at 150.
    pub window: usize,
    /// The numbers that the words' LSTM and the layers above it compute with when the network runs.
    #[serde(skip_serializing_if = "Precision::is_single")]
    pub precision: Precision,
}

impl Default for Architecture {
    fn default() -> Self {
        Self {
            crf: true,
            scheme: Scheme::Bilou,
            casing: Casing::Folded,
            word: 100,
            char: 25,
            char_hidden: 25,
            cap: 5,
            lexical: 15,
            knowledge: 20,
            field: 0,
            speech: 0,
            hidden: 100,
            layer: 100,
            window: 150,
            precision: Precision::Float32,
        }
    }
}

/// The default is left out, so that manifests and trainings without parts of speech stay as they were.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
const fn is_zero(size: &usize) -> bool {
    *size == 0
}

impl std::fmt::Debug for Architecture {
    /// Prints all fields, but `speech` and `precision` only if they are not the default: a checkpoint holds a digest of this form.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            crf,
            scheme,
            casing,
            word,
            char,
            char_hidden,
            cap,
            lexical,
            knowledge,
            field,
            speech,
            hidden,
            layer,
            window,
            precision,
        } = self;
        let mut out = f.debug_struct("Architecture");
        out.field("crf", crf)
            .field("scheme", scheme)
            .field("casing", casing);
        for (name, size) in [
            ("word", word),
            ("char", char),
            ("char_hidden", char_hidden),
            ("cap", cap),
            ("lexical", lexical),
            ("knowledge", knowledge),
            ("field", field),
            ("speech", speech),
            ("hidden", hidden),
            ("layer", layer),
            ("window", window),
        ] {
            if name != "speech" || !is_zero(size) {
                out.field(name, size);
            }
        }
        if !precision.is_single() {
            out.field("precision", precision);
        }
        out.finish()
    }
}

/// One matrix of parameters in row-major order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tensor {
    pub(crate) name: &'static str,
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) data: Vec<f32>,
}

impl Tensor {
    /// Returns the initial numbers of a tensor with this name, rows and columns: uniform, by the sizes of the
    /// sides (Glorot and Bengio 2010), or, in a table of vectors, as Lample 2016 draws them; biases and the
    /// CRF's scores 0, biases of forget gates 1 (Jozefowicz et al. 2015).
    pub(crate) fn random(
        (name, rows, columns): (&'static str, usize, usize),
        table: bool,
        rng: &mut Rng,
    ) -> Self {
        let bias = name.ends_with("bias") || name.starts_with("crf");
        let fans = if table { columns } else { rows + columns };
        let bound = if bias {
            0.0
        } else {
            (6.0 / fans.max(1) as f32).sqrt()
        };
        let bound = if table { bound / 2.0_f32.sqrt() } else { bound };
        let mut data: Vec<f32> = (0..rows * columns)
            .map(|_| (2.0 * rng.unit() - 1.0) * bound)
            .collect();
        if name.ends_with("forward.bias") || name.ends_with("backward.bias") {
            data[columns / 4..columns / 2].fill(1.0);
        }
        Self {
            name,
            rows,
            columns,
            data,
        }
    }
}

/// The indices of the parameters in [`Params`].
pub(crate) mod slot {
    pub(crate) const WORD: usize = 0;
    pub(crate) const CHAR: usize = 1;
    pub(crate) const CAP: usize = 2;
    pub(crate) const SHAPE: usize = 3;
    pub(crate) const KNOWLEDGE: usize = 4;
    pub(crate) const FIELD: usize = 5;
    /// Input, recurrent and bias of the forward, then of the backward direction.
    pub(crate) const CHAR_LSTM: usize = 6;
    pub(crate) const WORD_LSTM: usize = 12;
    /// Weights, then their biases.
    pub(crate) const LAYER: usize = 18;
    pub(crate) const OUT: usize = 20;
    pub(crate) const OUT_BIAS: usize = 21;
    pub(crate) const PAIRS: usize = 22;
    pub(crate) const STARTS: usize = 23;
    pub(crate) const ENDS: usize = 24;
    /// A table that is not among the first ones, since a parameter's first numbers follow from its index.
    pub(crate) const SPEECH: usize = 25;
    pub(crate) const ALL: usize = 26;
}

/// A network's parameters, in the order of [`slot`].
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Params(pub(crate) Vec<Tensor>);

/// The number of rows of each table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rows {
    pub(crate) words: usize,
    pub(crate) chars: usize,
    pub(crate) knowledge: usize,
    pub(crate) fields: usize,
}

/// The largest size of a part of a network: far beyond any sensible one, and far below an overflow.
const LARGEST: usize = 1 << 16;

impl Architecture {
    /// Checks the sizes of a network.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        let needed = [self.word, self.char, self.char_hidden, self.hidden];
        let others = [
            self.cap,
            self.lexical,
            self.knowledge,
            self.field,
            self.speech,
            self.layer,
        ];
        if needed.contains(&0) {
            return Err("word, char, char_hidden and hidden must be at least 1");
        }
        if needed.into_iter().chain(others).any(|size| size > LARGEST) {
            return Err("a size must be at most 65536");
        }
        Ok(())
    }

    /// Returns the start of each part of a token's input, and the input's size: word, characters, capitals,
    /// shape, knowledge, field, part of speech, end.
    pub(crate) fn parts(&self) -> [usize; 8] {
        let sizes = [
            self.word,
            2 * self.char_hidden,
            self.cap,
            self.lexical,
            self.knowledge,
            self.field,
            self.speech,
        ];
        let mut at = [0; 8];
        for (i, size) in sizes.into_iter().enumerate() {
            at[i + 1] = at[i] + size;
        }
        at
    }

    /// Returns the size of a token's input.
    pub(crate) fn inputs(&self) -> usize {
        self.parts()[7]
    }

    /// Returns the names and shapes of the parameters.
    pub(crate) fn shapes(&self, rows: Rows, tags: usize) -> [(&'static str, usize, usize); slot::ALL] {
        let (char, word) = (4 * self.char_hidden, 4 * self.hidden);
        let top = if self.layer > 0 {
            self.layer
        } else {
            2 * self.hidden
        };
        let table = |rows: usize, size: usize| if size == 0 { (0, 0) } else { (rows, size) };
        let (caps, shapes) = (table(CAPS, self.cap), table(SHAPES, self.lexical));
        let (known, field) = (
            table(rows.knowledge, self.knowledge),
            table(rows.fields, self.field),
        );
        let speech = table(SPEECH_ROWS, self.speech);
        let layer = if self.layer > 0 { 2 * self.hidden } else { 0 };
        let crf = if self.crf { tags } else { 0 };
        [
            ("word", rows.words, self.word),
            ("char", rows.chars, self.char),
            ("cap", caps.0, caps.1),
            ("shape", shapes.0, shapes.1),
            ("knowledge", known.0, known.1),
            ("field", field.0, field.1),
            ("char_lstm.forward.input", self.char, char),
            ("char_lstm.forward.recurrent", self.char_hidden, char),
            ("char_lstm.forward.bias", 1, char),
            ("char_lstm.backward.input", self.char, char),
            ("char_lstm.backward.recurrent", self.char_hidden, char),
            ("char_lstm.backward.bias", 1, char),
            ("word_lstm.forward.input", self.inputs(), word),
            ("word_lstm.forward.recurrent", self.hidden, word),
            ("word_lstm.forward.bias", 1, word),
            ("word_lstm.backward.input", self.inputs(), word),
            ("word_lstm.backward.recurrent", self.hidden, word),
            ("word_lstm.backward.bias", 1, word),
            ("layer", layer, self.layer),
            ("layer.bias", usize::from(layer > 0), self.layer),
            ("out", top, tags),
            ("out.bias", 1, tags),
            ("crf.pairs", crf, crf),
            ("crf.starts", usize::from(crf > 0), crf),
            ("crf.ends", usize::from(crf > 0), crf),
            ("speech", speech.0, speech.1),
        ]
    }
}

impl Params {
    /// Returns initial parameters.
    pub(crate) fn random(architecture: &Architecture, rows: Rows, tags: usize, seed: u64) -> Self {
        let tensor = |(at, shape): (usize, (&'static str, usize, usize))| {
            let table = at < slot::CHAR_LSTM || at == slot::SPEECH;
            Tensor::random(shape, table, &mut Rng::new(&[seed, at as u64]))
        };
        Self(
            architecture
                .shapes(rows, tags)
                .into_iter()
                .enumerate()
                .map(tensor)
                .collect(),
        )
    }

    /// Returns parameters with the same shapes, all zeros.
    pub(crate) fn zeros_like(&self) -> Self {
        let mut zeros = self.clone();
        zeros.0.iter_mut().for_each(|tensor| tensor.data.fill(0.0));
        zeros
    }

    /// Returns a tensor's numbers.
    pub(crate) fn get(&self, slot: usize) -> &[f32] {
        &self.0[slot].data
    }

    /// Returns a row of a table.
    pub(crate) fn row(&self, slot: usize, row: usize) -> &[f32] {
        let columns = self.0[slot].columns;
        &self.0[slot].data[row * columns..(row + 1) * columns]
    }

    /// Returns a row of a table for writing.
    pub(crate) fn row_mut(&mut self, slot: usize, row: usize) -> &mut [f32] {
        let columns = self.0[slot].columns;
        &mut self.0[slot].data[row * columns..(row + 1) * columns]
    }
}

/// A network: everything that is saved. It contains words of notes, and never prints them.
#[derive(Clone)]
pub(crate) struct Model {
    pub(crate) architecture: Architecture,
    pub(crate) tags: TagSet,
    /// The words of the word table from row 1 on, and the characters.
    pub(crate) words: Vec<String>,
    pub(crate) chars: Vec<char>,
    /// The fields with rows of their own, from row 1 on.
    pub(crate) fields: Vec<String>,
    /// The known lists of the dictionary, in the order of their rows.
    pub(crate) lists: Vec<String>,
    /// The digest of the dictionary, if the network reads its lists.
    pub(crate) dictionary: Option<String>,
    /// The tagger, if the network reads parts of speech.
    pub(crate) speech: Option<Speech>,
    pub(crate) params: Params,
}

impl Model {
    /// Returns the vocabulary for look-ups.
    pub(crate) fn vocabulary(&self) -> Vocabulary {
        Vocabulary::new(self.words.iter().map(String::as_str), self.chars.iter().copied())
    }

    /// Returns the number of rows of its tables.
    pub(crate) fn rows(&self) -> Rows {
        Rows {
            words: self.words.len() + 1,
            chars: self.chars.len() + 1,
            knowledge: crate::reader::KNOWLEDGE * self.lists.len(),
            fields: crate::reader::field_rows(self.fields.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_parts_of_speech_settings_and_first_numbers_are_those_of_before_they_existed() {
        let off = Architecture::default();
        assert_eq!(
            format!("{off:?}"),
            "Architecture { crf: true, scheme: Bilou, casing: Folded, word: 100, char: 25, char_hidden: 25, \
             cap: 5, lexical: 15, knowledge: 20, field: 0, hidden: 100, layer: 100, window: 150 }"
        );
        assert!(!toml::to_string(&off).unwrap().contains("speech"));
        let on = Architecture {
            speech: 6,
            ..off.clone()
        };
        assert!(format!("{on:?}").contains("field: 0, speech: 6, hidden: 100"));
        let read: Architecture = toml::from_str(&toml::to_string(&on).unwrap()).unwrap();
        assert_eq!((read, on.inputs()), (on.clone(), off.inputs() + 6));
        let rows = Rows {
            words: 3,
            chars: 3,
            knowledge: 4,
            fields: 4,
        };
        let [without, with] = [&off, &on].map(|a| Params::random(a, rows, 5, 7));
        for (without, with) in without.0.iter().zip(&with.0) {
            let read_inputs = with.name.starts_with("word_lstm") && with.name.ends_with("input");
            assert_eq!(
                without == with,
                with.name != "speech" && !read_inputs,
                "{}",
                with.name
            );
        }
        assert!(without.0[slot::SPEECH].data.is_empty());
        assert_eq!((with.0[slot::SPEECH].rows, with.0[slot::SPEECH].columns), (18, 6));
    }
}
