//! The diagram and the table of crates in `ARCHITECTURE.md` agree with the manifests of the workspace.

use std::collections::{BTreeMap, BTreeSet};

use crate::root;

/// A crate's folder, and the crates of the workspace that its normal dependencies name.
#[derive(Debug, PartialEq)]
pub(crate) struct Crate {
    pub(crate) folder: String,
    dependencies: BTreeSet<String>,
}

pub(crate) fn manifest(folder: &str) -> toml::Table {
    let path = root().join(folder).join("Cargo.toml");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.parse().expect("a manifest")
}

/// Returns the names that a manifest's normal dependencies list, for all targets.
fn dependencies(manifest: &toml::Table) -> BTreeSet<String> {
    let targets = manifest.get("target").and_then(toml::Value::as_table);
    let targets = targets.into_iter().flat_map(toml::Table::values);
    let tables = targets.filter_map(|target| target.get("dependencies"));
    let tables = tables.chain(manifest.get("dependencies"));
    tables
        .filter_map(toml::Value::as_table)
        .flat_map(toml::Table::keys)
        .cloned()
        .collect()
}

pub(crate) fn workspace() -> BTreeMap<String, Crate> {
    let root = manifest("");
    let folders: Vec<String> = root["workspace"]["members"].clone().try_into().expect("members");
    let manifests: Vec<_> = folders.iter().map(|folder| manifest(folder)).collect();
    let name = |manifest: &toml::Table| manifest["package"]["name"].as_str().expect("a name").to_owned();
    let names: BTreeSet<_> = manifests.iter().map(name).collect();
    let crates = folders.into_iter().zip(&manifests).map(|(folder, manifest)| {
        let dependencies = dependencies(manifest).intersection(&names).cloned().collect();
        (name(manifest), Crate { folder, dependencies })
    });
    crates.collect()
}

/// Returns the page's section "Crates".
fn section() -> String {
    let page = std::fs::read_to_string(root().join("ARCHITECTURE.md")).expect("the page");
    let (_, section) = page.split_once("\n## Crates\n").expect("the section");
    section.split("\n## ").next().unwrap_or(section).to_owned()
}

/// Returns the full name of a crate, since the page leaves out the prefix.
fn full(name: &str) -> String {
    if name.starts_with("lethe") {
        name.to_owned()
    } else {
        format!("lethe-{name}")
    }
}

#[test]
fn each_crate_is_once_in_the_picture_above_what_it_depends_on() {
    let section = section();
    let picture = section.split("```").nth(1).expect("the diagram");
    let mut rows = BTreeMap::new();
    for (row, line) in picture.trim().lines().enumerate() {
        let names = line.split([',', ' ']).filter(|name| !name.is_empty());
        for name in names.map(full) {
            assert!(rows.insert(name.clone(), row).is_none(), "{name} is listed twice");
        }
    }
    let crates = workspace();
    let listed: BTreeSet<_> = rows.keys().collect();
    let expected: BTreeSet<_> = crates.keys().collect();
    assert_eq!(listed, expected, "left: in the diagram; right: in the workspace");
    for (name, Crate { dependencies, .. }) in &crates {
        for below in dependencies {
            assert!(
                rows[name] < rows[below],
                "{name} depends on {below}: move it to a row above {below} in ARCHITECTURE.md"
            );
        }
    }
}

#[test]
fn the_table_lists_each_crate_with_its_folder_and_its_dependencies() {
    let mut listed = BTreeMap::new();
    let section = section();
    for line in section.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<_> = line.split('|').map(str::trim).collect();
        let [_, folder, name, dependencies, ..] = cells[..] else {
            panic!("not a row of the table: {line}")
        };
        let names = dependencies.split(", ").filter(|name| !name.is_empty());
        let row = Crate {
            folder: folder.trim_matches('`').to_owned(),
            dependencies: names.map(full).collect(),
        };
        let name = name.trim_matches('`').to_owned();
        assert!(
            listed.insert(name.clone(), row).is_none(),
            "{name} is listed twice"
        );
    }
    let crates = workspace();
    for (name, expected) in &crates {
        let row = listed.remove(name);
        assert_eq!(
            row.as_ref(),
            Some(expected),
            "{name}; left: in ARCHITECTURE.md; right: in the workspace"
        );
    }
    assert!(listed.is_empty(), "not in the workspace: {:?}", listed.keys());
}
