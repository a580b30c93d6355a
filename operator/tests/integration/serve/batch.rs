//! Batches: JSON lines in and out.

use std::io::{BufRead as _, BufReader, Write as _};

use serde_json::{Value, json};

use super::{NOTE, Server};

const KIND: &str = "application/x-ndjson";

fn parsed(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

async fn send(server: &Server, path: &str, body: impl Into<reqwest::Body>) -> Vec<Value> {
    let response = server.request(path, KIND, body).send().await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], KIND);
    parsed(&response.text().await.unwrap())
}

#[tokio::test]
async fn each_line_has_a_result_in_order_and_a_bad_one_an_error_with_its_number() {
    let server = Server::start(&["--max-body-bytes", "300"]);
    let long = "a".repeat(400);
    let lines = [
        json!({ "doc_id": 1, "text": NOTE }).to_string(),
        "{\"text\": \"Quill".to_owned(),
        String::new(),
        json!({ "doc_id": 4, "text": long }).to_string(),
        json!({ "doc_id": 5 }).to_string(),
        json!({ "doc_id": 6, "text": "Afebrile." }).to_string(),
    ];
    let results = send(&server, "/v1/redact/batch", lines.join("\r\n")).await;
    assert_eq!(results.len(), 5, "{results:?}");
    assert!(
        results[0]["text"].as_str().unwrap().ends_with("Call [PHONE]."),
        "{results:?}"
    );
    let errors: Vec<_> = results[1..4]
        .iter()
        .map(|one| (one["line"].clone(), one["code"].clone()))
        .collect();
    assert_eq!(
        errors,
        [
            (json!(2), json!("invalid_document")),
            (json!(4), json!("too_large")),
            (json!(5), json!("invalid_document"))
        ]
    );
    assert_eq!(results[4], json!({ "doc_id": 6, "text": "Afebrile." }));
    let all = format!("{results:?}");
    assert!(!all.contains("Quill") && !all.contains("aaaa"), "{all}");
}

#[tokio::test]
async fn lines_over_the_limit_cost_only_themselves_however_they_arrive() {
    let server = Server::start(&["--max-body-bytes", "64"]);
    let good = |number: u64| json!({ "doc_id": number, "text": "Afebrile." }).to_string();
    let lines: Vec<String> = (0..300)
        .map(|number| {
            if number % 3 == 1 {
                "x".repeat(65 + number as usize * 7)
            } else {
                good(number)
            }
        })
        .collect();
    for end in ["", "\n"] {
        let results = send(&server, "/v1/redact/batch", lines.join("\n") + end).await;
        assert_eq!(results.len(), 300);
        for (number, result) in (0..).zip(&results) {
            if number % 3 == 1 {
                assert_eq!(
                    (&result["line"], &result["code"]),
                    (&json!(number + 1), &json!("too_large"))
                );
            } else {
                assert_eq!(result["doc_id"], json!(number), "{result}");
            }
        }
    }
}

#[tokio::test]
async fn the_order_of_many_lines_is_kept_and_their_number_has_no_limit() {
    let server = Server::start(&["--body-memory-mib", "4", "--max-body-bytes", "65536"]);
    let line = |number: u32| json!({ "doc_id": number, "text": format!("{NOTE} {}", "Afebrile. ".repeat(number as usize % 7)) });
    let body: String = (0..5000).map(|number| format!("{}\n", line(number))).collect();
    let results = send(&server, "/v1/annotate/batch?offsets=byte", body).await;
    let ids: Vec<u64> = results
        .iter()
        .map(|one| one["doc_id"].as_u64().unwrap())
        .collect();
    assert_eq!(ids, (0..5000).collect::<Vec<_>>());
    assert!(
        results
            .iter()
            .all(|one| !one["spans"].as_array().unwrap().is_empty())
    );
}

#[tokio::test]
async fn a_result_comes_before_the_next_line_is_sent() {
    let server = Server::start(&[]);
    let mut stream = server.connect();
    let mut answers = BufReader::new(stream.try_clone().unwrap());
    write!(stream, "POST /v1/redact/batch HTTP/1.1\r\nhost: localhost\r\ncontent-type: {KIND}\r\ntransfer-encoding: chunked\r\n\r\n").unwrap();
    let mut next = |with: &str| {
        let mut line = String::new();
        while !line.contains(with) {
            line.clear();
            assert!(
                answers.read_line(&mut line).unwrap() > 0,
                "the response ended before {with}"
            );
        }
    };
    for number in 0..3 {
        let line = format!("{}\n", json!({ "doc_id": number, "text": NOTE }));
        write!(stream, "{:x}\r\n{line}\r\n", line.len()).unwrap();
        next(&format!("\"doc_id\":{number}"));
    }
    write!(stream, "0\r\n\r\n").unwrap();
    next("0\r\n");
}

#[tokio::test]
async fn a_batch_that_stops_arriving_ends_with_an_error() {
    let server = Server::start(&["--body-seconds", "1"]);
    let mut stream = server.connect();
    let line = format!("{}\n", json!({ "doc_id": 1, "text": NOTE }));
    write!(
        stream,
        "POST /v1/redact/batch HTTP/1.1\r\nhost: localhost\r\ncontent-type: {KIND}\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{line}\r\n",
        line.len()
    )
    .unwrap();
    let answer = BufReader::new(stream).lines().map_while(Result::ok);
    let last = answer.filter(|line| line.starts_with('{')).last().unwrap();
    let last: Value = serde_json::from_str(&last).unwrap();
    assert_eq!((&last["line"], &last["code"]), (&json!(2), &json!("too_slow")));
}
