//! Evaluation of predictions: scores, intervals, significance tests, error analysis, and reports.
//!
//! [`evaluate`] scores any number of systems against gold and returns a [`Report`] of numbers and
//! coordinates. It prints as a table ([`Report::table`]), serialises as JSON (the fields of [`Report`] are
//! the format), and [`page`] renders it as one HTML file.
//!
//! Invariant: note text appears only in the page's contexts, and there only if the caller allows it.

mod binomial;
mod bootstrap;
mod chart;
mod error;
mod evaluate;
mod figure;
mod grid;
mod group;
mod html;
mod input;
mod measure;
mod mistake;
mod overlap;
mod report;
mod requirement;
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
    Interval, LabelErrors, Leak, LeakGroup, Leaks, Macro, Measures, Method, Pointed, Ratios, Report, Score,
    Seen, SeenLeaks, Settings, Shape, Share, System, Test,
};
pub use requirement::{Requirement, RequirementError};
pub use significance::{approximate_randomisation, paired_t_test, wilcoxon};

/// The building blocks of the page and of the table, so that other reports look alike.
pub mod sheet {
    pub use crate::chart::{Axes, CHART_STYLE, Dot, Of, Series, chart};
    pub use crate::figure::{counted, hipaa_name, percent, thousands};
    pub use crate::grid::{Grid, WIDTH, cut};
    pub use crate::html::context::passage;
    pub use crate::html::markup::{CellOf, cell, classed, escape, table};
    pub use crate::html::{alone, figure, frame, svg};
}
