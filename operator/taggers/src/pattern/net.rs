//! E-mail addresses, URLs, IP and MAC addresses.

use super::lexicon::class;
use super::scan::{Gap, Scan};
use super::{Hits, Kind};

/// The most tokens of an address, so that a text without blanks costs no more than one with blanks.
const REACH: usize = 32;

/// Adds the e-mail address around the `@` at token `i`.
pub(crate) fn email(s: &Scan<'_>, i: usize, out: &mut Hits) {
    let mut first = i;
    while i - first < REACH && s.tok(first).glued() {
        let tok = s.before(first, 1);
        if !(tok.wordlike() || matches!(tok.mark, b'.' | b'_' | b'-' | b'+' | b'%' | b'\'' | b'&')) {
            break;
        }
        first -= 1;
    }
    while first < i && !s.tok(first).wordlike() {
        first += 1;
    }
    // "E-mail.jperez@..." has a punctuation mark instead of a blank.
    if first + 3 < i && s.word_is(first, "e") && s.word_is(first + 2, "mail") && s.tok(first + 3).mark != 0 {
        first += 4;
    }
    let Some(last) = host(s, i + 1).filter(|_| first < i && s.tok(i + 1).glued()) else {
        return;
    };
    out.push(first, last, Kind::Email, 1.0, "email");
}

/// Returns the last token of the host name that starts at `i`: labels separated by full stops, the last of
/// letters.
fn host(s: &Scan<'_>, i: usize) -> Option<usize> {
    let (mut at, mut last) = (i, None);
    while at < i + REACH && s.tok(at).wordlike() {
        // One label: words and digits with hyphens.
        while at < i + REACH
            && s.tok(at + 1).glued()
            && (s.tok(at + 1).wordlike()
                || matches!(s.tok(at + 1).mark, b'-' | b'_')
                    && s.tok(at + 2).wordlike()
                    && s.tok(at + 2).glued())
        {
            at += 1;
        }
        if s.tok(at).letters() && s.tok(at).len >= 2 && at > i + 1 {
            last = Some(at);
        }
        if !(s.tok(at + 1).mark(b'.')
            && s.tok(at + 1).glued()
            && s.tok(at + 2).glued()
            && s.tok(at + 2).wordlike())
        {
            break;
        }
        at += 2;
    }
    last
}

/// Adds the URL at token `i`, which reads `http`, `https`, `ftp` or `www`.
pub(crate) fn url(s: &Scan<'_>, i: usize, out: &mut Hits) {
    if out.url_end > i {
        return;
    }
    let www = s.word_is(i, "www");
    let opened = if www {
        s.tok(i + 1).mark(b'.') && s.tok(i + 1).glued()
    } else {
        s.tok(i + 1).mark(b':') && s.tok(i + 2).mark(b'/') && s.tok(i + 3).mark(b'/')
    };
    if opened {
        finish(s, i, i + 1, 1.0, "url", out);
    }
}

/// Adds a URL without scheme at the top-level domain at token `i`: `portal.example.org/u/7`, `example.com`.
pub(crate) fn bare_url(s: &Scan<'_>, i: usize, out: &mut Hits) {
    if !s.tok(i).glued() || !s.before(i, 1).mark(b'.') || !s.before(i, 1).glued() || out.url_end > i {
        return;
    }
    let (mut first, mut dots) = (i, 0);
    while i - first < REACH && s.tok(first).glued() {
        let tok = s.before(first, 1);
        if tok.mark(b'@') || tok.mark(b'/') {
            return;
        }
        if !(tok.wordlike() || matches!(tok.mark, b'.' | b'-')) {
            break;
        }
        dots += u32::from(tok.mark(b'.'));
        first -= 1;
    }
    let path =
        s.tok(i + 1).mark(b'/') && s.tok(i + 1).glued() && s.tok(i + 2).glued() && s.tok(i + 2).letters();
    let goes_on =
        s.tok(i + 1).mark(b'.') && s.tok(i + 1).glued() && s.tok(i + 2).glued() && s.tok(i + 2).letters();
    let certain = ["com", "org", "net", "edu", "gov"]
        .iter()
        .any(|tld| s.word_is(i, tld));
    let label = s.before(i, 2);
    // "given.Net", a full stop without its blank, has other capitals.
    let even = label.case == s.tok(i).case;
    if goes_on || !s.tok(first).wordlike() || !even || label.len < 2 || !label.letters() {
        return;
    }
    if path && (certain || dots > 1 || s.tok(i).len == 2) && s.tok(i).len + label.len > 5
        || certain && (dots > 1 || s.word_is(i, "com") || s.word_is(i, "gov") || s.word_is(i, "edu"))
    {
        finish(s, first, i, 0.85, "url.bare", out);
    }
}

/// Adds the URL from `first` to the end of its run of tokens without blanks, without the punctuation of the
/// sentence.
fn finish(s: &Scan<'_>, first: usize, from: usize, score: f32, rule: &'static str, out: &mut Hits) {
    let mut last = from;
    while last < from + 4 * REACH
        && s.tok(last + 1).glued()
        && !matches!(
            s.tok(last + 1).mark,
            b'<' | b'>' | b'"' | b'|' | b'[' | b']' | b'{' | b'}'
        )
    {
        last += 1;
    }
    while last > first
        && matches!(
            s.tok(last).mark,
            b'.' | b',' | b';' | b':' | b')' | b'\'' | b'!' | b'?' | b'-'
        )
    {
        last -= 1;
    }
    if last > from {
        out.url_end = last + 1;
        out.push(first, last, Kind::Url, score, rule);
    } else if rule == "url.bare" {
        out.push(first, from, Kind::Url, score, rule);
    }
}

/// Adds the IPv4 address at digit run `i`.
pub(crate) fn ipv4(s: &Scan<'_>, i: usize, out: &mut Hits) {
    let octet = |at: usize| s.tok(at).number(1..=3, 0..=255);
    let dot = |at: usize| s.tok(at).mark(b'.') && s.tok(at).glued() && s.tok(at + 1).glued();
    if !(octet(i) && dot(i + 1) && octet(i + 2) && dot(i + 3) && octet(i + 4) && dot(i + 5) && octet(i + 6))
        || s.goes_on(i + 6)
    {
        return;
    }
    let near = |classes: u64| (1..=4).any(|back| s.before(i, back).is(classes));
    let large = (0..4).any(|k| s.tok(i + 2 * k).value >= 32);
    if near(class::HOST) {
        out.push(i, i + 6, Kind::Ip, 0.97, "ip.v4");
    } else if large && !near(class::DOTTED) && s.tok(i).value != 0 {
        out.push(i, i + 6, Kind::Ip, 0.9, "ip.v4");
    }
}

/// Adds the IPv6 or MAC address that starts at token `i`.
pub(crate) fn hexadecimal(s: &Scan<'_>, i: usize, out: &mut Hits) {
    let (mut groups, mut double, mut at, mut last, mut group) = (0, false, i, i, 0usize);
    let (mut pairs, mut dashes, mut letters) = (true, 0, false);
    let limit = i + 40;
    while at < limit {
        let tok = s.tok(at);
        if at > i && !tok.glued() {
            break;
        }
        if tok.wordlike() {
            if !s.bytes(at).iter().all(u8::is_ascii_hexdigit) {
                return;
            }
            letters |= tok.letters();
            groups += u32::from(group == 0);
            group += usize::from(tok.len);
            last = at;
            if group > 4 {
                return;
            }
        } else if tok.mark(b':') || tok.mark(b'-') {
            pairs &= group == 2;
            dashes += u32::from(tok.mark(b'-'));
            // No address can start here: hyphens separate only pairs, and no address has more groups than
            // IPv6.
            if !pairs && dashes > 0 || groups > 8 {
                return;
            }
            if tok.mark(b':') && s.tok(at + 1).mark(b':') && s.tok(at + 1).glued() {
                double = true;
                at += 1;
            } else if !(s.tok(at + 1).glued() && s.tok(at + 1).wordlike()) {
                break;
            }
            group = 0;
        } else {
            break;
        }
        at += 1;
    }
    pairs &= group == 2;
    if pairs && groups == 6 && (dashes == 0 || dashes == 5) && !double {
        out.push(i, last, Kind::Device, 0.95, "device.mac");
    } else if dashes == 0 && (groups == 8 && !double || double && (3..=7).contains(&groups) && letters) {
        out.push(i, last, Kind::Ip, 0.97, "ip.v6");
    }
}

/// Returns whether token `i` may start a hexadecimal address: a short first group with a colon or hyphen
/// joined after it.
pub(crate) fn may_be_hexadecimal(s: &Scan<'_>, i: usize) -> bool {
    let tok = s.tok(i);
    // A hyphen separates only pairs.
    let pair = tok.len == 2 || !s.tok(i + 1).mark(b'-');
    if tok.len > 4 || !pair || tok.glued() && s.before(i, 1).wordlike() || s.continues(i) {
        return false;
    }
    let behind = |at: usize| matches!(s.tok(at).mark, b':' | b'-') && s.tok(at).glued();
    (behind(i + 1) || s.tok(i + 1).glued() && s.tok(i + 1).wordlike() && (1..4).any(|k| behind(i + 1 + k)))
        && tok.gap <= Gap::Paragraph
}
