//! Extracts text from HTML and XHTML, by the tokenization rules of the HTML standard (section 13.2.5) as far
//! as the text depends on them.
//!
//! Blocks, rows and `<br>` become line ends, cells of a row are separated by two spaces, entities are
//! decoded, and scripts, styles, titles, comments and all attributes are dropped.

use super::Lines;

/// Returns the visible text of the HTML. Every input is valid: anything that is not markup is text.
pub fn html_to_text(html: &str) -> String {
    let mut reader = Reader {
        html,
        bytes: html.as_bytes(),
        at: 0,
        lines: Lines::with_capacity(html.len() / 2),
        preformatted: 0,
    };
    reader.run();
    reader.lines.finish()
}

/// The effect of an element on the lines of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    /// None.
    Inline,
    /// It is on separate lines.
    Block,
    /// It has empty lines around it.
    Apart,
    /// Its content is not text.
    Silent,
}

impl Layout {
    /// Returns the layout of the element with that name, in lower case.
    const fn of(name: &[u8]) -> Self {
        match name {
            b"script" | b"style" | b"title" | b"iframe" | b"noembed" | b"noframes" | b"template" => {
                Self::Silent
            }
            b"blockquote" | b"dl" | b"h1" | b"h2" | b"h3" | b"h4" | b"h5" | b"h6" | b"ol" | b"p" | b"pre"
            | b"table" | b"ul" => Self::Apart,
            b"address" | b"article" | b"aside" | b"body" | b"caption" | b"center" | b"dd" | b"details"
            | b"dialog" | b"dir" | b"div" | b"dt" | b"fieldset" | b"figcaption" | b"figure" | b"footer"
            | b"form" | b"head" | b"header" | b"hgroup" | b"hr" | b"html" | b"legend" | b"li" | b"main"
            | b"menu" | b"nav" | b"option" | b"section" | b"summary" | b"tbody" | b"tfoot" | b"thead"
            | b"tr" | b"textarea" => Self::Block,
            _ => Self::Inline,
        }
    }
}

/// Length of the longest entity name, without its semicolon ("CounterClockwiseContourIntegral").
const LONGEST_ENTITY: usize = 31;

struct Reader<'a> {
    html: &'a str,
    bytes: &'a [u8],
    at: usize,
    lines: Lines,
    /// Number of open `<pre>` elements.
    preformatted: u32,
}

/// A tag's name, short and in lower case; longer names belong to no relevant element.
type Name = ([u8; 12], usize);

impl Reader<'_> {
    fn run(&mut self) {
        while let Some(&byte) = self.bytes.get(self.at) {
            match byte {
                b'<' => self.open_angle(),
                b'&' => self.entity(),
                _ => self.character(),
            }
        }
    }

    fn put(&mut self, c: char) {
        if self.preformatted > 0 {
            self.lines.preformatted(c);
        } else {
            self.lines.flow(c);
        }
    }

    fn character(&mut self) {
        let rest = self.html.get(self.at..).unwrap_or_default();
        let Some(c) = rest.chars().next() else {
            self.at = self.bytes.len();
            return;
        };
        self.at += c.len_utf8();
        self.put(c);
    }

    fn open_angle(&mut self) {
        let rest = &self.bytes[self.at..];
        match rest.get(1) {
            Some(b'!') if rest.starts_with(b"<!--") => self.comment(),
            Some(b'!') if rest.starts_with(b"<![CDATA[") => self.cdata(),
            Some(b'!' | b'?') => self.skip_past(1, b">"),
            Some(b'/') => match rest.get(2) {
                Some(letter) if letter.is_ascii_alphabetic() => self.tag(2, false),
                _ => self.skip_past(2, b">"),
            },
            Some(letter) if letter.is_ascii_alphabetic() => self.tag(1, true),
            _ => self.character(),
        }
    }

    /// Moves past the next `end` that starts at least `from` bytes ahead, or to the end of the document.
    fn skip_past(&mut self, from: usize, end: &[u8]) {
        let start = (self.at + from).min(self.bytes.len());
        self.at = find(&self.bytes[start..], end).map_or(self.bytes.len(), |i| start + i + end.len());
    }

    /// Skips a comment. `<!-->` and `<!--->` are complete comments, and `--!>` ends one too.
    fn comment(&mut self) {
        let inner = &self.bytes[self.at + 4..];
        if let Some(short) = [b">".as_slice(), b"->"]
            .into_iter()
            .find(|end| inner.starts_with(end))
        {
            self.at += 4 + short.len();
            return;
        }
        let mut at = 0;
        loop {
            let Some(dashes) = find(&inner[at..], b"--") else {
                self.at = self.bytes.len();
                return;
            };
            at += dashes + 2;
            if let Some(end) = [b">".as_slice(), b"!>"]
                .into_iter()
                .find(|end| inner[at..].starts_with(end))
            {
                self.at += 4 + at + end.len();
                return;
            }
            // `--->`: the next pair of dashes may start with the second of this one.
            at -= 1;
        }
    }

    /// Handles CDATA, which only XML has; it is text there.
    fn cdata(&mut self) {
        let start = self.at + b"<![CDATA[".len();
        let len = find(&self.bytes[start..], b"]]>").unwrap_or(self.bytes.len() - start);
        for c in self.html.get(start..start + len).unwrap_or_default().chars() {
            self.put(c);
        }
        self.at = (start + len + 3).min(self.bytes.len());
    }

    fn tag(&mut self, name_at: usize, opens: bool) {
        let (name, len) = self.tag_name(name_at);
        let name = &name[..len];
        let closed = self.attributes();
        match name {
            b"br" => return self.lines.line(),
            b"td" | b"th" if opens => return self.lines.cell(),
            _ => {}
        }
        let layout = Layout::of(name);
        if matches!(layout, Layout::Apart | Layout::Block) {
            self.lines.block(layout == Layout::Apart);
        }
        if name == b"pre" && !closed {
            self.preformatted = if opens {
                self.preformatted.saturating_add(1)
            } else {
                self.preformatted.saturating_sub(1)
            };
            // The first line end in one is not part of it.
            if opens {
                self.at += match self.bytes.get(self.at..) {
                    Some([b'\r', b'\n', ..]) => 2,
                    Some([b'\n' | b'\r', ..]) => 1,
                    _ => 0,
                };
            }
        } else if opens && !closed && layout == Layout::Silent {
            self.silence(name);
        }
    }

    fn tag_name(&mut self, from: usize) -> Name {
        let mut name = ([0; 12], 0);
        self.at += from;
        while let Some(&byte) = self.bytes.get(self.at) {
            if byte.is_ascii_whitespace() || matches!(byte, b'/' | b'>') {
                break;
            }
            if let Some(place) = name.0.get_mut(name.1) {
                *place = byte.to_ascii_lowercase();
                name.1 += 1;
            } else {
                // Longer than any relevant name.
                name.0[0] = b'-';
            }
            self.at += 1;
        }
        name
    }

    /// Moves past the tag's attributes and its `>`; returns whether it closes itself. A `>` in a quoted value
    /// is part of the value.
    fn attributes(&mut self) -> bool {
        let (mut slash, mut value) = (false, false);
        while let Some(&byte) = self.bytes.get(self.at) {
            self.at += 1;
            match byte {
                b'>' => return slash,
                b'"' | b'\'' if value => {
                    self.skip_past(0, &[byte]);
                    (slash, value) = (false, false);
                }
                b'=' => (slash, value) = (false, true),
                byte if byte.is_ascii_whitespace() => slash = false,
                // A slash in an unquoted value is part of it.
                b'/' => slash = !value,
                _ if value => {
                    while self
                        .bytes
                        .get(self.at)
                        .is_some_and(|&b| b != b'>' && !b.is_ascii_whitespace())
                    {
                        self.at += 1;
                    }
                    (slash, value) = (false, false);
                }
                _ => slash = false,
            }
        }
        false
    }

    /// Moves to the end tag of an element whose content is not text.
    fn silence(&mut self, name: &[u8]) {
        while let Some(i) = find(&self.bytes[self.at..], b"</") {
            self.at += i;
            let after = self.at + 2 + name.len();
            let named = self.bytes.get(self.at + 2..after);
            let ends = !matches!(self.bytes.get(after), Some(byte) if byte.is_ascii_alphanumeric());
            if ends && named.is_some_and(|found| found.eq_ignore_ascii_case(name)) {
                return;
            }
            self.at += 2;
        }
        self.at = self.bytes.len();
    }

    fn entity(&mut self) {
        self.at += 1;
        if self.bytes.get(self.at) == Some(&b'#') {
            return self.numeric();
        }
        let window = self.bytes.iter().skip(self.at).take(LONGEST_ENTITY + 1);
        let len = window.take_while(|byte| byte.is_ascii_alphanumeric()).count();
        let name = self.html.get(self.at..self.at + len).unwrap_or_default();
        let meant = quick_xml::escape::resolve_html5_entity(name);
        let semicolon = self.bytes.get(self.at + len) == Some(&b';');
        // Old documents omit the semicolon only for Latin-1 characters.
        match meant.filter(|meant| semicolon || meant.chars().all(|c| c <= '\u{ff}')) {
            Some(meant) => {
                self.at += len + usize::from(semicolon);
                meant.chars().for_each(|c| self.put(c));
            }
            None => self.put('&'),
        }
    }

    /// Decodes `&#233;` or `&#xE9;`. Numbers 128 to 159 mean Windows-1252.
    fn numeric(&mut self) {
        let hex = matches!(self.bytes.get(self.at + 1), Some(b'x' | b'X'));
        let (start, radix) = if hex { (self.at + 2, 16) } else { (self.at + 1, 10) };
        let (mut end, mut number) = (start, 0u32);
        while let Some(digit) = self
            .bytes
            .get(end)
            .and_then(|&byte| char::from(byte).to_digit(radix))
        {
            number = number.saturating_mul(radix).saturating_add(digit);
            end += 1;
        }
        if end == start {
            return self.put('&');
        }
        self.at = end + usize::from(self.bytes.get(end) == Some(&b';'));
        let c = match u8::try_from(number) {
            Ok(0) => None,
            Ok(byte @ 128..=159) => {
                let bytes = [byte];
                let (text, _) = encoding_rs::WINDOWS_1252.decode_without_bom_handling(&bytes);
                text.chars().next()
            }
            _ => char::from_u32(number),
        };
        self.put(c.unwrap_or(char::REPLACEMENT_CHARACTER));
    }
}

fn find(bytes: &[u8], needle: &[u8]) -> Option<usize> {
    memchr::memmem::find(bytes, needle)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(html: &str, text: &str) {
        assert_eq!(html_to_text(html), text, "{html}");
    }

    #[test]
    fn blocks_and_breaks_become_line_ends() {
        check(
            "<p>Seen  by\n Dr&nbsp;Roth.</p><p>Well.<br/>Home</P>",
            "Seen by Dr Roth.\n\nWell.\nHome",
        );
        check("<div>a<div>b</div>c</div>", "a\nb\nc");
        check("<ul><li>a<li>b</ul>c", "a\nb\n\nc");
        check("plain < 5 & > 3, R&D", "plain < 5 & > 3, R&D");
    }

    #[test]
    fn rows_are_lines_and_nested_tables_lose_nothing() {
        let html = "<table><tr><th>Name:</th><td>Ada Roth</td></tr>\n<tr><td>Labs</td><td><table><tr><td>Na</td>\
                    <td>140</td></tr><tr><td>K</td><td>4.1</td></tr></table></td></tr></table>";
        check(html, "Name:  Ada Roth\nLabs\n\nNa  140\nK  4.1");
    }

    #[test]
    fn entities_are_decoded_with_and_without_semicolon() {
        check("Jos&eacute; &#233;&#xE9;&#XE9; &Eacute", "José ééé É");
        check(
            "&lt;b&gt; &amp;amp; &copy 1 &hellip; &#146; &#128;",
            "<b> &amp; © 1 … ’ €",
        );
        check("&#0;&#xD800;&#99999999999999999999;", "\u{fffd}\u{fffd}\u{fffd}");
        check("&nosuch; &; &#; &#x; &", "&nosuch; &; &#; &#x; &");
    }

    #[test]
    fn scripts_styles_comments_and_attributes_are_gone() {
        check("a<script>if (1<2) '</b>' </script >b", "ab");
        check(
            "<STYLE type='text/css'>p{}</style>x<!-- Roth --- > --!>y<!-->z<!--->w",
            "xyzw",
        );
        check(
            "<title>Roth</title><a href=\"x>y\" title='Roth > z' alt=a/b>t</a><img alt=Roth />",
            "t",
        );
        check("<script>Roth", "");
        check("x<a title=\"Roth", "x");
        check("<scripted>kept</scripted>", "kept");
    }

    #[test]
    fn spaces_that_are_asked_for_stay() {
        check("<pre>\n a  b\r\n\tc\n</pre>", "a  b\n c");
        check("x&nbsp;&nbsp;y<br>&nbsp;z", "x  y\n z");
    }

    #[test]
    fn what_cannot_be_seen_does_not_part_a_name() {
        check("Ok&shy;af&#8203;or &ZeroWidthSpace;x", "Okafor x");
    }

    #[test]
    fn hostile_documents_take_no_longer_than_others() {
        let deep = "<div><pre><table><td>".repeat(50_000);
        assert_eq!(html_to_text(&deep), "");
        let wide = format!(
            "<a {}>x",
            (0..100_000).map(|i| format!("a{i} ")).collect::<String>()
        );
        assert_eq!(html_to_text(&wide), "x");
        assert_eq!(html_to_text(&"<!--".repeat(100_000)), "");
        assert_eq!(html_to_text(&"<script></".repeat(50_000)), "");
        assert_eq!(html_to_text(&"&".repeat(200_000)).len(), 200_000);
        assert_eq!(html_to_text(&format!("&#{};", "9".repeat(200_000))), "\u{fffd}");
    }

    proptest::proptest! {
        #[test]
        fn any_string_has_a_text(html in "(<|>|/|&|[a-z]|&#|;|\"|'|=|!|-|é| |\n|<p>|<pre>|<br>|<td>|</|<script>|<!--){0,60}") {
            let text = html_to_text(&html);
            proptest::prop_assert!(!text.contains("\n\n\n"));
            proptest::prop_assert_eq!(text.trim_matches([' ', '\n']), &text);
        }
    }
}
