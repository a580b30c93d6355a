//! How good predictions are: scores, intervals, tests of significance, error analysis, and reports of them.
//!
//! [`evaluate`] holds any number of systems against gold and gives a [`Report`], which is plain numbers and
//! coordinates: it prints as a table ([`Report::table`]), serialises as JSON (the fields of [`Report`] are the format),
//! and [`page`] makes one HTML file of it.
//!
//! Invariant: note text goes into the page's contexts and nowhere else, and there only if the caller lets it.

mod bootstrap;
mod chart;
mod error;
mod evaluate;
mod figure;
mod group;
mod html;
mod input;
mod measure;
mod mistake;
mod overlap;
mod report;
mod score;
mod seen;
mod significance;
mod table;

pub use bootstrap::quantile;
pub use error::EvaluateError;
pub use evaluate::{Options, evaluate};
pub use html::{PageOptions, page};
pub use report::{
    Cell, Comparison, DocumentScore, ErrorCase, ErrorClass, ErrorKind, Errors, Estimate, Group, Groups,
    Interval, LabelErrors, Leak, Macro, Measures, Method, Pointed, Ratios, Report, Score, Seen, Settings,
    Shape, Share, System, Test,
};
pub use significance::{approximate_randomisation, paired_t_test, wilcoxon};

/// What this page is made of, for the pages of other reports, so that all look alike.
pub mod sheet {
    pub use crate::chart::{Axes, CHART_STYLE, Dot, Of, Series, chart};
    pub use crate::figure::{counted, percent, thousands};
    pub use crate::html::markup::{CellOf, cell, classed, escape, table};
    pub use crate::html::{alone, figure, frame, svg};
}
