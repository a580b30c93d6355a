//! Turns core dumps off, since the memory of this program holds notes and keys.

use std::ffi::OsStr;

use rustix::process::{Resource, Rlimit, setrlimit};

/// The environment variable that, with the value `allow`, leaves core dumps and debuggers as the system
/// configures them.
const VARIABLE: &str = "LETHE_CORE_DUMPS";

/// Turns core dumps off for this process, unless the environment allows them.
///
/// A limit of 0 bytes stops the kernel from writing a file, but not from piping a dump to a handler such as
/// systemd-coredump; a process that is not dumpable is not dumped in either way. The latter also keeps other
/// processes of the same user from attaching to this one and from reading its memory through `/proc`.
pub(crate) fn turn_off() {
    if std::env::var_os(VARIABLE).as_deref() == Some(OsStr::new("allow")) {
        tracing::warn!("{VARIABLE}=allow: a core dump of this process would hold notes and keys");
        return;
    }
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    if let Err(error) = setrlimit(Resource::Core, none) {
        tracing::warn!("cannot limit core dumps: {error}");
    }
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        if let Err(error) = set_dumpable_behavior(DumpableBehavior::NotDumpable) {
            tracing::warn!("cannot turn off core dumps to a handler: {error}");
        }
    }
}
