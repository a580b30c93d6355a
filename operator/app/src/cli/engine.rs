//! The options by which a command that needs no configuration file gets its members and its policy.

use std::path::PathBuf;

use clap::Args;
use lethe_ensemble::OperatingPoint;

/// Members and policy: those of a configuration, of a bundle, or the defaults.
#[derive(Args, Default)]
pub(crate) struct EngineArgs {
    /// Use the members and policy of this configuration instead of the defaults
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Use the members, vote and labels of a bundle: the name of a built-in one, or its folder
    #[arg(long, value_name = "BUNDLE", conflicts_with = "config")]
    pub(crate) bundle: Option<PathBuf>,
    /// Let the bundle's vote weigh recall against precision as this operating point does, if the bundle has it: `recall` (the
    /// default), `balanced` or `precision`
    #[arg(long, value_name = "POINT", conflicts_with = "config")]
    pub(crate) operating_point: Option<OperatingPoint>,
    /// Use this policy instead of the configuration's
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
}
