//! What is explained, and what is withheld.

use crate::config::load;

fn explained(toml: &str, policy: Option<&str>) -> (String, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lethe.toml");
    let here = folder.path().display().to_string();
    std::fs::write(&path, toml.replace("HERE", &here)).unwrap();
    std::fs::write(folder.path().join("password"), "hunter2\n").unwrap();
    let policy = policy.map(|text| {
        let path = folder.path().join("policy.toml");
        std::fs::write(&path, text).unwrap();
        path
    });
    let config = load(&path).unwrap();
    let text = config.explain(&path, policy.as_deref()).unwrap();
    (text.replace(&format!("{here}/"), ""), here)
}

#[test]
fn each_value_has_its_place_and_defaults_are_named() {
    let (text, _) = explained(
        "[source]\nkind = \"kafka\"\nbrokers = [\"b:1\"]\ntopics = [\"t\"]\ngroup = \"${PATH}\"\n\
         [resources]\n# so much\nworkers = 2\n[engine.vote]\nsure = 0.9\n",
        None,
    );
    for line in [
        "kind = \"kafka\"  # lethe.toml:2",
        &*format!(
            "group = \"{}\"  # lethe.toml:5, environment variable PATH",
            std::env::var("PATH").unwrap()
        ),
        "start = \"earliest\"  # default",
        "workers = 2  # lethe.toml:8",
        "memory_bytes = 536870912  # default",
        "[engine.vote]",
        "solo_min_score = 0.9  # lethe.toml:10",
        "[format]",
        "kind = \"json\"  # default",
    ] {
        assert!(text.lines().any(|shown| shown == line), "{line}\n{text}");
    }
    assert!(!text.contains("[policy]") && !text.contains("[sink]"), "{text}");
}

#[test]
fn secrets_are_withheld_however_they_are_given() {
    let kafka = "[source]\nkind = \"kafka\"\nbrokers = [\"b:1\"]\ntopics = [\"t\"]\ngroup = \"g\"\n";
    for password in [
        "hunter2",
        "${file:HERE/password}",
        "x-${file:HERE/password}",
        "${PATH}",
    ] {
        let (text, _) = explained(
            &format!(
                "{kafka}security = {{ protocol = \"sasl\", mechanism = \"PLAIN\", user = \"u\", password = \"{password}\" }}\n"
            ),
            None,
        );
        assert!(text.contains("password = \"withheld\"  # lethe.toml:6"), "{text}");
        for secret in ["hunter2", "/bin", "x-"] {
            assert!(!text.contains(secret), "{secret}\n{text}");
        }
    }
    let (text, _) = explained(
        "[sink]\nstore = { kind = \"s3\", bucket = \"b\", access_key = \"hunter2\", secret_key = \"hunter2\" }\n",
        None,
    );
    assert!(
        !text.contains("hunter2") && text.contains("bucket = \"b\""),
        "{text}"
    );
    let (text, _) = explained(
        &format!(
            "{kafka}properties = {{ \"ssl.key.pem\" = \"hunter2\", \"client.rack\" = \"eu\" }}\n\
             [format]\nkind = \"avro\"\nregistry = {{ url = \"https://u:hunter2@r.example\" }}\n"
        ),
        None,
    );
    assert!(!text.contains("hunter2") && text.contains("\"eu\""), "{text}");
}

#[test]
fn what_is_printed_is_a_configuration_that_means_the_same() {
    let (text, _) = explained(
        "[format]\nkind = \"hl7v2\"\n[sink]\nstore = { kind = \"folder\", path = \"/out\" }\nroll = { max_rows = 7 }\n\
         [engine]\nmembers = [{ kind = \"pattern\" }, { kind = \"known\" }]\nacknowledge = [\"rules-only\"]\n\
         [policy]\nmode = \"custom\"\n[policy.labels.DATE]\naction = \"mask\"\n",
        None,
    );
    let config =
        crate::config::parse(&text, "printed.toml").unwrap_or_else(|error| panic!("{error:#}\n{text}"));
    assert_eq!(config.sink.as_ref().map(|sink| sink.roll.max_rows), Some(7));
    assert!(text.contains("max_bytes = 67108864  # default"), "{text}");
}

#[test]
fn a_policy_of_the_command_line_or_of_another_file_is_explained_from_that_file() {
    let policy = "mode = \"safe-harbor\"\n[labels.DATE]\naction = \"generalise\"\n";
    let (text, _) = explained("[policy]\nmode = \"custom\"\n", Some(policy));
    for line in [
        "# The file's own [policy] is not in effect.",
        "mode = \"safe-harbor\"  # policy.toml:1, from the command line (--policy)",
        "action = \"generalise\"  # policy.toml:3, from the command line (--policy)",
    ] {
        assert!(text.lines().any(|shown| shown == line), "{line}\n{text}");
    }
}
