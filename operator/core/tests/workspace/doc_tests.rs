//! Documentation tests are off in the crates without examples, because a crate takes seconds even without any,
//! and in no other.

use crate::crates::{manifest, workspace};
use crate::{root, sources};

/// Returns whether the documentation in a source has a block that is compiled.
fn has_example(source: &str) -> bool {
    let comments = source.lines().filter_map(|line| {
        let line = line.trim_start();
        line.strip_prefix("//!").or_else(|| line.strip_prefix("///"))
    });
    let fences = comments.filter_map(|line| line.trim().strip_prefix("```"));
    let openings = fences.step_by(2);
    let attributes = ["rust", "no_run", "should_panic", "compile_fail", "edition2024"];
    let mut languages = openings.map(|opening| opening.split(',').next().unwrap_or_default());
    languages.any(|language| language.is_empty() || attributes.contains(&language))
}

fn is_on(manifest: &toml::Table) -> bool {
    let lib = manifest.get("lib");
    lib.and_then(|lib| lib.get("doctest")?.as_bool()).unwrap_or(true)
}

#[test]
fn documentation_tests_are_on_where_there_are_examples() {
    let (mut with, mut without) = (0, 0);
    for (name, package) in workspace() {
        let source = root().join(&package.folder).join("src");
        if !source.join("lib.rs").exists() {
            continue;
        }
        let examples = sources(&source)
            .iter()
            .any(|path| has_example(&std::fs::read_to_string(path).expect("a source")));
        assert_eq!(
            is_on(&manifest(&package.folder)),
            examples,
            "{name} (left: `doctest` of its Cargo.toml; right: whether its documentation has examples in Rust)"
        );
        with += usize::from(examples);
        without += usize::from(!examples);
    }
    assert!(
        with > 0 && without > 0,
        "{with} crates with examples, {without} without"
    );
}

#[test]
fn an_example_is_told_from_other_blocks() {
    for (source, expected) in [
        ("/// ```\n/// let a = 1;\n/// ```", true),
        ("//! ```no_run\n//! ```", true),
        (
            "    /// ```toml\n    /// ```\n    /// ```rust,ignore\n    /// ```",
            true,
        ),
        ("/// ```xml\n/// ```\n/// ```text\n/// ```", false),
        ("// ```\n// let a = 1;\n// ```", false),
    ] {
        assert_eq!(has_example(source), expected, "{source}");
    }
}
