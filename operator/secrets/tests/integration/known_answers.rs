//! Answers of an independent implementation: a change of the derivation would change every code that was ever
//! assigned, and fails here. This Python prints them (HKDF by RFC 5869, with one block of output):
//!
//! ```python
//! import base64, hashlib, hmac
//! from cryptography.hazmat.primitives.ciphers.aead import AESGCM
//!
//! secret = bytes((i * 7 + 3) % 256 for i in range(32)) + b"\xff\xff"
//! mac = lambda key, data: hmac.new(key, data, hashlib.sha256).digest()
//! joined = lambda parts: b"".join(len(p.encode()).to_bytes(8, "little") + p.encode() for p in parts)
//! code = lambda key, *parts: mac(key, joined(parts))
//! extracted = mac(b"lethe secrets 1", secret)
//! bound = lambda purpose, context: code(mac(extracted, purpose.encode() + b"\x01"), context)
//!
//! print(code(bound("prf", "patient 1"), "DOCTOR", "Quill").hex())
//!
//! alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
//! bits = int.from_bytes(code(bound("pseudonym", "patient 1"), "DOCTOR", "Quill", "0"), "big")
//! print("".join(alphabet[bits >> (256 - 5 * (i + 1)) & 31] for i in range(12)))
//!
//! drawn = int.from_bytes(code(bound("shift", "patient 1"), "days")[:16], "little") % 728
//! print((drawn % 364 + 1) * (1 if drawn >= 364 else -1))
//!
//! key = bound("seal", "patient 1")
//! about = ["e1", "a", "DOCTOR"]
//! nonce = code(code(key, "nonce"), *about, "Quill")[:12]
//! padded = b"Quill\x80" + bytes(10)
//! body = nonce + AESGCM(code(key, "cipher")).encrypt(nonce, padded, joined(about))
//! print("[DOCTOR:e1.a." + base64.urlsafe_b64encode(body).decode().rstrip("=") + "]")
//! ```

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use lethe_secrets::{CodeLength, Keyring, Pseudonyms, Sealer, ShiftRule};

fn keyring() -> Keyring {
    Keyring::parse_short("a:030a11181f262d343b424950575e656c737a81888f969da4abb2b9c0c7ced5dcffff").unwrap()
}

#[test]
fn keyed_functions_are_hmac_under_a_sub_key_of_hkdf() {
    let code = keyring().current().prf("patient 1").code(&["DOCTOR", "Quill"]);
    let hex: String = code.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(
        hex,
        "cbeede3172253037f430cb0a68df717bb9ffc157086770be9d60927109196b3f"
    );
}

#[test]
fn pseudonyms_are_the_first_bits_of_the_code_in_base32() {
    let codes = Pseudonyms::new(keyring().current(), "patient 1", CodeLength::default());
    assert_eq!(codes.code("DOCTOR", "Quill"), "WFQAC93MJZ2B");
}

#[test]
fn a_shift_is_the_code_modulo_the_days() {
    assert_eq!(ShiftRule::default().days(keyring().current(), "patient 1"), -348);
}

#[test]
fn sealed_text_is_aes_256_gcm_as_others_compute_it() {
    let sealer = Sealer::new(&keyring(), "patient 1");
    let token = "[DOCTOR:e1.a.QKt9TVU-6-WOXzMjaqVaWeqNe_aGk41UNHzV8sMNDg_LuKOjvcgzpvYOUhI]";
    assert_eq!(sealer.seal("DOCTOR", "Quill").unwrap(), token);
    assert_eq!(*sealer.open(token).unwrap(), "Quill");
}
