//! Limits on size, time and number of requests.

use std::io::{Read as _, Write as _};
use std::time::{Duration, Instant};

use serde_json::json;

use super::{NOTE, Place, Server, TIMEOUT, answer, program};

#[tokio::test]
async fn a_body_over_the_limit_gets_413_and_the_largest_one_200() {
    let server = Server::start(&["--max-body-bytes", "4096"]);
    let of = |bytes: usize| {
        let empty = json!({ "text": "" }).to_string().len();
        json!({ "text": "a".repeat(bytes - empty) })
    };
    assert_eq!(server.post("/v1/redact", &of(4096)).await.0, 200);
    for bytes in [4097, 3 << 20] {
        for path in ["/v1/redact", "/v1/annotate", "/analyze", "/anonymize"] {
            let (status, body) = server.post(path, &of(bytes)).await;
            assert_eq!(
                (status, &body["code"]),
                (413, &json!("too_large")),
                "{path} {bytes}"
            );
            assert!(body["error"].as_str().unwrap().contains("4096 bytes"), "{body}");
        }
    }
    // Without a length, and with one that lies in the future of the client.
    let chunked = server.exchange(
        format!("POST /analyze HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n1001\r\n{}\r\n0\r\n\r\n", "a".repeat(4097)).as_bytes(),
    );
    assert!(chunked.starts_with("HTTP/1.1 413"), "{chunked}");
    let waiting = server.exchange(b"POST /analyze HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nexpect: 100-continue\r\ncontent-length: 4097\r\n\r\n");
    assert!(waiting.starts_with("HTTP/1.1 413"), "{waiting}");
}

#[tokio::test]
async fn a_slow_body_gets_408() {
    let server = Server::start(&["--body-seconds", "1"]);
    for path in ["/v1/redact", "/anonymize"] {
        let answer = server.exchange(
            format!("POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{{\"text\": \"Quill").as_bytes(),
        );
        assert!(
            answer.starts_with("HTTP/1.1 408") && answer.contains("too_slow"),
            "{answer}"
        );
        assert!(!answer.contains("Quill"), "{answer}");
    }
}

#[tokio::test]
async fn a_request_over_the_limit_of_requests_gets_503_until_another_one_ends() {
    let server = Server::start(&["--concurrency", "1", "--body-seconds", "600"]);
    let body = json!({ "text": NOTE }).to_string();
    let mut slow = server.connect();
    write!(
        slow,
        "POST /v1/redact HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\nexpect: 100-continue\r\ncontent-length: {}\r\n\r\n",
        body.len()
    )
    .unwrap();
    // The server asks for the body once the request has its place.
    let mut asked = [0; b"HTTP/1.1 100 Continue\r\n\r\n".len()];
    slow.read_exact(&mut asked).unwrap();
    assert_eq!(&asked, b"HTTP/1.1 100 Continue\r\n\r\n");
    let ask = async || {
        let request = server.request("/v1/redact", "application/json", body.clone());
        request.send().await.unwrap()
    };
    let refused = ask().await;
    assert_eq!(refused.status(), 503);
    assert!(refused.headers().contains_key("retry-after"));
    slow.write_all(body.as_bytes()).unwrap();
    let mut answer = String::new();
    slow.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    // The place is free a moment after the response.
    let until = Instant::now() + TIMEOUT;
    while ask().await.status() != 200 {
        assert!(Instant::now() < until, "the place is never free");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn two_hundred_requests_at_the_same_time_are_all_answered() {
    let server = Server::start(&[]);
    let body = json!({ "text": NOTE }).to_string();
    let requests = (0..200).map(|_| answer(server.request("/v1/redact", "application/json", body.clone())));
    let answers = futures::future::join_all(requests).await;
    let (_, first) = &answers[0];
    assert!(
        answers
            .iter()
            .all(|(status, body)| *status == 200 && body == first)
    );
}

#[test]
fn memory_that_no_batch_would_fit_in_is_refused() {
    let options = [
        "--body-memory-mib",
        "4",
        "--threads",
        "2",
        "--listen",
        "127.0.0.1:0",
    ];
    let ended = program(&Place::new(), &options).end().expect(2);
    assert!(
        ended.err.contains("--body-memory-mib") && ended.err.contains("9 MiB"),
        "{}",
        ended.err
    );
}

#[tokio::test]
async fn what_is_no_request_of_an_endpoint_is_refused() {
    let server = Server::start(&[]);
    let ask = async |path: &str, kind: &str, body: &str| {
        let (status, body) = answer(server.request(path, kind, body.to_owned())).await;
        (status, body["code"].as_str().unwrap().to_owned())
    };
    let refused = |status, code: &str| (status, code.to_owned());
    let form = "application/x-www-form-urlencoded";
    assert_eq!(
        ask("/v1/redact", form, "{}").await,
        refused(415, "wrong_content_type")
    );
    assert_eq!(
        ask("/v1/redact/batch", "application/json", "{}").await,
        refused(415, "wrong_content_type")
    );
    assert_eq!(
        ask("/v1/redact", "application/json", "{").await,
        refused(400, "invalid_document")
    );
    assert_eq!(
        ask("/v1/redact", "application/json", "{}").await,
        refused(422, "invalid_document")
    );
    assert_eq!(
        ask("/analyze", "application/json", "{").await,
        refused(400, "invalid_json")
    );
    assert_eq!(
        ask("/health", "application/json", "{}").await,
        refused(405, "wrong_method")
    );
}
