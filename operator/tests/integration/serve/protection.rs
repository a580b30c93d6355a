//! Who may use a server: tokens, certificates of clients, and the address it listens on.

use std::path::{Path, PathBuf};

use reqwest::{Certificate, Client, Identity};

use super::{Place, Server, client, program};
use crate::common::process::system;

const TOKEN: &str = "0123456789abcdef-first";

#[tokio::test]
async fn only_requests_with_a_token_are_answered() {
    let place = Place::new();
    let tokens = place.write("tokens", format!("{TOKEN}\nfedcba9876543210-second\n"));
    let tokens = tokens.to_str().unwrap().to_owned();
    let server = Server::start_in(place, &["--token-file", &tokens], client());
    let ask = async |value: Option<&str>| {
        let mut request = server.client.get(format!("{}/supportedentities", server.base));
        if let Some(value) = value {
            request = request.header("authorization", value);
        }
        let response = request.send().await.unwrap();
        (
            response.status().as_u16(),
            response.headers().contains_key("www-authenticate"),
        )
    };
    assert_eq!(ask(None).await, (401, true));
    assert_eq!(ask(Some("Bearer 0123456789abcdef-firsT")).await, (401, true));
    assert_eq!(ask(Some(TOKEN)).await, (401, true));
    assert_eq!(ask(Some(&format!("Bearer {TOKEN}"))).await, (200, false));
    assert_eq!(ask(Some("Bearer fedcba9876543210-second")).await, (200, false));
    assert_eq!(server.get("/health").await.0, 200);
    let log = server.stop().err;
    assert!(
        !log.contains("0123456789abcdef") && !log.contains("fedcba"),
        "{log}"
    );
}

#[test]
fn an_address_that_other_machines_reach_is_refused_without_protection() {
    let place = Place::new();
    let ended = program(&place, &["--listen", "0.0.0.0:0"]).end().expect(2);
    for option in ["--token-file", "--client-ca", "127.0.0.1"] {
        assert!(ended.err.contains(option), "{}", ended.err);
    }
    let certificates = Certificates::new(place.path());
    let (certificate, key) = (certificates.path("server.pem"), certificates.path("server.key"));
    let tls = [
        "--tls-cert",
        &certificate,
        "--tls-key",
        &key,
        "--listen",
        "0.0.0.0:0",
    ];
    program(&place, &tls).end().expect(2).says("--client-ca");
    let empty = place.write("tokens", "\n");
    let options = ["--listen", "0.0.0.0:0", "--token-file", empty.to_str().unwrap()];
    program(&place, &options).end().expect(2).says("has no token");
    let tokens = place.write("tokens", format!("{TOKEN}\n"));
    let options = ["--listen", "0.0.0.0:0", "--token-file", tokens.to_str().unwrap()];
    let mut running = program(&place, &options).start();
    running.until_it_says("clear text", crate::common::process::TIMEOUT);
    running.until_it_says("serving on", crate::common::process::TIMEOUT);
}

#[tokio::test]
async fn a_page_of_another_host_cannot_use_an_open_server() {
    let server = Server::start(&[]);
    let request = server.client.get(format!("{}/supportedentities", server.base));
    let response = request.header("host", "notes.example").send().await.unwrap();
    assert_eq!(response.status(), 403);
}

/// An authority, and certificates of a server and of clients, made with OpenSSL.
struct Certificates(PathBuf);

impl Certificates {
    fn new(folder: &Path) -> Self {
        let own = Self(folder.to_owned());
        own.authority("ca");
        own.authority("other");
        own.issue("server", "ca");
        own.issue("client", "ca");
        own.issue("stranger", "other");
        own
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.0.join(name)).unwrap()
    }

    fn authority(&self, name: &str) {
        let (key, pem, subject) = (
            self.path(&format!("{name}.key")),
            self.path(&format!("{name}.pem")),
            format!("/CN={name}"),
        );
        system(
            "openssl",
            [
                "req",
                "-x509",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:P-256",
                "-nodes",
                "-days",
                "2",
                "-keyout",
                &key,
                "-out",
                &pem,
                "-subj",
                &subject,
            ],
        );
    }

    fn issue(&self, name: &str, by: &str) {
        let at = |end: &str| self.path(&format!("{name}.{end}"));
        let (key, request, pem, extensions) = (at("key"), at("csr"), at("pem"), at("ext"));
        std::fs::write(&extensions, "subjectAltName=IP:127.0.0.1,DNS:localhost\n").unwrap();
        let subject = format!("/CN={name}");
        system(
            "openssl",
            [
                "req",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:P-256",
                "-nodes",
                "-keyout",
                &key,
                "-out",
                &request,
                "-subj",
                &subject,
            ],
        );
        let (authority, authority_key) = (self.path(&format!("{by}.pem")), self.path(&format!("{by}.key")));
        system(
            "openssl",
            [
                "x509",
                "-req",
                "-in",
                &request,
                "-CA",
                &authority,
                "-CAkey",
                &authority_key,
                "-CAcreateserial",
                "-days",
                "2",
                "-extfile",
                &extensions,
                "-out",
                &pem,
            ],
        );
    }

    /// Returns a client that trusts the authority, with a certificate of its own if it has one.
    fn client(&self, name: Option<&str>) -> Client {
        let trusted = Certificate::from_pem(&self.bytes("ca.pem")).unwrap();
        let mut builder = Client::builder().no_proxy().add_root_certificate(trusted);
        if let Some(name) = name {
            let both = [
                self.bytes(&format!("{name}.key")),
                self.bytes(&format!("{name}.pem")),
            ]
            .concat();
            builder = builder.identity(Identity::from_pem(&both).unwrap());
        }
        builder.build().unwrap()
    }
}

#[tokio::test]
async fn only_clients_with_a_certificate_of_the_authority_are_answered() {
    let place = Place::new();
    let certificates = Certificates::new(place.path());
    let paths = ["server.pem", "server.key", "ca.pem"].map(|name| certificates.path(name));
    let [certificate, key, authority] = &paths;
    let options = [
        "--tls-cert",
        certificate,
        "--tls-key",
        key,
        "--client-ca",
        authority,
    ];
    let server = Server::start_in(place, &options, certificates.client(Some("client")));
    assert!(server.base.starts_with("https://"), "{}", server.base);
    let (status, body) = server
        .post("/v1/redact", &serde_json::json!({ "text": super::NOTE }))
        .await;
    assert_eq!(status, 200, "{body}");
    let url = format!("{}/health", server.base);
    for stranger in [certificates.client(None), certificates.client(Some("stranger"))] {
        assert!(stranger.get(&url).send().await.is_err());
    }
    // Without TLS there is no answer at all.
    let plain = url.replace("https:", "http:");
    assert!(client().get(plain).send().await.is_err());
}
