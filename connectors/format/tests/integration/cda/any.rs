//! Properties of every document.

use lethe_format::PayloadError;
use proptest::prelude::*;
use quick_xml::events::Event;

use super::{CONTINUITY, SUMMARY, close, keeping, try_read};

/// Returns whether it is well-formed, with unique attributes.
fn well_formed(xml: &str) -> Result<(), String> {
    let mut reader = quick_xml::Reader::from_str(xml);
    reader.config_mut().enable_all_checks(true);
    loop {
        match reader.read_event().map_err(|error| error.to_string())? {
            Event::Start(start) | Event::Empty(start) => {
                for one in start.attributes() {
                    let one = one.map_err(|error| error.to_string())?;
                    one.unescape_value().map_err(|error| error.to_string())?;
                }
            }
            Event::Eof => return Ok(()),
            _ => {}
        }
    }
}

/// Checks one document in every way.
fn holds(xml: &str) -> Result<(), TestCaseError> {
    let Ok(event) = keeping(xml) else {
        return Ok(());
    };
    let text = event.text.expose();
    let message = &event.enclosed.as_ref().unwrap().0;
    let mut at = 0;
    for part in message.parts() {
        prop_assert!(part.start() >= at && part.check(text).is_ok());
        at = part.end();
    }
    prop_assert!(message.changes().len() <= xml.len());
    for back in [
        close(&event, str::to_owned, str::to_owned),
        close(&event, |_| "<&\">\u{1}".to_owned(), |_| "<&\" \n>".to_owned()),
        close(&event, |_| String::new(), |_| String::new()),
    ] {
        prop_assert_eq!(well_formed(&back), Ok(()), "{}", back);
        prop_assert!(back.len() <= xml.len() * 8 + 1000);
        match keeping(&back) {
            Ok(_) => {}
            Err(diagnosis) => prop_assert_eq!(diagnosis.problem, PayloadError::Missing),
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn any_bytes_are_a_note_or_a_diagnosis(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(try_read(&bytes).is_err());
    }

    #[test]
    fn any_damage_is_a_note_or_a_diagnosis(from in 0..SUMMARY.len(), len in 0usize..60, put in "[<>/&;a-z\"=! é]{0,12}") {
        let (bytes, to) = (SUMMARY.as_bytes(), (from + len).min(SUMMARY.len()));
        let damaged = [&bytes[..from], put.as_bytes(), &bytes[to..]].concat();
        if let Ok(event) = try_read(&damaged) {
            prop_assert!(event.text.len() <= damaged.len());
        }
    }

    #[test]
    fn any_damage_gives_an_error_or_closes_to_well_formed_xml(
        from in any::<prop::sample::Index>(),
        len in 0usize..80,
        put in prop_oneof![
            "[<>/&;a-z\"=! é]{0,12}",
            prop::sample::select(vec![
                "<br/>", "<td>", "</td>", "<table>", "</section>", "</text>", "<text>", "<name>", "</name>", "<id/>",
                " xmlns=\"urn:x\"", " ID=\"a\"", "<content ID=\"a\">x</content>", "<value xsi:type=\"ED\">x</value>",
                "<ol listType=\"ordered\"><li>x</li></ol>", "<reference value=\"#a\"/>", "<![CDATA[<x>]]>", "&#1;", "<!-- x -->",
            ]).prop_map(str::to_owned),
        ],
    ) {
        let ends: Vec<usize> = (0..=CONTINUITY.len()).filter(|&at| CONTINUITY.is_char_boundary(at)).collect();
        let from = ends[from.index(ends.len())];
        let to = (from + len).min(CONTINUITY.len());
        if CONTINUITY.is_char_boundary(to) {
            holds(&format!("{}{put}{}", &CONTINUITY[..from], &CONTINUITY[to..]))?;
        }
    }
}

#[test]
fn what_is_kept_of_a_document_grows_as_the_document_does() {
    let of = |count: usize| {
        let rows = "<tr><td ID=\"a\" x=\"y\">Na<x/></td></tr>".repeat(count);
        let event = keeping(&super::section(&format!("<table><tbody>{rows}</tbody></table>"))).unwrap();
        let message = &event.enclosed.as_ref().unwrap().0;
        let paths: usize = message.changes().iter().map(|change| change.path.len()).sum();
        (
            close(&event, str::to_owned, str::to_owned).len(),
            paths,
            message.parts().len(),
        )
    };
    let ((small, paths, parts), (large, more_paths, more_parts)) = (of(1000), of(4000));
    assert!(large <= 4 * small && more_paths <= 4 * paths + 1000 && more_parts == 4 * parts);
}
