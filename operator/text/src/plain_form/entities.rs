//! Decodes the entities of HTML and XML, such as `&eacute;`, `&#233;` and `&#xE9;`.

use super::edit::Edit;

/// Length of the longest name that HTML has, without its signs ("CounterClockwiseContourIntegral"). A number is
/// shorter.
const LONGEST: usize = 31;

/// Returns the edits of a text, in order.
pub(super) fn edits(text: &str) -> Vec<Edit> {
    let entity = |at: usize| {
        let window = text.as_bytes().get(at + 1..)?;
        let len = window.iter().take(LONGEST + 1).position(|&byte| byte == b';')?;
        let to = meaning(text.get(at + 1..at + 1 + len)?)?;
        let range = at..at + len + 2;
        Some(Edit { range, to })
    };
    memchr::memchr_iter(b'&', text.as_bytes())
        .filter_map(entity)
        .collect()
}

/// Returns what an entity stands for, by what it has between its signs.
fn meaning(name: &str) -> Option<String> {
    let Some(number) = name.strip_prefix('#') else {
        return quick_xml::escape::resolve_html5_entity(name).map(str::to_owned);
    };
    let number = match number.strip_prefix(['x', 'X']) {
        Some(hex) => u32::from_str_radix(hex, 16),
        None => number.parse(),
    };
    let c = char::from_u32(number.ok()?)?;
    Some(c.to_string())
}
