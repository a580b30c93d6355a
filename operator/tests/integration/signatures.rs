//! Bundles that must be signed by a trusted key.

#![allow(clippy::unwrap_used, reason = "test helpers may panic, as tests may")]

use crate::common;

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use common::checks::until_rows;
use common::kafka::Topic;
use common::notes::event;
use common::process::{Ended, Lethe, TIMEOUT};
use common::{Place, folder_sink, quoted};
use openssl::hash::MessageDigest;
use openssl::pkey::{PKey, Private};
use openssl::sign::Signer;

/// Signs as minisign does, with another library than the one that verifies.
struct Key {
    id: [u8; 8],
    key: PKey<Private>,
}

impl Key {
    fn new(id: u8) -> Self {
        Self {
            id: [id; 8],
            key: PKey::generate_ed25519().unwrap(),
        }
    }

    fn public(&self, place: &Place, name: &str) -> PathBuf {
        let raw = self.key.raw_public_key().unwrap();
        let body = BASE64.encode([b"Ed", &self.id[..], &raw].concat());
        place.write(name, format!("untrusted comment: a key\n{body}\n"))
    }

    fn signed(&self, bytes: &[u8]) -> Vec<u8> {
        let mut signer = Signer::new_without_digest(&self.key).unwrap();
        signer.sign_oneshot_to_vec(bytes).unwrap()
    }

    fn sign(&self, bundle: &Path) {
        let page = std::fs::read(bundle.join("bundle.toml")).unwrap();
        let blake = MessageDigest::from_name("BLAKE2b512").unwrap();
        let signature = self.signed(&openssl::hash::hash(blake, &page).unwrap());
        let comment = "made for a test";
        let text = format!(
            "untrusted comment: a signature\n{}\ntrusted comment: {comment}\n{}\n",
            BASE64.encode([b"ED", &self.id[..], &signature].concat()),
            BASE64.encode(self.signed(&[&signature[..], comment.as_bytes()].concat()))
        );
        std::fs::write(bundle.join("bundle.toml.minisig"), text).unwrap();
    }
}

/// Creates a bundle of one rule member.
fn bundle(place: &Place, kind: &str) -> PathBuf {
    let page = format!(
        "format = 1\ntokenizer = {}\nlabels = \"i2b2-2014\"\n\n[combine]\nmethod = \"voting\"\nthreshold = 1\ncover_beaten = true\n\n\
         [provenance]\nversion = \"test\"\nseed = 1\ndocuments = 0\ndata = \"\"\n\n[[members]]\nname = {kind:?}\n\n\
         [members.member]\nkind = {kind:?}\n",
        lethe_core::TOKENIZER_VERSION
    );
    let path = place.write(&format!("{kind}/bundle.toml"), page);
    path.parent().unwrap().to_owned()
}

fn engine(bundle: &Path, keys: &[&Path]) -> String {
    let keys: Vec<String> = keys.iter().map(quoted).collect();
    format!(
        "[engine]\nbundle = {}\nsigned_by = [{}]\n\n",
        quoted(bundle),
        keys.join(", ")
    )
}

#[test]
fn a_bundle_is_used_only_as_one_of_the_keys_signed_it() {
    let place = Place::new();
    let (trusted, other) = (Key::new(1), Key::new(2));
    let (key, second) = (trusted.public(&place, "a.pub"), other.public(&place, "b.pub"));
    let bundle = bundle(&place, "pattern");
    let text = place.write("note.txt", "Call 555-123-4567.\n");
    let redact = |keys: &[&Path]| -> Ended {
        let config = place.write("lethe.toml", engine(&bundle, keys));
        Lethe::new([
            "redact",
            "--config",
            config.to_str().unwrap(),
            "--input",
            text.to_str().unwrap(),
        ])
        .end()
    };
    redact(&[&key])
        .expect(2)
        .says("bundle.toml.minisig: No such file")
        .says("only signed bundles are trusted");

    trusted.sign(&bundle);
    assert!(redact(&[&key]).expect(0).out.contains("[PHONE]"));
    assert!(redact(&[&second, &key]).expect(0).out.contains("[PHONE]"));
    let refused = redact(&[&second]).expect(2).says("none of the keys made it");
    assert!(refused.out.is_empty(), "nothing was redacted by it");

    let page = bundle.join("bundle.toml");
    let whole = std::fs::read_to_string(&page).unwrap();
    std::fs::write(&page, whole.replace("documents = 0", "documents = 1")).unwrap();
    redact(&[&key]).expect(2).says("does not match the manifest");
    std::fs::write(&page, whole).unwrap();

    std::fs::write(bundle.join("bundle.toml.minisig"), "signed\n").unwrap();
    redact(&[&key]).expect(2).says("is not a minisign signature");
    redact(&[&page]).expect(2).says("is not a minisign public key");
    redact(&[]).expect(2).says("names no key");
}

#[test]
fn what_the_program_carries_needs_no_signature() {
    let place = Place::new();
    let key = Key::new(1).public(&place, "a.pub");
    let config = place.write("lethe.toml", engine(Path::new("en-fast"), &[&key]));
    Lethe::new(["check", "-c", config.to_str().unwrap()])
        .end()
        .expect(0);
    let config = place.write(
        "rules.toml",
        format!(
            "[engine]\nmembers = [{{ kind = \"pattern\" }}]\nsigned_by = [{}]\n",
            quoted(&key)
        ),
    );
    Lethe::new(["check", "-c", config.to_str().unwrap()])
        .end()
        .expect(2)
        .says("there is no bundle");
}

#[test]
fn a_stream_does_not_take_up_a_version_that_nobody_signed() {
    let place = Place::new();
    let topic = Topic::new("signatures", 1);
    let (out, folder) = (place.at("out"), place.at("bundles"));
    let trusted = Key::new(1);
    let key = trusted.public(&place, "a.pub");
    let (signed, unsigned) = (bundle(&place, "known"), bundle(&place, "pattern"));
    trusted.sign(&signed);
    let publish = |bundle: &Path| {
        let arguments = ["ensemble", "publish", bundle.to_str().unwrap(), "--to"];
        Lethe::new(arguments.into_iter().chain([folder.to_str().unwrap()]))
            .end()
            .expect(0);
    };
    publish(&signed);
    let config = format!(
        "{}{}{}roll = {{ max_age_seconds = 0.5, max_idle_seconds = 0.5 }}\n",
        engine(&folder, &[&key]),
        topic.source(),
        folder_sink(&out)
    );
    let config = place.write("lethe.toml", config);
    let mut running = Lethe::run(&config).start();
    topic.fill((0..20).map(event));
    until_rows(&out, 20, &mut running);
    publish(&unsigned);
    running.until_it_says("cannot reload", TIMEOUT);
    topic.fill((20..40).map(event));
    until_rows(&out, 40, &mut running);

    trusted.sign(&unsigned);
    publish(&unsigned);
    running.until_it_says("reloaded; the next batches", TIMEOUT);
    running.signal("TERM");
    running.wait(TIMEOUT).expect(0);
}
