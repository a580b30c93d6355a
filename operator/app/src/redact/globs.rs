//! Patterns that select files of folders and archives, as ripgrep has them.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::exit::usage;

/// Which files of folders and archives to read.
pub(super) struct Globs {
    include: GlobSet,
    exclude: GlobSet,
}

impl Globs {
    /// Parses patterns; those that begin with `!` exclude files.
    ///
    /// # Errors
    /// A usage error that names the pattern.
    pub(super) fn new(globs: &[String]) -> anyhow::Result<Self> {
        let (mut include, mut exclude) = (GlobSetBuilder::new(), GlobSetBuilder::new());
        for glob in globs {
            let (set, pattern) = match glob.strip_prefix('!') {
                Some(pattern) => (&mut exclude, pattern),
                None => (&mut include, glob.as_str()),
            };
            // As in ripgrep: a pattern without a slash is about the name of a file in any folder.
            let anywhere = match pattern.contains('/') {
                true => pattern.to_owned(),
                false => format!("**/{pattern}"),
            };
            let built = GlobBuilder::new(&anywhere).literal_separator(true).build();
            set.add(built.map_err(|error| usage(format!("--glob {glob}: {}", error.kind())))?);
        }
        let build = |set: GlobSetBuilder| {
            set.build()
                .map_err(|error| usage(format!("--glob: {}", error.kind())))
        };
        Ok(Self {
            include: build(include)?,
            exclude: build(exclude)?,
        })
    }

    /// Returns whether to read the file with this relative name.
    pub(super) fn wants(&self, name: &str) -> bool {
        (self.include.is_empty() || self.include.is_match(name)) && !self.exclude.is_match(name)
    }
}
