//! Takes the parameters that the client does not know out of a connection string.

use zeroize::Zeroizing;

/// A connection string without the parameters that were taken out of it.
pub(super) struct Split {
    pub(super) rest: Zeroizing<String>,
    /// The parameters that were taken out, in the order of the string.
    pub(super) taken: Vec<(String, String)>,
    /// Whether it has a password.
    pub(super) has_password: bool,
}

/// Splits a URL or a string of keywords and values. `None` if it is neither.
pub(super) fn split(text: &str, take: &[&str]) -> Option<Split> {
    if text.starts_with("postgres://") || text.starts_with("postgresql://") {
        split_url(text, take)
    } else {
        split_keywords(text, take)
    }
}

fn split_url(text: &str, take: &[&str]) -> Option<Split> {
    let (base, query) = text.split_once('?').unwrap_or((text, ""));
    let (_, authority) = base.split_once("://")?;
    let authority = authority.split('/').next().unwrap_or_default();
    let login = authority.rsplit_once('@').map_or("", |(login, _)| login);
    let mut has_password = login.contains(':');
    let (mut kept, mut taken) = (Vec::new(), Vec::new());
    for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
        let (key, value) = parameter.split_once('=')?;
        has_password |= key == "password";
        if take.contains(&key) {
            taken.push((key.to_owned(), decoded(value)?));
        } else {
            kept.push(parameter);
        }
    }
    let mark = if kept.is_empty() { "" } else { "?" };
    Some(Split {
        rest: format!("{base}{mark}{}", kept.join("&")).into(),
        taken,
        has_password,
    })
}

/// Decodes percent escapes.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || char::from(rest.next()?).to_digit(16);
        bytes.push(u8::try_from(digit()? * 16 + digit()?).ok()?);
    }
    String::from_utf8(bytes).ok()
}

fn split_keywords(text: &str, take: &[&str]) -> Option<Split> {
    let mut rest = Zeroizing::new(String::new());
    let (mut taken, mut has_password) = (Vec::new(), false);
    let mut left = text.trim_start();
    while !left.is_empty() {
        let (key, after) = left.split_once('=')?;
        let key = key.trim();
        let (value, end) = value(after.trim_start())?;
        has_password |= key == "password";
        if take.contains(&key) {
            taken.push((key.to_owned(), value.to_string()));
        } else {
            let quoted = Zeroizing::new(value.replace('\\', "\\\\").replace('\'', "\\'"));
            rest.push_str(&format!("{key}='{}' ", *quoted));
        }
        left = end.trim_start();
    }
    Some(Split {
        rest,
        taken,
        has_password,
    })
}

/// Returns the value at the beginning of a text, and what follows it.
fn value(text: &str) -> Option<(Zeroizing<String>, &str)> {
    let mut value = Zeroizing::new(String::new());
    let is_quoted = text.starts_with('\'');
    let inner = text.strip_prefix('\'').unwrap_or(text);
    let mut letters = inner.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' => value.push(letters.next()?.1),
            '\'' if is_quoted => return Some((value, inner.get(at + 1..)?)),
            letter if !is_quoted && letter.is_whitespace() => return Some((value, inner.get(at..)?)),
            letter => value.push(letter),
        }
    }
    (!is_quoted).then_some((value, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> (String, Vec<(String, String)>, bool) {
        let split = split(text, &["sslmode", "sslrootcert"]).unwrap();
        (split.rest.to_string(), split.taken, split.has_password)
    }

    #[test]
    fn parameters_are_taken_out_of_urls_and_keywords() {
        let (rest, taken, has_password) = parts(
            "postgresql://reader@db.example:5433/ehr?sslmode=verify-full&options=-c%20a%3Db&sslrootcert=%2Fetc%2Fca.pem",
        );
        assert_eq!(rest, "postgresql://reader@db.example:5433/ehr?options=-c%20a%3Db");
        assert_eq!(taken[0], ("sslmode".to_owned(), "verify-full".to_owned()));
        assert_eq!(taken[1], ("sslrootcert".to_owned(), "/etc/ca.pem".to_owned()));
        assert!(!has_password);
        let (rest, taken, has_password) =
            parts(r"host = db.example  sslmode=require password='a b\'c\\' user=re\ ader");
        assert_eq!(rest, r"host='db.example' password='a b\'c\\' user='re ader' ");
        assert_eq!(taken, [("sslmode".to_owned(), "require".to_owned())]);
        assert!(has_password);
    }

    #[test]
    fn a_password_in_any_place_is_noticed_and_a_broken_string_is_refused() {
        for text in [
            "postgres://u:p@h/d",
            "postgres://u@h/d?password=p",
            "password = p",
        ] {
            assert!(parts(text).2, "{text}");
        }
        assert!(!parts("postgres://u@[::1]:5432/d").2);
        for text in [
            "postgres://h/d?sslmode",
            "host",
            "host='a",
            "postgres://h/d?sslmode=%2",
        ] {
            assert!(split(text, &["sslmode"]).is_none(), "{text}");
        }
    }
}
