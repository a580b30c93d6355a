use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::*;

fn signed(claims: &str) -> String {
    format!("e30.{}.aHVzaA", URL_SAFE_NO_PAD.encode(claims))
}

fn file(content: &str) -> (tempfile::TempDir, Login) {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("token");
    std::fs::write(&path, content).unwrap();
    let login = Login::with(TokenConfig::File { path });
    (place, login)
}

fn ends_in(seconds: i64) -> String {
    signed(&format!(
        "{{\"sub\":\"lethe\",\"exp\":{}}}",
        now_ms() / 1000 + seconds
    ))
}

#[test]
fn a_file_is_read_each_time_and_its_claims_say_whose_and_until_when() {
    let (place, login) = file(&format!("{}\n", ends_in(60)));
    let first = login.token().unwrap();
    assert_eq!(first.principal_name, "lethe");
    assert!((first.lifetime_ms - now_ms() - 60_000).abs() < 2_000);
    std::fs::write(place.path().join("token"), ends_in(600)).unwrap();
    assert!(login.token().unwrap().lifetime_ms > first.lifetime_ms);
    assert_eq!(login.trouble(), None);
}

#[test]
fn a_file_that_holds_no_usable_token_is_named_and_not_shown() {
    for (content, told) in [
        ("", "is empty"),
        ("hush", "is not a signed token"),
        ("hush\u{1}auth=hush", "characters"),
        (&signed("{}"), "`exp`"),
        (&ends_in(-90), "expired 9"),
        (&"h".repeat(300 << 10), "is over"),
    ] {
        let (place, login) = file(content);
        let error = login.token().err().unwrap().to_string();
        let path = place.path().join("token");
        assert!(
            error.contains(told) && error.contains(path.to_str().unwrap()),
            "{error}"
        );
        assert!(!error.contains("hush") && !error.contains("aHVzaA"), "{error}");
        let (_, trouble) = login.trouble().unwrap();
        assert!(!trouble.is_temporary());
    }
}

#[test]
fn trouble_ends_with_the_next_token() {
    let (place, login) = file("");
    login.token().err().unwrap();
    assert!(login.trouble().is_some());
    std::fs::write(place.path().join("token"), ends_in(60)).unwrap();
    login.token().unwrap();
    assert_eq!(login.trouble(), None);
}

#[test]
fn a_login_and_a_token_print_no_token() {
    let (_place, login) = file(&ends_in(60));
    let token = Token::new("hush".into(), None, now_ms());
    login.token().unwrap();
    let printed = format!("{login:?} {token:?}");
    assert!(
        !printed.contains("hush") && !printed.contains("aHVzaA"),
        "{printed}"
    );
}
