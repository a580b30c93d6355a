//! Reads the manifests of a dataset and checks that what they list exists.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::report::Plan;
use super::units::Units;
use crate::inspect::{DatasetError, Head};
use crate::sink::{
    BEGUN, Entry, MANIFESTS, PartName, ShardManifest, Totals, WholeManifest, digest_of, encode_manifest,
    object_id, shard_path, whole_path,
};
use crate::store::{Store, StoreError};

/// A part that a manifest lists.
#[derive(Debug)]
pub(super) struct Listed {
    pub(super) digest: String,
    /// The manifest that lists it.
    pub(super) by: String,
}

/// All manifests of a dataset.
#[derive(Debug, Default)]
pub(super) struct Manifests {
    pub(super) plans: Vec<Plan>,
    pub(super) parts: BTreeMap<String, Listed>,
    pub(super) broken: BTreeMap<String, String>,
    pub(super) faults: Vec<DatasetError>,
    pub(super) strays: Vec<String>,
    /// Name and digest of every manifest.
    pub(super) heads: Vec<(String, String)>,
    /// The digest and the fingerprints of the configuration that began the dataset.
    pub(super) begun: Option<Map<String, Value>>,
    shards: BTreeMap<String, ShardManifest>,
    /// Ids of the objects of completed runs.
    complete: BTreeSet<String>,
    /// Objects for which a manifest lists no files.
    bare: BTreeSet<String>,
}

impl Manifests {
    /// Reads all manifests and checks them against each other.
    pub(super) async fn read(store: &dyn Store) -> Result<Self, StoreError> {
        let mut all = Self::default();
        let mut wholes: BTreeMap<String, (WholeManifest, String)> = BTreeMap::new();
        let mut digests: BTreeMap<String, String> = BTreeMap::new();
        match store.read(BEGUN).await {
            Ok(bytes) => {
                digests.insert(BEGUN.to_owned(), digest_of(&bytes));
                all.begun = serde_json::from_slice(&bytes).ok();
                if all.begun.is_none() {
                    all.wrong(BEGUN, "it was not written by a backfill");
                }
            }
            Err(StoreError::NotFound(_)) => {}
            Err(error) => return Err(error),
        }
        for object in store.list(MANIFESTS).await? {
            let bytes = store.read(&object.name).await?;
            let name = object.name;
            let stem = name
                .strip_prefix(MANIFESTS)
                .and_then(|rest| rest.strip_prefix('/'));
            let Some(stem) = stem.and_then(|stem| stem.strip_suffix(".json")) else {
                all.strays.push(name);
                continue;
            };
            let digest = digest_of(&bytes);
            digests.insert(name.clone(), digest.clone());
            all.heads.push((name.clone(), digest));
            if stem.contains('/') {
                let read = parsed::<ShardManifest>(&bytes).filter(|shard| shard.path() == name);
                match read {
                    Some(shard) => {
                        all.shards.insert(name, shard);
                    }
                    None => all.wrong(&name, "it differs from what a backfill writes: it was changed"),
                }
            } else {
                let read = parsed::<WholeManifest>(&bytes).filter(|whole| whole.path() == name);
                match read {
                    Some(whole) => {
                        wholes.insert(whole.plan.clone(), (whole, name));
                    }
                    None => all.wrong(&name, "it differs from what a backfill writes: it was changed"),
                }
            }
        }
        for (whole, name) in wholes.values() {
            all.check_whole(whole, name, &digests);
        }
        if all.begun.is_none() && !digests.contains_key(BEGUN) && !all.shards.is_empty() {
            all.faults.push(DatasetError::MissingPart {
                file: BEGUN.to_owned(),
                by: "every backfill".to_owned(),
            });
        }
        all.index(&wholes);
        Ok(all)
    }

    /// Returns whether there is neither a manifest nor a description.
    pub(super) fn is_empty(&self) -> bool {
        self.heads.is_empty() && self.begun.is_none() && self.faults.is_empty()
    }

    /// Returns the manifests of all shards with their digests.
    pub(super) fn whole_heads(&self) -> Vec<Head> {
        let complete = self.plans.iter().filter(|plan| plan.complete);
        let paths: BTreeSet<String> = complete.map(|plan| whole_path(&plan.plan)).collect();
        let heads = self.heads.iter().filter(|(file, _)| paths.contains(file));
        heads
            .map(|(file, digest)| Head {
                digest: digest.clone(),
                file: Some(file.clone()),
            })
            .collect()
    }

    fn wrong(&mut self, file: &str, why: &str) {
        self.faults.push(DatasetError::Unreadable {
            file: file.to_owned(),
            why: why.to_owned(),
        });
    }

    /// Checks the manifest of all shards against the shards' manifests.
    fn check_whole(&mut self, whole: &WholeManifest, name: &str, digests: &BTreeMap<String, String>) {
        for (file, kept) in &whole.files {
            match digests.get(file) {
                None => self.faults.push(DatasetError::MissingPart {
                    file: file.clone(),
                    by: name.to_owned(),
                }),
                Some(found) if found != kept => self.faults.push(DatasetError::Digest {
                    file: file.clone(),
                    by: name.to_owned(),
                    kept: kept.clone(),
                    found: found.clone(),
                }),
                Some(_) => {}
            }
        }
        let paths = (0..whole.shards).map(|shard| shard_path(&whole.plan, shard, whole.shards));
        let shards: Option<Vec<&ShardManifest>> = paths.map(|path| self.shards.get(&path)).collect();
        let adds_up = match shards {
            Some(shards) => {
                let sum = WholeManifest::of(&whole.plan, shards);
                sum == whole.without_digests()
            }
            // Already reported if this one holds digests.
            None => !whole.files.is_empty(),
        };
        if !adds_up {
            self.wrong(
                name,
                "it does not equal the sum of its shards' manifests: one of them was changed or removed",
            );
        }
    }

    /// Indexes the files and objects of the manifests.
    fn index(&mut self, wholes: &BTreeMap<String, (WholeManifest, String)>) {
        let mut plans: BTreeMap<(String, usize), Plan> = BTreeMap::new();
        for (path, shard) in &self.shards {
            let whole = wholes.get(&shard.plan);
            let complete = whole.is_some_and(|(whole, _)| whole.shards == shard.shards);
            let plan = plans.entry((shard.plan.clone(), shard.shards)).or_default();
            plan.plan.clone_from(&shard.plan);
            plan.shards = shard.shards;
            plan.finished += 1;
            plan.complete = complete;
            plan.totals.add(&shard.totals);
            self.broken.extend(shard.broken.clone());
            for (object, entry) in &shard.objects {
                let id = object_id(object);
                if complete {
                    self.complete.insert(id.clone());
                }
                if entry.parts.is_empty() && entry.totals.files > 0 {
                    self.bare.insert(id);
                }
                for (file, digest) in &entry.parts {
                    let listed = Listed {
                        digest: digest.clone(),
                        by: path.clone(),
                    };
                    self.parts.insert(file.clone(), listed);
                }
            }
        }
        // A manifest of all shards whose shards' manifests are missing.
        for (whole, _) in wholes.values() {
            let key = (whole.plan.clone(), whole.shards);
            plans.entry(key).or_insert_with(|| Plan {
                plan: whole.plan.clone(),
                shards: whole.shards,
                finished: 0,
                complete: true,
                totals: whole.totals,
            });
        }
        self.plans = plans.into_values().collect();
        // The same plan may have been run before with another number of shards.
        let done: BTreeSet<String> = self.complete_plans();
        self.plans
            .retain(|plan| plan.complete || !done.contains(&plan.plan));
    }

    fn complete_plans(&self) -> BTreeSet<String> {
        let complete = self.plans.iter().filter(|plan| plan.complete);
        complete.map(|plan| plan.plan.clone()).collect()
    }

    /// Returns whether a manifest of an earlier version covers this part's object.
    pub(super) fn covers(&self, name: &PartName) -> bool {
        self.bare.contains(&name.object)
    }

    /// Returns why an unlisted part cannot belong to a running backfill.
    pub(super) fn stands_outside(&self, name: &PartName) -> Option<&'static str> {
        let is_complete = self.complete.contains(&name.object) && !self.bare.contains(&name.object);
        if is_complete {
            return Some("the manifest lists all parts of its object, but not this one");
        }
        let any = self.plans.iter().any(|plan| plan.complete) && !self.covers(name);
        any.then_some("no manifest lists its object")
    }

    /// Checks the totals of each object against its files.
    pub(super) fn reconcile(&self, units: &Units) -> Vec<DatasetError> {
        let mut faults = Vec::new();
        // By plan, for manifests that list no files: the totals of an object over the shards of a run.
        let mut bare: BTreeMap<(&str, &str), (Totals, &str)> = BTreeMap::new();
        for (path, shard) in &self.shards {
            let mut sum = Totals::default();
            for (object, entry) in &shard.objects {
                sum.add(&entry.totals);
                if entry.parts.is_empty() {
                    let key = (shard.plan.as_str(), object.as_str());
                    let of = bare.entry(key).or_insert((Totals::default(), path.as_str()));
                    of.0.add(&entry.totals);
                    continue;
                }
                if let Some(found) = units.sums(entry.parts.keys()) {
                    compare(path, object, entry, &found, &mut faults);
                }
            }
            if sum != shard.totals {
                faults.push(DatasetError::Unreadable {
                    file: path.clone(),
                    why: "its objects do not add up to its totals: it was changed".to_owned(),
                });
            }
        }
        let complete = self.complete_plans();
        for ((plan, object), (totals, path)) in bare {
            if complete.contains(plan) {
                let entry = Entry {
                    totals,
                    ..Entry::default()
                };
                let found = units.of_object(&object_id(object));
                compare(path, object, &entry, &found, &mut faults);
            }
        }
        faults
    }
}

/// Compares a manifest's entry of an object with its files.
fn compare(path: &str, object: &str, entry: &Entry, found: &Totals, faults: &mut Vec<DatasetError>) {
    let units = found.units;
    // An unreadable unit has no file.
    let claimed = Totals {
        units,
        ..entry.totals
    };
    if claimed != *found {
        faults.push(DatasetError::Unreadable {
            file: path.to_owned(),
            why: format!(
                "it lists {} rows in {} files of object {object}, but there are {} rows in {} files, or other counts differ",
                claimed.rows_out, claimed.files, found.rows_out, found.files
            ),
        });
    }
}

/// Parses a manifest; `None` if its encoding would differ from these bytes.
fn parsed<T: DeserializeOwned + Serialize>(bytes: &[u8]) -> Option<T> {
    let read: T = serde_json::from_slice(bytes).ok()?;
    (encode_manifest(&read).ok()? == bytes).then_some(read)
}
