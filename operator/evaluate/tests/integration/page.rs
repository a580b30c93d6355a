//! Tests that the page is complete, self-contained, and free of note text if requested.

use lethe_core::{LabelSet, Span};
use lethe_corpus::{Document, Mark};
use lethe_evaluate::{Options, PageOptions, evaluate, page};

const TEXT: &str = "Seen: <script>alert('Eva & Ríos')</script>\nby Dr \"Paz\" in Lugo";

fn document(id: &str, marks: &[(&str, &str)]) -> Document {
    let mark = |&(part, label): &(&str, &str)| {
        let start = TEXT.find(part).expect("the part is one of the text");
        Mark::gold(
            Span::checked(TEXT, start, start + part.len()).expect("parts are whole characters"),
            label,
        )
    };
    Document {
        id: id.to_owned(),
        patient: None,
        text: TEXT.to_owned(),
        marks: marks.iter().map(mark).collect(),
    }
}

fn rendered(options: &PageOptions) -> String {
    let gold: Vec<Document> = ["<n&1>", "n2", "n3"]
        .map(|id| {
            document(
                id,
                &[("Eva & Ríos", "PATIENT"), ("Paz", "DOCTOR"), ("Lugo", "CITY")],
            )
        })
        .to_vec();
    let predicted = vec![
        document(
            "<n&1>",
            &[
                ("Eva", "PATIENT"),
                ("Paz", "<b>\"PATIENT\"</b>"),
                ("script", "CITY"),
            ],
        ),
        document("n2", &[("Eva & Ríos", "PATIENT"), ("Lugo", "CITY")]),
    ];
    let systems = [
        ("<i>rules</i> & \"more\"".to_owned(), predicted),
        ("oracle".to_owned(), gold.clone()),
    ];
    let set = LabelSet::i2b2_2014();
    let evaluation = Options {
        labels: Some(&set),
        training: Some(&gold),
        ..Options::default()
    };
    let report = evaluate(&gold, &systems, &evaluation).expect("the ward is well-formed");
    page(&report, &gold, options)
}

/// Returns the names of tags in order; fails if one is not closed, an attribute is not quoted or occurs
/// twice, or a markup character is not escaped.
fn tags(page: &str) -> Vec<String> {
    let body = page.strip_prefix("<!DOCTYPE html>\n").expect("a document type");
    let (mut open, mut all) = (Vec::new(), Vec::new());
    let mut pieces = body.split('<');
    assert_eq!(pieces.next(), Some(""), "text before the first tag");
    for piece in pieces {
        let (tag, text) = piece.split_once('>').expect("a tag ends");
        for part in text.split('&').skip(1) {
            let entity = part.split_once(';').expect("an entity ends").0;
            assert!(["amp", "lt", "gt", "quot", "#39"].contains(&entity), "&{entity};");
        }
        assert!(
            open.is_empty() == (tag == "/html" && text.trim().is_empty())
                || !open.is_empty()
                || tag.starts_with("html")
        );
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name), "closes another tag");
            continue;
        }
        let (tag, empty) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
        let (name, mut rest) = tag.split_once(' ').unwrap_or((tag, ""));
        assert!(name.chars().all(|c| c.is_ascii_alphanumeric()), "{name}");
        let mut attributes = Vec::new();
        while !rest.trim().is_empty() {
            let (attribute, value) = rest
                .trim_start()
                .split_once("=\"")
                .expect("an attribute has a quoted value");
            assert!(!attributes.contains(&attribute), "{attribute} twice");
            assert!(!attribute.starts_with("on"), "{attribute}");
            attributes.push(attribute);
            rest = value.split_once('"').expect("a quote ends").1;
        }
        all.push(name.to_owned());
        if !empty {
            open.push(name.to_owned());
        }
    }
    assert!(open.is_empty(), "{open:?} not closed");
    all
}

#[test]
fn the_page_is_well_formed_and_needs_nothing_from_elsewhere() {
    let page = rendered(&PageOptions::default());
    let tags = tags(&page);
    for name in ["html", "svg", "table", "details", "figure"] {
        assert!(tags.iter().any(|tag| tag == name), "{name}");
    }
    for name in ["script", "link", "img", "iframe", "object", "image", "use"] {
        assert!(!tags.iter().any(|tag| tag == name), "{name}");
    }
    for elsewhere in ["src=", "url(", "@import", "javascript:"] {
        assert!(!page.contains(elsewhere), "{elsewhere}");
    }
    // The only addresses are name spaces.
    let addresses = page
        .match_indices("http")
        .filter(|(at, _)| !page.get(*at..).is_some_and(|rest| rest.starts_with("http-equiv")));
    assert!(addresses.into_iter().all(|(at, _)| {
        page.get(at..)
            .is_some_and(|rest| rest.starts_with("http://www.w3.org/"))
    }));
}

#[test]
fn markup_in_notes_names_labels_and_ids_is_shown_and_not_obeyed() {
    let page = rendered(&PageOptions {
        title: "<u>".to_owned(),
        ..PageOptions::default()
    });
    tags(&page);
    for shown in [
        "&lt;script&gt;",
        "&lt;i&gt;rules&lt;/i&gt; &amp; &quot;more&quot;",
        "&lt;n&amp;1&gt;",
        "&lt;u&gt;",
    ] {
        assert!(page.contains(shown), "{shown}");
    }
    assert!(page.contains("&lt;b&gt;&quot;PATIENT&quot;&lt;/b&gt;"));
}

#[test]
fn a_page_with_contexts_says_so_first_and_sets_off_gold_and_prediction() {
    let page = rendered(&PageOptions::default());
    let warning = page.find("This page contains note text").unwrap();
    assert!(warning < page.find("<table>").unwrap());
    assert!(page.contains("<span class=\"g p\">Eva</span><span class=\"g\"> &amp; Ríos</span>"));
}

#[test]
fn a_page_without_contexts_holds_no_word_of_a_note() {
    let page = rendered(&PageOptions {
        contexts: false,
        ..PageOptions::default()
    });
    tags(&page);
    for word in ["Ríos", "Paz", "Lugo", "alert"] {
        assert!(!page.contains(word), "{word}");
    }
    assert!(page.contains("This page contains no note text"));
    assert!(page.contains("gold DOCTOR at"));
}

#[test]
fn errors_beyond_the_limit_are_counted_on_the_page() {
    let page = rendered(&PageOptions {
        cases: 2,
        ..PageOptions::default()
    });
    tags(&page);
    // Four in the first note (one a false positive), one in the second, three in the third.
    assert!(page.contains("6 more are not listed"), "{page}");
}

#[test]
fn systems_that_are_all_alike_and_have_no_intervals_are_drawn_all_the_same() {
    let gold = [document("n1", &[("Paz", "DOCTOR")])];
    let systems = ["a", "b"].map(|name| (name.to_owned(), gold.to_vec()));
    for gold in [gold.to_vec(), vec![document("n1", &[])]] {
        let options = Options {
            resamples: 0,
            ..Options::default()
        };
        let report = evaluate(&gold, &systems, &options).expect("the ward is well-formed");
        let page = page(&report, &gold, &PageOptions::default());
        tags(&page);
        assert!(!page.contains("NaN") && !page.contains("inf\""), "{page}");
    }
}
