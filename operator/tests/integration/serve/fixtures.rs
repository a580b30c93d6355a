//! Requests in the forms of Presidio's REST API, with the responses that clients need.

use std::path::Path;

use serde_json::{Value, json};

use super::{Server, client};

#[tokio::test]
async fn requests_in_the_forms_of_presidio_are_answered_in_its_forms() {
    let server = Server::start(&[]);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/integration/serve/presidio");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let fixture: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let (status, body) = server
            .post(fixture["path"].as_str().unwrap(), &fixture["request"])
            .await;
        assert_eq!(fixture["status"], status, "{name}: {body}");
        if let Some(expected) = fixture.get("response") {
            assert_eq!(&body, expected, "{name}");
        }
        for part in fixture["says"].as_array().into_iter().flatten() {
            let error = body["error"].as_str().unwrap();
            assert!(
                error.contains(part.as_str().unwrap()),
                "{name}: {part} is not in: {error}"
            );
        }
        count += 1;
    }
    assert!(count > 30, "{count}");
}

#[tokio::test]
async fn the_correlation_id_comes_back_in_a_header() {
    let server = Server::start(&[]);
    let body = json!({ "text": "Afebrile.", "language": "en", "correlation_id": "visit-7" });
    let request = server.request("/analyze", "application/json", body.to_string());
    let response = request.send().await.unwrap();
    assert_eq!(response.headers()["x-correlation-id"], "visit-7");
}

#[tokio::test]
async fn members_entities_and_operators_are_listed() {
    let server = Server::start(&["--language", "en,es"]);
    let list = async |path: &str| {
        let (status, body) = server.get(path).await;
        assert_eq!(status, 200, "{path}: {body}");
        serde_json::from_str::<Vec<String>>(&body).unwrap()
    };
    assert_eq!(
        list("/recognizers?language=es").await,
        ["known", "pattern", "gazetteer", "context"]
    );
    assert_eq!(list("/anonymizers").await, ["keep", "mask", "redact", "replace"]);
    let entities = list("/supportedentities?language=en").await;
    for entity in [
        "PERSON",
        "DATE_TIME",
        "LOCATION",
        "PHONE_NUMBER",
        "EMAIL_ADDRESS",
        "US_SSN",
        "MEDICAL_LICENSE",
        "ID",
        "AGE",
    ] {
        assert!(entities.iter().any(|one| one == entity), "{entity}");
    }
    assert_eq!(server.get("/supportedentities?language=de").await.0, 422);
}

#[tokio::test]
async fn the_policy_decides_which_operators_are_too_weak() {
    let place = crate::common::Place::new();
    let policy = place.write(
        "policy.toml",
        "mode = \"custom\"\ndefault = { action = \"remove\" }\n[labels.PHONE]\naction = \"keep\"\n[labels.FAX]\naction = \"keep\"\n",
    );
    let policy = policy.to_str().unwrap().to_owned();
    let server = Server::start_in(place, &["--policy", &policy], client());
    let text = "Call (612) 555-0142, Zorvane.";
    let mask = json!({ "type": "mask", "masking_char": "*", "chars_to_mask": 4, "from_end": true });
    let name = json!([{ "start": 21, "end": 28, "score": 0.9, "entity_type": "PERSON" }]);
    let phone = json!([{ "start": 5, "end": 19, "score": 0.9, "entity_type": "PHONE_NUMBER" }]);
    let ask = async |operators: Value, results: &Value| {
        let request = json!({ "text": text, "anonymizers": operators, "analyzer_results": results });
        server.post("/anonymize", &request).await
    };
    // What the policy keeps is replaced only if the client asks for it.
    let (status, body) = ask(json!({}), &name).await;
    assert_eq!(
        (status, &body["text"]),
        (200, &json!("Call (612) 555-0142, <PERSON>."))
    );
    let (status, body) = ask(json!({ "PHONE_NUMBER": mask }), &phone).await;
    assert_eq!(
        (status, &body["text"]),
        (200, &json!("Call (612) 555-****, Zorvane."))
    );
    let (status, body) = ask(json!({ "PHONE_NUMBER": { "type": "keep" } }), &phone).await;
    assert_eq!((status, &body["text"]), (200, &json!(text)));
    let (status, body) = ask(json!({ "PERSON": mask }), &name).await;
    assert_eq!(status, 422, "{body}");
    let error = body["error"].as_str().unwrap();
    assert!(
        error.contains("`mask` for PERSON") && error.contains("`remove`"),
        "{error}"
    );
}

#[tokio::test]
async fn a_kept_entity_does_not_keep_what_the_engine_found_under_another_label() {
    let place = crate::common::Place::new();
    let policy = place.write(
        "policy.toml",
        "mode = \"custom\"\ndefault = { action = \"tag\" }\n[labels.AGE]\naction = \"keep\"\n",
    );
    let policy = policy.to_str().unwrap().to_owned();
    let server = Server::start_in(place, &["--policy", &policy], client());
    let request = json!({
        "text": "Call (612) 555-0142.",
        "anonymizers": { "AGE": { "type": "keep" } },
        "analyzer_results": [{ "start": 0, "end": 20, "score": 1.0, "entity_type": "AGE" }],
    });
    let (status, body) = server.post("/anonymize", &request).await;
    assert_eq!(
        (status, &body["code"]),
        (422, &json!("weaker_operator")),
        "{body}"
    );
    assert!(
        body["error"].as_str().unwrap().contains("action for PHONE"),
        "{body}"
    );
}
