//! Iceberg tables of a real REST catalogue, with other writers, kills and a login.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may fail")]

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::Value;

use crate::common::Site;
use crate::crashes::schedule;
use crate::iceberg::{due, pyiceberg};

fn url() -> String {
    std::env::var("LETHE_TEST_CATALOGUE").expect(
        "LETHE_TEST_CATALOGUE is not set: run this test with scripts/test, or under scripts/with-servers",
    )
}

/// Returns the name of a table that no other test has.
fn new_name(test: &str) -> String {
    format!("lake.{test}_{}", uuid::Uuid::new_v4().simple())
}

fn program(site: &Site, name: &str) -> Command {
    program_at(site, name, &url())
}

/// Publishes to a table of the catalogue at this address.
fn program_at(site: &Site, name: &str, address: &str) -> Command {
    let mut program = site.publisher();
    program.args(["--iceberg", name, "--catalog", address]);
    program
}

fn rows(name: &str) -> Value {
    pyiceberg(&["rows", &format!("{}={name}", url())])[0].clone()
}

#[test]
fn several_publishers_and_a_foreign_writer_add_each_row_of_a_catalogue_s_table_once() {
    let site = Site::new();
    let name = new_name("writers");
    site.append(0, 0..1);
    assert!(program(&site, &name).status().unwrap().success());
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let output = program(&site, &name).output().unwrap();
                    let err = String::from_utf8_lossy(&output.stderr);
                    assert!(output.status.success(), "{err}");
                }
            });
        }
        for number in 0..3 {
            for file in number * 3 + 1..number * 3 + 4 {
                site.append(0, file..file + 1);
            }
            pyiceberg(&["append", &format!("{}={name}", url()), &number.to_string()]);
        }
        done.store(true, Ordering::Relaxed);
    });
    assert!(program(&site, &name).status().unwrap().success());
    let mut expected = due(&[(0, 10)]);
    let foreign = (0..3).map(|number| serde_json::json!(["foreign", 0, number, 0]));
    expected.as_array_mut().unwrap().extend(foreign);
    let mut found = rows(&name);
    for rows in [&mut expected, &mut found] {
        rows.as_array_mut().unwrap().sort_by_key(ToString::to_string);
    }
    assert_eq!(found, expected);
}

#[test]
fn a_program_killed_anywhere_adds_each_row_of_a_catalogue_s_table_once() {
    let points = [
        "table_created",
        "files_found",
        "manifest_written",
        "manifest_list_written",
        "committed",
    ];
    let tables = points.map(|point| {
        let site = Site::new();
        let name = new_name(point);
        let crashed = schedule(&site, 5, &|| program(&site, &name), (point, 1), "");
        assert!(crashed, "{point} was never passed");
        // The files are read below.
        (site, format!("{}={name}", url()))
    });
    // One process reads them all, since it takes a second to start.
    let mut arguments = vec!["rows"];
    arguments.extend(tables.iter().map(|(_, name)| name.as_str()));
    for table in pyiceberg(&arguments).as_array().unwrap() {
        assert_eq!(*table, due(&[(0, 10), (1, 5)]));
    }
}

#[test]
fn a_client_gets_a_token_with_its_credential() {
    let site = Site::new();
    site.append(0, 0..2);
    let name = new_name("login");
    let mut with_login = program(&site, &name);
    // The catalogue refuses a grant other than that of a client's credential.
    let output = with_login
        .env("LETHE_CATALOG_CREDENTIAL", "catalog:secret")
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(rows(&name), due(&[(0, 2)]));
}

#[test]
fn an_address_without_a_catalogue_is_an_error_that_names_it() {
    let site = Site::new();
    site.append(0, 0..2);
    for (address, code) in [("http://127.0.0.1:1", 1), ("nowhere", 2)] {
        let output = program_at(&site, "lake.notes", address).output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{err}");
        assert!(err.contains(address), "{err}");
    }
}

/// Starts a proxy that sends each change of a table twice, as one does whose first answer is lost, and returns its address.
fn repeating_proxy() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let server = url().strip_prefix("http://").unwrap().to_owned();
    // It ends with the tests.
    thread::spawn(move || {
        for client in listener.incoming() {
            let mut client = client.unwrap();
            let request = request(&mut client);
            let changes_table =
                request.starts_with(b"POST") && request.windows(8).any(|part| part == b"/tables/");
            let mut answer = Vec::new();
            for _ in 0..=u8::from(changes_table) {
                answer.clear();
                let mut upstream = TcpStream::connect(&server).unwrap();
                upstream.write_all(&request).unwrap();
                upstream.read_to_end(&mut answer).unwrap();
            }
            client.write_all(&answer).unwrap();
        }
    });
    address
}

/// Reads a request, and asks for the connection to end with its answer.
fn request(client: &mut TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut part = [0; 4096];
    loop {
        let head = bytes.windows(4).position(|part| part == b"\r\n\r\n");
        if let Some(head) = head {
            let text = String::from_utf8_lossy(&bytes[..head]).to_lowercase();
            let length = text
                .lines()
                .find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
            if bytes.len() >= head + 4 + length.unwrap_or(0) {
                bytes.splice(head..head, *b"\r\nConnection: close");
                return bytes;
            }
        }
        let read = client.read(&mut part).unwrap();
        assert!(read > 0, "the client ended within a request");
        bytes.extend_from_slice(&part[..read]);
    }
}

#[test]
fn a_commit_that_is_refused_because_a_proxy_repeated_it_stays_whole() {
    let site = Site::new();
    let (proxy, name) = (repeating_proxy(), new_name("repeated"));
    for file in 0..3 {
        site.append(0, file..file + 1);
        let output = program_at(&site, &name, &proxy).output().unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    assert_eq!(rows(&name), due(&[(0, 3)]));
}
