//! The one place where text becomes markup.

/// Escapes everything that could be markup, in content and in quoted attributes. Characters that XML forbids
/// become U+FFFD.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(character),
            _ if character.is_control() || matches!(character, '\u{fffe}' | '\u{ffff}') => {
                out.push('\u{fffd}')
            }
            _ => out.push(character),
        }
    }
    out
}

/// A cell of a table: its escaped content and its class.
pub struct CellOf {
    content: String,
    class: &'static str,
}

/// Returns a plain cell.
pub fn cell(text: impl AsRef<str>) -> CellOf {
    classed(text, "")
}

/// Returns a cell with a class of the style sheet.
pub fn classed(text: impl AsRef<str>, class: &'static str) -> CellOf {
    CellOf {
        content: escape(text.as_ref()),
        class,
    }
}

/// Returns a table; an empty string without rows.
pub fn table(head: &[&str], rows: Vec<Vec<CellOf>>) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let mut out = String::from("<div class=\"wide\"><table><thead><tr>");
    let class = |column: usize| rows[0].get(column).map_or("", |cell| cell.class);
    for (column, name) in head.iter().enumerate() {
        // Left-aligned columns have left-aligned heads.
        let left = if matches!(class(column), "left" | "long") {
            " class=\"left\""
        } else {
            ""
        };
        out.push_str(&format!("<th{left}>{}</th>", escape(name)));
    }
    out.push_str("</tr></thead><tbody>\n");
    for row in rows {
        out.push_str("<tr>");
        for CellOf { content, class } in row {
            match class {
                "" => out.push_str(&format!("<td>{content}</td>")),
                _ => out.push_str(&format!("<td class=\"{class}\">{content}</td>")),
            }
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_text_is_markup() {
        assert_eq!(
            escape("<b a='1' c=\"2\">&amp;\u{0}\u{1b}\n"),
            "&lt;b a=&#39;1&#39; c=&quot;2&quot;&gt;&amp;amp;\u{fffd}\u{fffd}\n"
        );
    }
}
