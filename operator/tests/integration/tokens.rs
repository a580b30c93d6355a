//! Bearer tokens (OAUTHBEARER) against a real Kafka that verifies their signatures and ends a connection when
//! its token expires.

#![allow(clippy::unwrap_used, reason = "test helpers may panic, as tests may")]

use crate::common;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use common::checks::until_rows;
use common::dataset::Dataset;
use common::idp::Idp;
use common::kafka::Topic;
use common::notes::{event, events};
use common::process::{Lethe, TIMEOUT};
use common::servers::Server;
use common::{Place, folder_sink, quoted};

const ROLL: &str = "roll = { max_age_seconds = 0.5, max_idle_seconds = 0.5 }\n";

fn token(broker: &Server, more: &[&str]) -> String {
    let arguments: Vec<&str> = ["token"].iter().chain(more).copied().collect();
    broker.tell(&arguments).trim().to_owned()
}

/// Writes a token to a file atomically, as a kubelet does.
fn put(path: &Path, token: &str) {
    let replacement = path.with_extension("new");
    std::fs::write(&replacement, token).unwrap();
    std::fs::rename(replacement, path).unwrap();
}

/// Writes a configuration that reads a topic through the broker's listener for tokens.
fn configure(place: &Place, broker: &Server, topic: &Topic, tokens: &str) -> PathBuf {
    let source = topic
        .source()
        .replace(&topic.brokers, broker.get("TOKEN_BOOTSTRAP"));
    let security = format!(
        "[source.security]\nprotocol = \"oauthbearer\"\nca = {:?}\ntoken = {tokens}\n",
        broker.get("CA")
    );
    let sink = folder_sink(&place.at("out"));
    place.write("lethe.toml", source + &security + &sink + ROLL)
}

fn of_file(path: &Path) -> String {
    format!("{{ kind = \"file\", path = {} }}", quoted(path))
}

fn of_endpoint(url: &str, secret: &Path, ca: &str) -> String {
    format!(
        "{{ kind = \"endpoint\", url = {url:?}, client_id = \"lethe\", client_secret_file = {}, scope = \"kafka\", ca = {ca:?}, \
         parameters = {{ audience = \"brokers\" }} }}",
        quoted(secret)
    )
}

/// Asserts that the output has no part of a token.
#[track_caller]
fn assert_silent(output: &str, tokens: &[String]) {
    for token in tokens {
        for part in token.split('.').skip(1) {
            assert!(!output.contains(part), "a token stands in:\n{output}");
        }
    }
}

#[test]
fn a_token_in_a_file_is_renewed_before_it_ends_and_one_that_ended_is_waited_for() {
    let broker = Server::kafka(&["--secure"]);
    let topic = Topic::at(broker.get("BOOTSTRAP"), "file", 2);
    topic.fill(events(100));
    let place = Place::new();
    let out = place.at("out");
    let path = place.at("token");
    let renewed = |seconds: &str| {
        let token = token(&broker, &["lethe", seconds]);
        put(&path, &token);
        token
    };
    let mut tokens = vec![renewed("15")];
    let config = configure(&place, &broker, &topic, &of_file(&path));
    let mut running = Lethe::run(&config).start();
    // The start of a busy machine takes longer than a token lasts.
    let began = Instant::now();
    while Dataset::read(&out).rows().len() < 100 {
        assert!(running.lives(), "it ended: {}", running.err());
        assert!(began.elapsed() < TIMEOUT, "no rows:\n{}", running.err());
        std::thread::sleep(Duration::from_secs(4));
        tokens.push(renewed("15"));
    }

    tokens.push(renewed("45"));
    std::thread::sleep(Duration::from_secs(16));
    topic.fill((100..200).map(event));
    until_rows(&out, 200, &mut running);
    assert!(!running.err().contains("no new token"), "{}", running.err());

    running.until_it_says("no new token", TIMEOUT);
    std::thread::sleep(Duration::from_secs(5));
    topic.fill((200..300).map(event));
    tokens.push(renewed("3600"));
    until_rows(&out, 300, &mut running);
    running.signal("TERM");
    let ended = running.wait(TIMEOUT).expect(0);
    assert!(ended.err.contains("expired"), "{}", ended.err);
    assert_silent(&ended.err, &tokens);
    Dataset::read(&out).assert_exactly(&out, &topic.offsets());
}

#[test]
fn a_token_that_the_brokers_refuse_ends_the_run_promptly_and_is_not_shown() {
    let broker = Server::kafka(&["--secure"]);
    let topic = Topic::at(broker.get("BOOTSTRAP"), "refused", 1);
    let place = Place::new();
    let path = place.at("token");
    let config = configure(&place, &broker, &topic, &of_file(&path));
    for (given, told) in [
        (vec!["lethe", "600", "--foreign"], "the brokers refused the login"),
        (vec!["lethe", "-60"], "check the program that renews it"),
        (vec!["nobody", "600"], "refuse topic"),
    ] {
        let token = token(&broker, &given);
        put(&path, &token);
        let ended = Lethe::run(&config).end().expect(1).says(told);
        assert_silent(&ended.err, &[token]);
    }
    std::fs::remove_file(&path).unwrap();
    Lethe::run(&config).end().expect(1).says(path.to_str().unwrap());
}

#[test]
fn an_endpoint_gives_tokens_for_a_secret_that_may_change_while_the_stream_goes_on() {
    let broker = Server::kafka(&["--secure"]);
    let idp = Idp::start(Path::new(broker.get("DIR")), "s3cr3t one%+", 12);
    let topic = Topic::at(broker.get("BOOTSTRAP"), "endpoint", 2);
    topic.fill(events(100));
    let place = Place::new();
    let out = place.at("out");
    let secret = place.write("secret", "not this one\n");
    let config = configure(
        &place,
        &broker,
        &topic,
        &of_endpoint(&idp.url(), &secret, broker.get("CA")),
    );
    let ended = Lethe::run(&config)
        .end()
        .expect(1)
        .says("invalid_client")
        .says("secret");
    assert!(
        !ended.err.contains("not this one") && !ended.err.contains("not that one"),
        "{}",
        ended.err
    );

    // In form encoding: the secret is what the server decodes.
    idp.expect("s3cr3t+one%25%2B");
    std::fs::write(&secret, "s3cr3t one%+\n").unwrap();
    let mut running = Lethe::run(&config).start();
    until_rows(&out, 100, &mut running);
    let before = idp.given().len();
    idp.expect("another");
    std::fs::write(&secret, "another\n").unwrap();
    std::thread::sleep(Duration::from_secs(15));
    topic.fill((100..200).map(event));
    until_rows(&out, 200, &mut running);
    assert!(idp.given().len() > before, "the token lasts 12 s");

    idp.expect("a third, which the file does not have yet");
    let refused = idp.refused();
    running.until_it_says("no new token", TIMEOUT);
    assert!(idp.refused() > refused);
    std::fs::write(&secret, "a+third,+which").unwrap();
    idp.expect("a%2Bthird%2C%2Bwhich");
    topic.fill((200..300).map(event));
    until_rows(&out, 300, &mut running);
    running.signal("TERM");
    let ended = running.wait(TIMEOUT).expect(0);
    assert_silent(&ended.err, &idp.given());
    assert!(
        !ended.err.contains("another") && !ended.err.contains("third"),
        "{}",
        ended.err
    );
    Dataset::read(&out).assert_exactly(&out, &topic.offsets());
}

#[test]
fn an_endpoint_that_is_away_is_waited_for_and_one_that_is_not_trusted_is_told() {
    let broker = Server::kafka(&["--secure"]);
    let topic = Topic::at(broker.get("BOOTSTRAP"), "away", 1);
    let place = Place::new();
    let secret = place.write("secret", "s");
    // Nothing listens on a port that was free a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let url = format!("https://localhost:{port}/token");
    let config = configure(
        &place,
        &broker,
        &topic,
        &of_endpoint(&url, &secret, broker.get("CA")),
    );
    let mut running = Lethe::run(&config).start();
    running.until_it_says("trying again in", TIMEOUT);
    assert!(
        running.err().contains("token endpoint https://localhost"),
        "{}",
        running.err()
    );
    drop(running);

    let idp = Idp::start(Path::new(broker.get("DIR")), "s", 60);
    let foreign = Server::kafka(&["--secure"]);
    let config = configure(
        &place,
        &broker,
        &topic,
        &of_endpoint(&idp.url(), &secret, foreign.get("CA")),
    );
    let mut running = Lethe::run(&config).start();
    running.until_it_says("certificate", TIMEOUT);
    assert_eq!(idp.given().len(), 0);
}

#[test]
fn messages_are_emitted_by_a_login_with_tokens_and_after_one_has_ended() {
    let broker = Server::kafka(&["--secure"]);
    let (input, output) = (
        Topic::at(broker.get("BOOTSTRAP"), "in", 1),
        Topic::at(broker.get("BOOTSTRAP"), "out", 1),
    );
    let place = Place::new();
    let path = place.at("token");
    put(&path, &token(&broker, &["lethe", "12"]));
    let message = |number: usize| {
        format!(
            "MSH|^~\\&|A|B|C|D|20240315083000||ORU^R01|C-{number}|P|2.5.1\rPID|1||77{number:04}^^^NG^MR||Okafor^Tobias\r\
             OBX|1|TX|11506-3^Progress note^LN|1|Mr Okafor was seen.||||||F\r"
        )
    };
    let config = configure(&place, &broker, &input, &of_file(&path));
    let text = std::fs::read_to_string(&config).unwrap();
    let emit = format!(
        "[format]\nkind = \"hl7v2\"\nkeep_message = true\n[emit]\nkind = \"kafka\"\nbrokers = [{:?}]\ntopic = {:?}\ngroup = \"e-{}\"\n\
         security = {{ protocol = \"oauthbearer\", ca = {:?}, token = {} }}\n",
        broker.get("TOKEN_BOOTSTRAP"),
        output.name,
        output.name,
        broker.get("CA"),
        of_file(&path)
    );
    std::fs::write(&config, text + &emit).unwrap();
    let running = Lethe::run(&config).start();
    let mut emitting = Lethe::new(["emit", "-c", config.to_str().unwrap()]).start();
    input.fill((0..20).map(message));
    // The end of a transaction takes an offset too. The start of a busy machine takes longer than a token lasts.
    let began = Instant::now();
    while output.watermarks()[&0].1 < 21 {
        assert!(emitting.lives(), "it ended: {}", emitting.err());
        assert!(began.elapsed() < TIMEOUT, "not emitted:\n{}", emitting.err());
        std::thread::sleep(Duration::from_secs(3));
        put(&path, &token(&broker, &["lethe", "12"]));
    }
    put(&path, &token(&broker, &["lethe", "600"]));
    std::thread::sleep(Duration::from_secs(15));
    input.fill((20..40).map(message));
    let began = Instant::now();
    while output.watermarks()[&0].1 < 42 {
        assert!(emitting.lives(), "it ended: {}", emitting.err());
        assert!(
            began.elapsed() < TIMEOUT,
            "not emitted; it said:\n{}",
            emitting.err()
        );
        std::thread::sleep(Duration::from_millis(100));
    }
    emitting.signal("TERM");
    emitting.wait(TIMEOUT).expect(0);
    running.signal("TERM");
    running.wait(TIMEOUT).expect(0);
}
