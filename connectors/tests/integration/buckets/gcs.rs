//! A fake of the part of Google Cloud Storage's XML API that a store needs. No emulator in a package registry has it:
//! fake-gcs-server 1.56 ignores `x-goog-if-generation-match` there, and gcp-storage-emulator has only the JSON API.
//!
//! It follows <https://cloud.google.com/storage/docs/xml-api>: strongly consistent, with generations, conditional writes,
//! ranges, and listings in byte order in pages. Every object was written at the same moment.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use sha2::{Digest as _, Sha256};

/// Names per page of a listing. Google's is 1,000.
const PAGE: usize = 20;

/// A server with the bucket `bucket`; `creator`, the same bucket for an identity that may only create and read; and
/// `denied`, which refuses every request.
pub struct FakeGcs {
    pub endpoint: String,
    stopped: Arc<AtomicBool>,
}

#[derive(Default)]
struct Bucket {
    objects: BTreeMap<String, (Bytes, u64)>,
    generations: u64,
}

struct Request {
    method: String,
    path: String,
    query: BTreeMap<String, String>,
    headers: BTreeMap<String, String>,
    body: Bytes,
}

struct Response {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Bytes,
}

impl FakeGcs {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let stopped = Arc::new(AtomicBool::new(false));
        let (bucket, stop) = (Arc::new(Mutex::new(Bucket::default())), Arc::clone(&stopped));
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if stop.load(Ordering::SeqCst) {
                    return;
                }
                let bucket = Arc::clone(&bucket);
                // A client that closed its connection does not concern the server.
                std::thread::spawn(move || drop(serve(client, &bucket)));
            }
        });
        Self { endpoint, stopped }
    }
}

impl Drop for FakeGcs {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::SeqCst);
        // Ends the wait for the next client.
        drop(TcpStream::connect(self.endpoint.trim_start_matches("http://")));
    }
}

fn serve(mut client: TcpStream, bucket: &Mutex<Bucket>) -> std::io::Result<()> {
    let Some(request) = Request::read(&mut client)? else {
        return Ok(());
    };
    let response = bucket.lock().unwrap().answer(&request);
    let mut head = format!("HTTP/1.1 {} Status\r\nConnection: close\r\n", response.status);
    for (name, value) in &response.headers {
        write!(head, "{name}: {value}\r\n").unwrap();
    }
    if !response.headers.iter().any(|(name, _)| *name == "Content-Length") {
        write!(head, "Content-Length: {}\r\n", response.body.len()).unwrap();
    }
    client.write_all(format!("{head}\r\n").as_bytes())?;
    client.write_all(&response.body)
}

impl Request {
    fn read(client: &mut TcpStream) -> std::io::Result<Option<Self>> {
        let (mut read, mut buffer) = (Vec::new(), [0; 65536]);
        let head = loop {
            let count = client.read(&mut buffer)?;
            if count == 0 {
                return Ok(None);
            }
            read.extend_from_slice(&buffer[..count]);
            if let Some(end) = read.windows(4).position(|window| window == b"\r\n\r\n") {
                break end + 4;
            }
        };
        let text = String::from_utf8_lossy(&read[..head]).into_owned();
        let mut lines = text.lines();
        let mut first = lines.next().unwrap_or_default().split(' ');
        let (method, target) = (first.next().unwrap_or_default(), first.next().unwrap_or_default());
        let headers: BTreeMap<_, _> = lines
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
            .collect();
        let length = headers
            .get("content-length")
            .map_or(0, |length| length.parse().unwrap());
        while read.len() < head + length {
            let count = client.read(&mut buffer)?;
            if count == 0 {
                return Ok(None);
            }
            read.extend_from_slice(&buffer[..count]);
        }
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        Ok(Some(Self {
            method: method.to_owned(),
            path: path.trim_start_matches('/').to_owned(),
            query: pairs
                .map(|(key, value)| (key.to_owned(), decoded(&value.replace('+', " "))))
                .collect(),
            headers,
            body: Bytes::from(read).slice(head..),
        }))
    }
}

impl Bucket {
    fn answer(&mut self, request: &Request) -> Response {
        let (bucket, key) = request.path.split_once('/').unwrap_or((&request.path, ""));
        let key = decoded(key);
        let overwrites = self.objects.contains_key(&key) && ["PUT", "DELETE"].contains(&&*request.method);
        match (bucket, request.method.as_str()) {
            ("denied", _) => refusal(403, "AccessDenied"),
            ("creator", _) if overwrites => refusal(403, "AccessDenied"),
            ("bucket" | "creator", "GET") if key.is_empty() => self.list(&request.query),
            ("bucket" | "creator", "PUT") => self.put(key, request),
            ("bucket" | "creator", "GET" | "HEAD") => self.get(&key, request),
            ("bucket", "DELETE") => match self.objects.remove(&key) {
                Some(_) => Response {
                    status: 204,
                    headers: Vec::new(),
                    body: Bytes::new(),
                },
                None => refusal(404, "NoSuchKey"),
            },
            ("bucket" | "creator", _) => refusal(405, "MethodNotAllowed"),
            _ => refusal(404, "NoSuchBucket"),
        }
    }

    fn put(&mut self, key: String, request: &Request) -> Response {
        let current = self.objects.get(&key).map_or(0, |(_, generation)| *generation);
        let wanted = request.headers.get("x-goog-if-generation-match");
        if wanted.is_some_and(|wanted| wanted.parse() != Ok(current)) {
            return refusal(412, "PreconditionFailed");
        }
        self.generations += 1;
        let headers = described(&request.body, self.generations);
        self.objects.insert(key, (request.body.clone(), self.generations));
        Response {
            status: 200,
            headers,
            body: Bytes::new(),
        }
    }

    fn get(&self, key: &str, request: &Request) -> Response {
        let Some((bytes, generation)) = self.objects.get(key) else {
            return refusal(404, "NoSuchKey");
        };
        let mut headers = described(bytes, *generation);
        let size = bytes.len();
        let range = request
            .headers
            .get("range")
            .and_then(|range| range.strip_prefix("bytes="));
        let (status, body) = match range.and_then(|range| range.split_once('-')) {
            None => (200, bytes.clone()),
            Some((from, to)) => {
                let range = match (from.parse::<usize>(), to.parse::<usize>()) {
                    (Err(_), Ok(last)) => size.saturating_sub(last)..size,
                    (Ok(from), Err(_)) => from..size,
                    (Ok(from), Ok(to)) => from..size.min(to + 1),
                    (Err(_), Err(_)) => return refusal(400, "InvalidArgument"),
                };
                if range.start >= range.end {
                    return refusal(416, "InvalidRange");
                }
                headers.push((
                    "Content-Range",
                    format!("bytes {}-{}/{size}", range.start, range.end - 1),
                ));
                (206, bytes.slice(range))
            }
        };
        if request.method == "HEAD" {
            headers.push(("Content-Length", body.len().to_string()));
            return Response {
                status,
                headers,
                body: Bytes::new(),
            };
        }
        Response {
            status,
            headers,
            body,
        }
    }

    fn list(&self, query: &BTreeMap<String, String>) -> Response {
        let of = |key: &str| query.get(key).map_or("", String::as_str);
        let prefix = of("prefix");
        let after = of("start-after").max(of("continuation-token"));
        let (mut body, mut listed, mut last, mut folders) = (String::new(), 0, None, Vec::new());
        let found = self
            .objects
            .iter()
            .filter(|(key, _)| key.starts_with(prefix) && key.as_str() > after);
        for (key, (bytes, _)) in found {
            let folder = match of("delimiter") {
                "" => None,
                delimiter => key.strip_prefix(prefix).and_then(|rest| {
                    let end = prefix.len() + rest.find(delimiter)? + delimiter.len();
                    key.get(..end)
                }),
            };
            // All names of a folder are one item, also of a later page.
            if folder.is_some_and(|folder| folders.contains(&folder) || after.starts_with(folder)) {
                last = Some(key).filter(|_| listed > 0);
                continue;
            }
            if listed == PAGE {
                let token = escaped(last.unwrap());
                write!(
                    body,
                    "<IsTruncated>true</IsTruncated><NextContinuationToken>{token}</NextContinuationToken>"
                )
                .unwrap();
                break;
            }
            listed += 1;
            last = Some(key);
            match folder {
                Some(folder) => {
                    folders.push(folder);
                    write!(body, "<CommonPrefixes><Prefix>{}</Prefix></CommonPrefixes>", escaped(folder)).unwrap();
                }
                None => write!(
                    body,
                    "<Contents><Key>{}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>{}</ETag><Size>{}</Size></Contents>",
                    escaped(key),
                    tag(bytes),
                    bytes.len()
                )
                .unwrap(),
            }
        }
        let body =
            format!("<?xml version='1.0' encoding='UTF-8'?><ListBucketResult>{body}</ListBucketResult>");
        Response {
            status: 200,
            headers: Vec::new(),
            body: body.into(),
        }
    }
}

fn described(bytes: &[u8], generation: u64) -> Vec<(&'static str, String)> {
    vec![
        ("ETag", tag(bytes)),
        ("x-goog-generation", generation.to_string()),
        ("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT".to_owned()),
    ]
}

fn tag(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    let hex: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    format!("\"{hex}\"")
}

fn refusal(status: u16, code: &str) -> Response {
    let body = format!(
        "<?xml version='1.0' encoding='UTF-8'?><Error><Code>{code}</Code><Message>No.</Message></Error>"
    );
    Response {
        status,
        headers: Vec::new(),
        body: body.into(),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

fn decoded(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let [first, more @ ..] = rest {
        let code = more
            .get(..2)
            .filter(|_| *first == b'%')
            .and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &more[2..];
            }
            None => {
                bytes.push(*first);
                rest = more;
            }
        }
    }
    String::from_utf8(bytes).unwrap()
}
