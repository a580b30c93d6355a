//! Invalid settings.

use lethe_format::{FormatConfig, FormatError};

use super::{NOTE_AVSC, NOTE_PROTO, file};

fn error(config: &str) -> String {
    match toml::from_str::<FormatConfig>(config).unwrap().build() {
        Ok(_) => panic!("taken: {config}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_schema_comes_from_a_registry_or_from_a_file() {
    let registry = "registry = { url = \"https://registry.example\" }";
    for kind in ["avro", "protobuf"] {
        assert!(error(&format!("kind = \"{kind}\"")).starts_with("`registry`: set either"));
        let both = format!("kind = \"{kind}\"\n{registry}\nschema_file = \"/n\"");
        assert!(error(&both).starts_with("`registry`: set either"));
        let id = format!("kind = \"{kind}\"\n{registry}\nschema_id = 1");
        assert!(error(&id).starts_with("`schema_id`"));
        let alone = toml::from_str::<FormatConfig>(&format!("kind = \"{kind}\"\n{registry}")).unwrap();
        assert_eq!(alone.build().err(), Some(FormatError::NoRegistryHere));
    }
    let message = format!("kind = \"protobuf\"\n{registry}\nmessage = \"N\"");
    assert!(error(&message).starts_with("`message`"));
}

#[test]
fn a_schema_file_that_is_none_is_named() {
    let (_a, avsc) = file("note.proto", NOTE_AVSC.as_bytes());
    let (_b, proto) = file("note.avsc", NOTE_PROTO.as_bytes());
    for (kind, path) in [
        ("avro", proto.as_str()),
        ("protobuf", avsc.as_str()),
        ("avro", "/gone"),
        ("protobuf", "/gone.proto"),
        ("protobuf", proto.as_str()),
    ] {
        let message = error(&format!("kind = \"{kind}\"\nschema_file = \"{path}\""));
        assert!(
            message.starts_with(&format!("`schema_file`: {path}: ")),
            "{message}"
        );
    }
}

#[test]
fn a_file_with_several_messages_needs_the_name_of_one() {
    let (_folder, path) = file("two.proto", b"syntax = \"proto3\"; message A {} message B {}");
    let config = format!("kind = \"protobuf\"\nschema_file = \"{path}\"");
    assert!(error(&config).contains("several messages"));
    assert!(error(&format!("{config}\nmessage = \"C\"")).contains("no message C"));
    assert!(
        toml::from_str::<FormatConfig>(&format!("{config}\nmessage = \"B\""))
            .unwrap()
            .build()
            .is_ok()
    );
}

#[test]
fn fields_are_mapped_as_those_of_json() {
    let config = "kind = \"avro\"\nschema_file = \"/n\"\nfields = { text = \"a..b\" }";
    assert!(error(config).starts_with("`fields.text`"));
    assert!(error("kind = \"protobuf\"\nrequired = [\"txt\"]").starts_with("`required`"));
}

#[test]
fn settings_that_do_not_exist_are_refused_and_no_secret_is_printed() {
    for text in [
        "kind = \"avro\"\nmessage = \"N\"",
        "kind = \"protobuf\"\nregistry = { url = \"https://r\", pass = \"x\" }",
        "kind = \"avro\"\nregistry = {}",
    ] {
        assert!(toml::from_str::<FormatConfig>(text).is_err(), "{text}");
    }
    let text = "kind = \"avro\"\nregistry = { url = \"https://r\", user = \"u\", password = \"hush\", token = \"hush\" }";
    let printed = format!("{:?}", toml::from_str::<FormatConfig>(text).unwrap());
    assert!(!printed.contains("hush"), "{printed}");
}
