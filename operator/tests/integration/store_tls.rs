//! A store over TLS with a certificate of a private authority.

#![allow(clippy::unwrap_used, reason = "test helpers may panic, as tests may")]

use crate::common;

use common::kafka::Topic;
use common::notes::events;
use common::process::Lethe;
use common::servers::Server;
use common::{Place, quoted};

#[test]
fn a_store_of_a_private_authority_is_reached_where_its_file_is_named_and_not_otherwise() {
    let store = Server::s3(&["--secure"]);
    let topic = Topic::new("store-tls", 2);
    topic.fill(events(50));
    let place = Place::new();
    let keys = format!(
        "access_key = {:?}\nsecret_key = {:?}\nretries = 0\n",
        store.get("ACCESS_KEY"),
        store.get("SECRET_KEY")
    );
    let config = |more: &str| {
        place.write(
            "lethe.toml",
            topic.source() + &store.as_store("tls", &format!("{keys}{more}")),
        )
    };
    Lethe::through(&config(""))
        .end()
        .expect(1)
        .says("certificate is not from a trusted authority")
        .says("`ca`");

    let wrong = place.write("not-a-ca.pem", "hush");
    Lethe::through(&config(&format!("ca = {}\n", quoted(&wrong))))
        .end()
        .expect(1)
        .says("not-a-ca.pem")
        .says("no certificate in PEM");

    let right = config(&format!("ca = {:?}\n", store.get("CA")));
    Lethe::through(&right).end().expect(0);
    let report = Lethe::new([
        "inspect".as_ref(),
        "--json".as_ref(),
        "-c".as_ref(),
        right.as_os_str(),
    ])
    .end()
    .expect(0);
    let report: serde_json::Value = serde_json::from_str(&report.out).unwrap();
    let notes: u64 = report["chains"]
        .as_array()
        .unwrap()
        .iter()
        .map(|chain| chain["notes"].as_u64().unwrap())
        .sum();
    assert_eq!(notes, 50);
}
