//! What every learned member shares, whatever learns: tags for spans, model folders, the labels of the engine,
//! progress that can be watched and stopped.

mod labels;
mod manifest;
mod marginals;
mod observer;
mod read;
mod spans;
mod switch_out;
mod tags;

pub use labels::{LabelMap, LabelMapError};
pub use manifest::{FORMAT_VERSION, Manifest, ManifestError, Training};
pub use marginals::Marginals;
pub use observer::{Epoch, NoObserver, Observer};
pub use read::{read, read_text};
pub use spans::Spans;
pub use switch_out::{Pool, SwitchOut};
pub use tags::{Scheme, Spanned, TagSet};
