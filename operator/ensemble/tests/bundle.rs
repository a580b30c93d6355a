//! Bundles of trained members are complete or refused.

#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests, as tests themselves, say where they fail"
)]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use lethe_core::{
    Action, Agreement, Carried, DecidingRule, Engine, LabelSet, Merging, NoteBatch, Redactor, Span,
    TrainedMembers, VoteSpec, hex,
};
use lethe_corpus::{Document, Mark};
use lethe_dictionaries::{Dictionary, LazyDictionary, List, compile};
use lethe_ensemble::{
    Bundle, BundleManifest, Fitted, OperatingPoint, Part, PredictionSet, Provenance, Rule, Versions, swap,
};
use lethe_learn::NoObserver;
use lethe_members::registry::MemberConfig;
use lethe_members::{Job, open, predict, train};
use sha2::{Digest as _, Sha256};

const NAME: &str = "NOMBRE_SUJETO_ASISTENCIA";
const DATE: &str = "FECHAS";

fn documents() -> Vec<Document> {
    let names = ["Ana", "Luis", "Marta", "Pedro", "Elena", "Jorge"];
    let mark = |text: &str, part: &str, label: &str| {
        let start = text.find(part).unwrap();
        Mark::gold(Span::new(start, start + part.len()).unwrap(), label)
    };
    let each = |i: usize| {
        let (name, year) = (names[i % 6], format!("19{:02}", 40 + i));
        let text = format!("Nombre: {name}.\nNacido en {year}, visto hoy.\n");
        Document {
            id: format!("n{i}"),
            patient: None,
            marks: vec![mark(&text, name, NAME), mark(&text, &year, DATE)],
            text,
        }
    };
    (0..30).map(each).collect()
}

/// Trains a member, and leaves its folder under `folder`.
fn model(folder: &Path, kind: &'static str) -> PathBuf {
    let path = folder.join(kind);
    let job = Job {
        kind,
        train: &documents(),
        held_out: &[],
        settings: toml::Table::new(),
        dictionary: &Dictionary::builtin(),
        seed: 1,
        folder: &path,
        restart: false,
    };
    train(&job, &mut NoObserver).unwrap();
    path
}

fn manifest() -> BundleManifest {
    let rule = Rule::Voting(VoteSpec {
        threshold: 2,
        thresholds: [(DATE.to_owned(), 1)].into(),
        always_redact: vec!["known".to_owned()],
        ..VoteSpec::default()
    });
    let members = vec![Part::model("mira"), Part::model("ogd"), Part::rule("known")];
    BundleManifest::new(&LabelSet::meddocan(), rule, Provenance::default(), members)
}

/// Writes a bundle of two models and a rule to `folder`/bundle.
fn bundle(folder: &Path) -> PathBuf {
    let models = [("mira", model(folder, "mira")), ("ogd", model(folder, "ogd"))];
    let path = folder.join("bundle");
    let source = |name: &str| {
        let found = models.iter().find(|(kind, _)| *kind == name);
        found.map(|(_, path)| path.as_path())
    };
    manifest().write(&path, source).unwrap();
    path
}

fn refusal(path: &Path) -> String {
    let opened = Bundle::open(path, &Dictionary::builtin());
    opened.err().expect("the bundle is refused").to_string()
}

#[test]
fn a_bundle_opens_wherever_it_is_moved_and_decides_by_its_members_votes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("moved");
    std::fs::rename(bundle(folder.path()), &path).unwrap();
    // The sources of the bundle are no longer needed.
    std::fs::remove_dir_all(folder.path().join("mira")).unwrap();
    let bundle = Bundle::open(&path, &Dictionary::builtin()).unwrap();
    assert_eq!(bundle.manifest, BundleManifest::read(&path).unwrap());
    let trained = TrainedMembers::new(&bundle.labels, &bundle.members);
    let who = |label: &str| trained.of(bundle.labels.by_name(label).unwrap()).iter().count();
    // A rule is not trained, and nobody is on a label that the documents lack.
    assert_eq!((who(DATE), who("PAIS")), (2, 0));
    let redactor = Redactor::new(&bundle.labels, Action::Tag, Carried::default());
    let merging = Merging::none(&bundle.labels);
    let labels = Arc::clone(&bundle.labels);
    let engine = Engine::new(labels, bundle.members, bundle.combiner, merging, redactor);
    assert_eq!(engine.members(), ["mira", "ogd", "known"]);
    let text = "Nombre: Ana.\nNacido en 1977, visto hoy.\n";
    let batch = NoteBatch::from_texts([text]).unwrap();
    let outcome = engine.decide(&batch).remove(0).unwrap();
    let found: Vec<_> = outcome
        .iter()
        .map(|d| (d.span.of(text), d.needed, d.members.len(), d.scores.len()))
        .collect();
    assert_eq!(found, [("Ana", 2, 2, 2), ("1977", 1, 2, 2)]);
}

/// Two rules that a bundle may have.
fn rules(kinds: &[&str]) -> Vec<MemberConfig> {
    let rule = |kind: &&str| toml::from_str(&format!("kind = {kind:?}")).unwrap();
    kinds.iter().map(rule).collect()
}

#[test]
fn a_rule_next_to_a_bundle_adds_its_spans_and_changes_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = bundle(folder.path());
    let text = "Nombre: Ana, mujer rumana.\nNacido en 1977, visto hoy.\n";
    let decided = |kinds: &[&str]| {
        let bundle = Bundle::open(&path, &Dictionary::builtin()).unwrap();
        let digest = bundle.manifest.digest();
        let bundle = bundle.with_union_rules(&rules(kinds)).unwrap();
        assert_eq!(bundle.manifest.digest(), digest);
        let labels = Arc::clone(&bundle.labels);
        let engine = bundle.into_engine(Redactor::new(&labels, Action::Tag, Carried::default()));
        let batch = NoteBatch::from_texts([text]).unwrap();
        let outcome = engine.decide(&batch).remove(0).unwrap();
        let found = outcome.iter().map(|d| {
            let label = labels.label(d.label).name.clone();
            (d.span.of(text), label, d.deciding_rule)
        });
        (labels.id().to_owned(), found.collect::<Vec<_>>())
    };
    let (id, without) = decided(&[]);
    let (with_id, mut with) = decided(&["origin"]);
    assert_eq!((id.as_str(), with_id.as_str()), ("meddocan", "meddocan+origin"));
    let added = ("rumana", "ORIGIN".to_owned(), DecidingRule::UnionRules);
    assert_eq!(with.iter().filter(|found| **found == added).count(), 1);
    with.retain(|found| *found != added);
    assert_eq!(with, without);

    let opened = Bundle::open(&path, &Dictionary::builtin()).unwrap();
    let refused = opened.with_union_rules(&rules(&["known"])).err().unwrap();
    assert!(
        refused.to_string().contains("member `known` already"),
        "{refused}"
    );
}

#[test]
fn a_member_that_was_altered_or_taken_from_elsewhere_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = bundle(folder.path());
    let weights = path.join("members/ogd/weights.bin");
    let whole = std::fs::read(&weights).unwrap();
    std::fs::write(&weights, &whole[..whole.len() - 1]).unwrap();
    let told = refusal(&path);
    assert!(told.contains("`ogd`") && told.contains("weights.bin"), "{told}");
    std::fs::write(&weights, &whole).unwrap();
    Bundle::open(&path, &Dictionary::builtin()).unwrap();

    // The model is valid, but not the one that the bundle was built with.
    for file in ["weights.bin", "member.toml"] {
        std::fs::copy(
            path.join("members/mira").join(file),
            path.join("members/ogd").join(file),
        )
        .unwrap();
    }
    let told = refusal(&path);
    assert!(told.contains("`ogd`") && told.contains("not the one"), "{told}");
}

#[test]
fn what_is_wrong_with_a_page_is_named_by_its_key() {
    let folder = tempfile::tempdir().unwrap();
    let path = bundle(folder.path());
    let file = path.join("bundle.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    for (from, to, told) in [
        (
            "format = 1",
            "format = 9",
            "bundle format 9, but this program has 1",
        ),
        ("meddocan", "klingon", "neither a built-in set"),
        ("FECHAS = 1", "MOONS = 1", "key `combine.thresholds.MOONS`"),
        (
            "FECHAS = 1",
            "FECHAS = 0",
            "key `combine.thresholds.FECHAS`: is 0, but a span has 1 to 3 votes",
        ),
        ("threshold = 2", "threshold = 4", "key `combine.threshold`: is 4"),
        (
            "always_redact = [\"known\"]",
            "always_redact = [\"pattern\"]",
            "there is no member `pattern`",
        ),
        (
            "name = \"known\"",
            "name = \"ogd\"",
            "two members are called `ogd`",
        ),
        ("kind = \"known\"", "kind = \"hmm\"", "unknown variant `hmm`"),
        ("redact_uncovered", "cover_eaten", "cover_eaten"),
        (
            "always_redact = [\"known\"]",
            "union_rules = [\"ogd\"]",
            "key `combine.union_rules`: ogd are not the last of the members",
        ),
        (
            "always_redact = [\"known\"]",
            "always_redact = [\"known\"]\nunion_rules = [\"known\"]",
            "there is no member `known`",
        ),
    ] {
        assert!(text.contains(from), "{text}");
        std::fs::write(&file, text.replacen(from, to, 1)).unwrap();
        let found = refusal(&path);
        assert!(found.contains("bundle.toml") && found.contains(told), "{found}");
    }
    std::fs::remove_file(&file).unwrap();
    assert!(refusal(&path).contains("bundle.toml"));
}

#[test]
fn union_rules_do_not_vote_and_are_always_redacted() {
    let folder = tempfile::tempdir().unwrap();
    let path = bundle(folder.path());
    let mut manifest = manifest();
    manifest.combine = Rule::Voting(VoteSpec {
        threshold: 2,
        redact_uncovered: false,
        agreement: Agreement::Overlap,
        require_corroboration: true,
        union_rules: vec!["pattern".to_owned()],
        ..VoteSpec::default()
    });
    manifest.members[2] = Part::rule("pattern");
    manifest.write(&path, |_| None).unwrap();
    let bundle = Bundle::open(&path, &Dictionary::builtin()).unwrap();
    let text = "Nombre: Ana.\nVer ana@ejemplo.es hoy.\n";
    let batch = NoteBatch::from_texts([text]).unwrap();
    let predictions: Vec<_> = bundle.members.iter().map(|member| member.tag(&batch)).collect();
    let predictions: Vec<_> = predictions.iter().map(|rows| rows[0].as_ref().unwrap()).collect();
    let decided = bundle.combiner.decide(batch.note(0), &predictions);
    let found: Vec<_> = decided
        .iter()
        .map(|d| (d.span.of(text), d.members.len()))
        .collect();
    assert_eq!(found, [("Ana", 2), ("ana@ejemplo.es", 1)]);
}

#[test]
fn the_vote_of_an_operating_point_decides_and_a_point_that_a_bundle_lacks_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = bundle(folder.path());
    let open = || Bundle::open(&path, &Dictionary::builtin()).unwrap();
    let found = |bundle: Bundle| {
        let redactor = Redactor::new(&bundle.labels, Action::Tag, Carried::default());
        let merging = Merging::none(&bundle.labels);
        let engine = Engine::new(bundle.labels, bundle.members, bundle.combiner, merging, redactor);
        let batch = NoteBatch::from_texts(["Nombre: Ana.\nNacido en 1977, visto hoy.\n"]).unwrap();
        engine.decide(&batch).remove(0).unwrap().len()
    };
    let refused = open()
        .at(OperatingPoint::Balanced, &path)
        .err()
        .unwrap()
        .to_string();
    assert!(
        refused.contains("no operating point `balanced`; it has recall"),
        "{refused}"
    );

    // Nobody has three votes: the third member is a rule that knows nobody.
    let strict = VoteSpec {
        threshold: 3,
        ..VoteSpec::default()
    };
    let page = path.join("bundle.toml");
    let plain = std::fs::read_to_string(&page).unwrap();
    let mut manifest = BundleManifest::read(&path).unwrap();
    manifest.points = [(OperatingPoint::Precision, strict.clone())].into();
    std::fs::write(&page, toml::to_string(&manifest).unwrap()).unwrap();
    assert_eq!(found(open()), 2);
    assert_eq!(found(open().at(OperatingPoint::Precision, &path).unwrap()), 0);
    let digest = open().manifest.digest();
    assert_eq!(open().manifest.digest_at(OperatingPoint::Recall), digest);
    assert_eq!(
        open().manifest.digest_at(OperatingPoint::Precision),
        format!("{digest}:precision")
    );

    manifest.points = [(OperatingPoint::Recall, strict)].into();
    std::fs::write(&page, toml::to_string(&manifest).unwrap()).unwrap();
    assert!(
        refusal(&path).contains("key `points.recall`"),
        "{}",
        refusal(&path)
    );
    let wrong = VoteSpec {
        thresholds: [("NOBODY".to_owned(), 1)].into(),
        ..VoteSpec::default()
    };
    manifest.points = [(OperatingPoint::Balanced, wrong)].into();
    std::fs::write(&page, toml::to_string(&manifest).unwrap()).unwrap();
    assert!(
        refusal(&path).contains("key `points.balanced.thresholds"),
        "{}",
        refusal(&path)
    );
    std::fs::write(&page, plain).unwrap();
    assert_eq!(found(open()), 2);
}

#[test]
fn the_same_parts_give_the_same_page_and_digest() {
    let folder = tempfile::tempdir().unwrap();
    let first = BundleManifest::read(&bundle(folder.path())).unwrap();
    let again = tempfile::tempdir().unwrap();
    let second = BundleManifest::read(&bundle(again.path())).unwrap();
    assert_eq!((first.digest(), &first), (second.digest(), &second));
}

#[test]
fn a_version_is_taken_up_and_taken_back_and_nothing_but_a_whole_bundle_becomes_one() {
    let place = tempfile::tempdir().unwrap();
    let dictionary = Dictionary::builtin();
    let bundle = bundle(place.path());
    let folder = place.path().join("versions-of-it");
    let publish = || Versions::publish(&folder, &bundle, &dictionary);
    let first = publish().unwrap();
    assert_eq!(publish().unwrap(), first, "the same bundle is the same version");

    let mut manifest = BundleManifest::read(&bundle).unwrap();
    manifest.provenance.objective = "another".to_owned();
    manifest.write(&bundle, |_| None).unwrap();
    let second = publish().unwrap();
    let versions = Versions::of(&folder).unwrap();
    assert_eq!(versions.used().unwrap(), [second.clone(), first.clone()]);
    // A file that both versions have is stored once.
    let file = |version: &str, name: &str| {
        let file = std::fs::metadata(versions.path(version).join(name)).unwrap();
        std::os::unix::fs::MetadataExt::ino(&file)
    };
    let (weights, manifest) = ("members/mira/weights.bin", "bundle.toml");
    assert_eq!(file(&first, weights), file(&second, weights));
    assert_ne!(file(&first, manifest), file(&second, manifest));
    let current = || {
        Bundle::open(&folder, &dictionary)
            .unwrap()
            .manifest
            .provenance
            .objective
    };
    assert_eq!(current(), "another");

    assert_eq!(versions.roll_back(None).unwrap(), first);
    assert_eq!(current(), "");
    assert!(versions.roll_back(None).is_err(), "the first has no predecessor");
    assert_eq!(versions.current().unwrap(), first);
    assert!(versions.roll_back(Some("..")).is_err());
    assert_eq!(versions.roll_back(Some(&second)).unwrap(), second);

    let model = bundle.join("members/mira");
    for file in std::fs::read_dir(&model).unwrap() {
        std::fs::write(file.unwrap().path(), "damaged").unwrap();
    }
    assert!(publish().is_err());
    let elsewhere = Versions::publish(place.path(), &folder, &dictionary);
    assert!(elsewhere.is_err(), "a folder that holds other things");
    assert_eq!(versions.names().unwrap().len(), 2);
}

/// Returns a dictionary that is not the built-in one.
fn other() -> Vec<u8> {
    let lists = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../dictionaries/lists");
    let list = List::read(&lists.join("credentials")).unwrap();
    compile(&[list]).unwrap()
}

#[test]
fn a_bundle_carries_the_dictionary_of_its_members_and_another_is_refused_with_both_digests() {
    let folder = tempfile::tempdir().unwrap();
    let path = bundle(folder.path());
    let mut manifest = BundleManifest::read(&path).unwrap();
    manifest.add_dictionary(&path, None).unwrap();
    manifest.write(&path, |_| None).unwrap();
    let (builtin, other) = (Dictionary::builtin(), other());
    let given = Arc::new(Dictionary::from_bytes(other.clone()).unwrap());
    let refusal = || Bundle::open(&path, &given).err().unwrap().to_string();
    let both = |told: &str| {
        [&builtin, &given]
            .iter()
            .all(|one| told.contains(&hex(one.digest())))
    };
    assert_ne!(builtin.digest(), given.digest());

    // What the bundle carries counts, not what the program has.
    let opened = Bundle::open(&path, &given).unwrap();
    assert_eq!(opened.dictionary.get().digest(), builtin.digest());
    let file = path.join("dictionary.bin");
    let whole = std::fs::read(&file).unwrap();
    std::fs::write(&file, &whole[..whole.len() - 1]).unwrap();
    let told = refusal();
    assert!(told.contains("dictionary.bin: damaged"), "{told}");
    std::fs::write(&file, &other).unwrap();
    let told = refusal();
    assert!(told.contains("dictionary.bin") && both(&told), "{told}");
    std::fs::remove_file(&file).unwrap();
    let told = refusal();
    assert!(told.contains("bundle.toml") && both(&told), "{told}");
    Bundle::open(&path, &builtin).unwrap();
}

#[test]
fn a_model_is_refused_with_another_dictionary_than_it_was_trained_with() {
    let folder = tempfile::tempdir().unwrap();
    // The bundle does not name its dictionary, as those of earlier versions do not; its models do.
    let path = bundle(folder.path());
    let given = Arc::new(Dictionary::from_bytes(other()).unwrap());
    let told = Bundle::open(&path, &given).err().unwrap().to_string();
    assert!(
        told.contains("member `mira`") && told.contains("trained with"),
        "{told}"
    );
    for dictionary in [&given, &Dictionary::builtin()] {
        assert!(told.contains(&hex(dictionary.digest())), "{told}");
    }
}

#[test]
fn a_bundle_with_keys_of_an_earlier_version_opens_and_keeps_its_digest() {
    let folder = tempfile::tempdir().unwrap();
    let path = bundle(folder.path());
    let file = path.join("bundle.toml");
    let now = std::fs::read_to_string(&file).unwrap();
    let before = now
        .replace("always_redact", "always")
        .replace("redact_uncovered", "cover_beaten");
    assert_ne!(before, now);
    let read = BundleManifest::read(&path).unwrap();
    std::fs::write(&file, &before).unwrap();
    let opened = Bundle::open(&path, &Dictionary::builtin()).unwrap().manifest;
    assert_eq!((&opened.combine, &opened.members), (&read.combine, &read.members));
    assert_eq!(opened.digest(), hex(&Sha256::digest(before.as_bytes())));
}

#[test]
fn a_swap_replaces_one_model_and_records_both_digests() {
    let folder = tempfile::tempdir().unwrap();
    let (path, out) = (bundle(folder.path()), folder.path().join("out"));
    let before = BundleManifest::read(&path).unwrap();
    let members = [("ogd".to_owned(), model(folder.path(), "svm"))];
    let dictionary = Dictionary::builtin();
    let swapped = swap(&path, &members, false, &out, &dictionary).unwrap();
    assert_eq!(swapped.parent, Some(before.digest()));
    assert_eq!(swapped.members[1].replaces, before.members[1].digest);
    assert_ne!(swapped.members[1].digest, before.members[1].digest);
    assert_eq!(swapped.members[0], before.members[0]);
    assert_eq!(swapped.combine, before.combine);
    assert_eq!(
        BundleManifest::read(&path).unwrap(),
        before,
        "the old bundle stays"
    );
    // A swap of the new bundle continues the chain.
    let (third, members) = (
        folder.path().join("third"),
        [("ogd".to_owned(), folder.path().join("ogd"))],
    );
    let third = swap(&out, &members, false, &third, &dictionary).unwrap();
    assert_eq!(third.parent, Some(swapped.digest()));
    assert_eq!(third.members[1].replaces, swapped.members[1].digest);
}

#[test]
fn a_swap_that_cannot_be_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (path, out) = (bundle(folder.path()), folder.path().join("out"));
    let names_only: Vec<Document> = documents()
        .into_iter()
        .map(|mut document| {
            document.marks.retain(|mark| mark.label == NAME);
            document
        })
        .collect();
    let poor = folder.path().join("poor");
    let job = Job {
        kind: "ogd",
        train: &names_only,
        held_out: &[],
        settings: toml::Table::new(),
        dictionary: &Dictionary::builtin(),
        seed: 1,
        folder: &poor,
        restart: false,
    };
    train(&job, &mut NoObserver).unwrap();
    let dictionary = Dictionary::builtin();
    for (name, model, told) in [
        ("ogd", &poor, "cannot predict FECHAS"),
        ("known", &poor, "replace one of mira, ogd"),
        ("ogd", &folder.path().join("nowhere"), "nowhere/member.toml"),
    ] {
        let members = [(name.to_owned(), model.clone())];
        let refused = swap(&path, &members, false, &out, &dictionary).unwrap_err();
        assert!(refused.to_string().contains(told), "{refused}");
        assert!(!out.exists());
    }
}

#[test]
fn a_fitted_combiner_is_kept_only_if_that_is_accepted() {
    let folder = tempfile::tempdir().unwrap();
    let (path, out) = (folder.path().join("fitted"), folder.path().join("out"));
    let models = ["mira", "ogd"].map(|kind| (kind, model(folder.path(), kind)));
    let predictions = models.iter().map(|(kind, path)| {
        let model = open(
            path,
            Some(&Arc::new(LabelSet::meddocan())),
            &LazyDictionary::Builtin,
        )
        .unwrap();
        let found = predict(model.member.as_ref(), &model.labels, &documents()).unwrap();
        ((*kind).to_owned(), found)
    });
    let labels = Arc::new(LabelSet::meddocan());
    // If all members were right everywhere, nothing could be learnt about them.
    let mut gold = documents();
    for document in gold.iter_mut().step_by(3) {
        document.marks.retain(|mark| mark.label == NAME);
    }
    let predictions = PredictionSet::new(gold, predictions.collect(), Some(labels)).unwrap();
    let fitted = Fitted::fit("decision-templates", &predictions, 1, &mut NoObserver);
    let mut manifest = manifest();
    manifest.members.pop();
    manifest
        .fitted(&path, "decision-templates", &fitted.unwrap().unwrap())
        .unwrap();
    let source = |name: &str| {
        let found = models.iter().find(|(kind, _)| *kind == name);
        found.map(|(_, path)| path.as_path())
    };
    manifest.write(&path, source).unwrap();
    let members = [("ogd".to_owned(), model(folder.path(), "svm"))];
    let dictionary = Dictionary::builtin();
    let refused = swap(&path, &members, false, &out, &dictionary).unwrap_err();
    assert!(refused.to_string().contains("--keep-combiner"), "{refused}");
    assert!(!out.exists());
    let kept = swap(&path, &members, true, &out, &dictionary).unwrap();
    assert_eq!(kept.combine, manifest.combine);
}
