//! Every `unsafe` of the workspace is listed in `docs/unsafe-code.md` with the reason why it is sound.

use std::collections::BTreeMap;

use crate::{root, sources};

/// Returns the number of unsafe blocks, functions, traits, implementations and attributes of a source.
fn unsafe_in(source: &str) -> usize {
    let code = source.lines().map(|line| line.split("//").next().unwrap_or(line));
    let words = code.flat_map(|line| line.split_whitespace()).collect::<Vec<_>>();
    let follows = |next: &str| {
        let starts = ["{", "fn", "impl", "trait", "extern"];
        starts.iter().any(|start| next.starts_with(start))
    };
    let is_unsafe = |word: &str| {
        let before = word.strip_suffix("unsafe");
        before.is_some_and(|before| !before.ends_with(|c: char| c.is_alphanumeric() || "_-'\"".contains(c)))
    };
    let pairs = words.iter().zip(words.iter().skip(1));
    let spaced = pairs.filter(|(word, next)| is_unsafe(word) && follows(next));
    let joined = words.iter().filter(|word| word.contains("unsafe{"));
    spaced.count() + joined.count() + source.matches("#[unsafe(").count()
}

#[test]
fn the_list_of_unsafe_code_is_that_of_the_sources() {
    let root = root();
    let folders = ["operator", "connectors", "dictionaries", "benches", "fuzz"];
    let files: Vec<_> = folders
        .iter()
        .flat_map(|folder| sources(&root.join(folder)))
        .collect();
    assert!(files.len() > 300, "only {} sources found", files.len());
    let found: BTreeMap<String, usize> = files
        .iter()
        // This file has code in strings.
        .filter(|path| !path.ends_with("operator/core/tests/workspace/unsafe_code.rs"))
        .filter_map(|path| {
            let count = unsafe_in(&std::fs::read_to_string(path).expect("a source"));
            let name = path.strip_prefix(&root).expect("inside").display().to_string();
            (count > 0).then_some((name, count))
        })
        .collect();
    let page = std::fs::read_to_string(root.join("docs/unsafe-code.md")).expect("the page");
    let listed: BTreeMap<String, usize> = page
        .lines()
        .filter_map(|line| {
            let mut cells = line.strip_prefix("| `")?.split('|');
            let file = cells.next()?.trim().strip_suffix(".rs`")?;
            Some((format!("{file}.rs"), cells.next()?.trim().parse().ok()?))
        })
        .collect();
    assert_eq!(
        found, listed,
        "left: in the sources; right: in docs/unsafe-code.md. Add a line that says why new unsafe code is sound, and which tests run it"
    );
}

#[test]
fn unsafe_code_is_told_from_words_and_comments() {
    for (source, count) in [
        ("unsafe { x }", 1),
        ("pub(super) unsafe fn f() {}\nunsafe impl Send for T {}", 2),
        ("|r, R| unsafe {\n", 1),
        ("let x = (unsafe { y }, unsafe{ z });", 2),
        ("#[unsafe(no_mangle)] fn f() {}", 1),
        ("// unsafe { x }\nlet not_unsafe = 1;", 0),
        ("\"style-src 'unsafe-inline'\"", 0),
        ("#![allow(unsafe_code)]", 0),
    ] {
        assert_eq!(unsafe_in(source), count, "{source}");
    }
}
