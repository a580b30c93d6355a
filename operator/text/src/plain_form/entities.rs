//! Decodes the entities of HTML and XML, such as `&eacute;`, `&#233;` and `&#xE9;`.

use super::edit::Editor;

/// Length of the longest name that HTML has, without its signs ("CounterClockwiseContourIntegral"). A number is
/// shorter.
const LONGEST: usize = 31;

/// Replaces the entities of a text.
pub(super) fn decode(text: &str, editor: &mut Editor<'_>) {
    let bytes = text.as_bytes();
    for at in memchr::memchr_iter(b'&', bytes) {
        let window = bytes.iter().skip(at + 1).take(LONGEST + 1);
        let Some(len) = window.into_iter().position(|&byte| byte == b';') else {
            continue;
        };
        let name = text.get(at + 1..at + 1 + len).unwrap_or_default();
        if let Some(number) = name.strip_prefix('#') {
            if let Some(c) = numbered(number) {
                editor.replace(at..at + len + 2, [c]);
            }
        } else if let Some(to) = quick_xml::escape::resolve_html5_entity(name) {
            editor.replace(at..at + len + 2, to.chars());
        }
    }
}

/// Returns the character of this number, which is written `233` or `xE9`.
fn numbered(number: &str) -> Option<char> {
    let number = match number.strip_prefix(['x', 'X']) {
        Some(hex) => u32::from_str_radix(hex, 16),
        None => number.parse(),
    };
    char::from_u32(number.ok()?)
}
