//! What all learned members share: tags for spans, model folders, label mapping, parts of speech, and
//! observers of training.

mod labels;
mod manifest;
mod marginals;
mod observer;
mod read;
mod spans;
mod speech;
mod switch_out;
mod tags;

pub use labels::{LabelMap, LabelMapError};
pub use manifest::{FORMAT_VERSION, Manifest, ManifestError, Training};
pub use marginals::Marginals;
pub use observer::{Epoch, NoObserver, Observer};
pub use read::{read, read_text};
pub use spans::Spans;
pub use speech::{BatchSpeech, NO_SPEECH, POS_FILE, SPEECH_TAGS, Speech, SpeechReader, SpeechTags};
pub use switch_out::{Pool, SwitchOut};
pub use tags::{Scheme, Spanned, TagSet};
