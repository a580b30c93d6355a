//! E-mail addresses, URLs and IP addresses that lead nowhere, with names and ranges reserved for
//! documentation.
//!
//! Hosts become example.org, example.com or example.net (RFC 2606), IPv4 addresses are in the three test
//! networks (RFC 5737), IPv6 addresses in 2001:db8::/32 (RFC 3849).

use std::net::{Ipv4Addr, Ipv6Addr};

use lethe_text::fold;

use crate::About;
use crate::draw::{Draw, Stream};
use crate::ids::{code, is_near};
use crate::names::Names;
use crate::real::solid;
use lethe_text::Case;

const TRIES: usize = 32;
const HOSTS: [&str; 3] = ["example.org", "example.com", "example.net"];

/// Returns an address whose local part follows the names in it; `None` if there is no local part.
pub(crate) fn email(names: &Names, text: &str, about: &About<'_>, draw: &dyn Draw) -> Option<String> {
    let (before, domain) = text.rsplit_once('@')?;
    // "mailto:", an opening bracket: text before the address stays.
    let cut = before.rfind([':', '<', '(', ' ']).map_or(0, |at| at + 1);
    let (front, local) = before.split_at_checked(cut)?;
    let front = if fold(front).chars().all(|c| !c.is_alphanumeric()) || front.eq_ignore_ascii_case("mailto:")
    {
        front
    } else {
        ""
    };
    let local = names.handle(local, about, draw)?;
    let host = host(domain, draw)?;
    let tail = domain.trim_start_matches(|c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_'));
    let tail = if tail.chars().any(char::is_alphanumeric) {
        ""
    } else {
        tail
    };
    let out = format!("{front}{local}@{}{tail}", host_like(domain, host));
    (fold(&out) != fold(text)).then_some(out)
}

/// Writes a host in the form of `original`. A capital at its start belongs to the sentence.
fn host_like(original: &str, host: &str) -> String {
    match Case::of(original) {
        Case::Upper => Case::Upper.apply(host),
        _ => host.to_owned(),
    }
}

/// Returns the replacement of a host, always the same for the same host.
fn host(original: &str, draw: &dyn Draw) -> Option<&'static str> {
    let folded = fold(original);
    let name = folded
        .split(['/', ':', '?', '>', ')', ' '])
        .next()
        .unwrap_or_default();
    let name = name.trim_end_matches('.');
    let mut stream = Stream::of(draw, &[b"host", name.as_bytes()]);
    let free: Vec<&str> = HOSTS
        .iter()
        .copied()
        .filter(|host| !name.contains(host))
        .collect();
    stream.pick(&free).copied()
}

/// Returns a URL with its scheme, port and layout.
pub(crate) fn url(text: &str, draw: &dyn Draw) -> Option<String> {
    let (scheme, rest) = match text.find("://") {
        Some(at) => text.split_at_checked(at + 3)?,
        None => ("", text),
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at_checked(end)?;
    if !authority.contains('.') && scheme.is_empty() {
        return None;
    }
    // "user:secret@host:8080".
    let place = authority.rsplit('@').next().unwrap_or(authority);
    let port = place.rsplit_once(':').map(|(_, port)| port);
    let port = port.filter(|port| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()));
    let host = host(place, draw)?;
    let www = if fold(place).starts_with("www.") {
        "www."
    } else {
        ""
    };
    let mut out = format!("{scheme}{www}{host}");
    if let Some(port) = port {
        out.push(':');
        out.push_str(port);
    }
    // A path may name the patient: only words that every site has stay.
    let kind = |c: char| c.is_alphanumeric();
    let mut left = path;
    while let Some(first) = left.chars().next() {
        let end = left.find(|c| kind(c) != kind(first)).unwrap_or(left.len());
        let (run, tail) = left.split_at_checked(end)?;
        left = tail;
        let common = ["html", "htm", "php", "aspx", "jsp", "pdf", "index", "id"];
        if !kind(first) || common.iter().any(|word| run.eq_ignore_ascii_case(word)) {
            out.push_str(run);
        } else {
            out.push_str(&code(run, draw)?);
        }
    }
    (out != text).then_some(out)
}

/// Returns an IP address in a documentation range, with its port or prefix length; `None` if the text is not
/// an address.
pub(crate) fn ip(text: &str, draw: &dyn Draw) -> Option<String> {
    let trimmed = text.trim();
    let v4 = |text: &str| text.parse::<Ipv4Addr>().ok();
    let cut = if trimmed.contains('.') {
        trimmed.find([':', '/'])
    } else {
        trimmed.find(['/', '%'])
    };
    let (address, tail) = trimmed.split_at_checked(cut.unwrap_or(trimmed.len()))?;
    if let Ok(address) = trimmed
        .parse::<Ipv6Addr>()
        .or_else(|_| address.parse::<Ipv6Addr>())
    {
        let mut stream = Stream::of(draw, &[b"ip", &address.octets()]);
        for _ in 0..TRIES {
            let mut groups = [0x2001, 0xdb8, 0, 0, 0, 0, 0, 0];
            // As many groups are written as the original has; the rest are zeros.
            for (new, old) in groups.iter_mut().zip(address.segments()).skip(2) {
                if old != 0 {
                    *new = 1 + stream.below(0xffff) as u16;
                }
            }
            groups[7] = 1 + stream.below(0xffff) as u16;
            let made = Ipv6Addr::from(groups);
            let tail = if trimmed.parse::<Ipv6Addr>().is_ok() {
                ""
            } else {
                tail
            };
            let out = host_like(text, &format!("{made}{tail}"));
            if made != address && !is_near(&fold(text), &out) {
                return Some(out);
            }
        }
        return None;
    }
    let address = v4(address)?;
    let mut stream = Stream::of(draw, &[b"ip", &address.octets()]);
    for _ in 0..TRIES {
        let [a, b, c] = *stream.pick(&[[192, 0, 2], [198, 51, 100], [203, 0, 113]])?;
        let made = Ipv4Addr::new(a, b, c, 1 + stream.below(254) as u8);
        let out = format!("{made}{tail}");
        if made != address && solid(&out) != solid(text) {
            return Some(out);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KnownNames;
    use crate::draw::testing::Seeded;
    use lethe_dictionaries::Dictionary;
    use proptest::prelude::*;
    use std::sync::LazyLock;

    static NAMES: LazyLock<Names> = LazyLock::new(|| Names::new(Dictionary::builtin()).unwrap());

    fn about(known: &KnownNames) -> About<'_> {
        About {
            language: None,
            order: None,
            year: None,
            days: None,
            known,
        }
    }

    #[test]
    fn an_address_follows_the_names_in_it() {
        let known = KnownNames::new(["Tobias Wrenfield"]);
        let about = about(&known);
        for seed in 0..20 {
            let draw = Seeded(seed);
            let name = fold(&NAMES.surrogate("Tobias Wrenfield", &about, &draw).unwrap());
            let (given, family) = name.split_once(' ').unwrap();
            let initial = given.get(..1).unwrap();
            for (text, local) in [
                ("t.wrenfield@hospital.test", format!("{initial}.{family}")),
                ("tobias.wrenfield@hospital.test", format!("{given}.{family}")),
                ("twrenfield@hospital.test", format!("{initial}{family}")),
                ("tobiaswrenfield@hospital.test", format!("{given}{family}")),
            ] {
                let out = email(&NAMES, text, &about, &draw).unwrap();
                assert!(out.starts_with(&format!("{local}@example.")), "{text}: {out}");
            }
        }
    }

    #[test]
    fn hosts_lie_in_the_names_kept_for_documentation() {
        let known = KnownNames::default();
        for seed in 0..20 {
            let out = url("https://portal.example.org:8080/u/5527719?id=ab", &Seeded(seed)).unwrap();
            assert!(
                out.starts_with("https://example.") && !out.contains("example.org"),
                "{out}"
            );
            assert!(
                out.contains(":8080/") && out.contains("?id=") && !out.contains("5527719"),
                "{out}"
            );
            let out = url("www.clinic.test/smith", &Seeded(seed)).unwrap();
            assert!(out.starts_with("www.example.") && !out.contains("smith"), "{out}");
        }
        assert_eq!(url("localhost", &Seeded(1)), None);
        assert_eq!(email(&NAMES, "no address", &about(&known), &Seeded(1)), None);
    }

    #[test]
    fn ip_addresses_lie_in_the_test_networks() {
        for seed in 0..50 {
            let out = ip("10.4.18.220:8080", &Seeded(seed)).unwrap();
            let nets = ["192.0.2.", "198.51.100.", "203.0.113."];
            assert!(
                nets.iter().any(|net| out.starts_with(net)) && out.ends_with(":8080"),
                "{out}"
            );
            let out = ip("fe80::1ff:fe23:4567:890a", &Seeded(seed)).unwrap();
            assert!(
                out.starts_with("2001:db8:") && out.parse::<Ipv6Addr>().is_ok(),
                "{out}"
            );
        }
        for text in ["10.4.18", "300.1.1.1", "", "10.4.18.220.7"] {
            assert_eq!(ip(text, &Seeded(1)), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,40}|[a-z]{1,5}(://|@|\\.|:)[a-z./@:]{0,20}", seed in 0u64..20) {
            let known = KnownNames::default();
            let about = about(&known);
            for out in [email(&NAMES, &text, &about, &Seeded(seed)), url(&text, &Seeded(seed)), ip(&text, &Seeded(seed))] {
                prop_assert_ne!(out, Some(text.clone()));
            }
        }
    }
}
