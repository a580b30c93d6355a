//! HL7 v2, FHIR and C-CDA.

use super::{Payload, nested, numbered, repeated, text};

const MSH: &str = "MSH|^~\\&|LAB|MERCY|EHR|MERCY|20240502083000||ORU^R01^ORU_R01|M1|P|2.5.1\rPID|1||10000001^^^MERCY^MR||Quillfeather^Ada\rOBR|1||5|18842-5^Discharge summary^LN\r";

/// HL7 v2 messages.
pub(crate) fn hl7v2() -> Vec<(&'static str, Payload)> {
    let plain = |size| {
        let lines = text(size);
        let lines = lines.lines().filter(|line| !line.is_empty());
        let lines: String = lines
            .enumerate()
            .map(|(i, line)| {
                format!(
                    "OBX|{}|TX|18842-5^Note^LN||{}||||||F\r",
                    i + 1,
                    line.replace('&', "\\T\\")
                )
            })
            .collect();
        format!("{MSH}{lines}").into_bytes()
    };
    let obx = "MSH|^~\\&|LAB|MERCY|EHR|MERCY|20240502083000||ORU^R01^ORU_R01|M1|P|2.5.1\rPID|1||1^^^M^MR||Voss^Ada\rOBX|1|TX|18842-5^Note^LN||";
    let pid = "MSH|^~\\&|LAB|MERCY|EHR|MERCY|20240502083000||ORU^R01^ORU_R01|M1|P|2.5.1\rPID|1||1^^^M^MR";
    vec![
        ("plain", Box::new(plain)),
        (
            "observations",
            numbered(MSH, |i| format!("OBX|{i}|TX|1^a^LN||a||||||F\r"), ""),
        ),
        ("short segments", repeated(MSH, "NTE|1||a\r", "")),
        ("unknown segments", repeated(MSH, "ZZZ|a\r", "")),
        ("empty fields", repeated(obx, "|", "\r")),
        ("components", repeated(obx, "^", "\r")),
        ("subcomponents", repeated(obx, "&", "\r")),
        ("repetitions", repeated(obx, "a~", "\r")),
        ("escapes", repeated(obx, "\\T\\", "\r")),
        ("escapes of breaks", repeated(obx, "\\.br\\", "\r")),
        ("escapes in hexadecimal", repeated(obx, "\\X41\\", "\r")),
        ("backslashes", repeated(obx, "\\", "\r")),
        (
            "identifiers",
            numbered(
                pid,
                |i| format!("~{i}^^^M^MR"),
                "||Voss^Ada\rOBX|1|TX|1^a^LN||Seen.||||||F\r",
            ),
        ),
        (
            "names",
            numbered(
                MSH,
                |i| format!("NK1|{i}|Voss{i}^Ada|SIB\r"),
                "OBX|1|TX|1^a^LN||Seen.||||||F\r",
            ),
        ),
        (
            "patients",
            numbered(
                MSH,
                |i| format!("PID|1||{i}^^^M^MR||Voss^Ada\r"),
                "OBX|1|TX|1^a^LN||Seen.||||||F\r",
            ),
        ),
        ("blank lines", repeated(MSH, "\r", "")),
        (
            "merges",
            numbered(
                "MSH|^~\\&|ADT1|M|L|M|20240502||ADT^A40^ADT_A39|M1|P|2.5.1\rEVN|A40|20240502\r",
                |i| format!("PID|1||{i}^^^M^MR||Voss^Ada\rMRG|{i}9^^^M^MR\r"),
                "",
            ),
        ),
    ]
}

const NOTE: &str =
    r#"{"resourceType":"DocumentReference","id":"d1","status":"current","type":{"text":"Note"}"#;

/// FHIR resources in JSON.
pub(crate) fn fhir() -> Vec<(&'static str, Payload)> {
    let plain = |size| {
        let div = text(size)
            .replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('\n', "<br/>");
        serde_json::json!({
            "resourceType": "Composition", "id": "c1", "status": "final", "date": "2024-05-01T08:30:00Z", "title": "Note",
            "type": {"text": "Note"}, "author": [{"display": "Helena Voss"}],
            "section": [{"title": "Course", "text": {"status": "generated",
                "div": format!("<div xmlns=\"http://www.w3.org/1999/xhtml\">{div}</div>")}}],
        })
        .to_string()
        .into_bytes()
    };
    let div = r#"{"resourceType":"Composition","id":"c1","status":"final","title":"Note","type":{"text":"Note"},"section":[{"text":{"status":"generated","div":"<div>"#;
    let end = r#"</div>"}}]}"#;
    let bundle = r#"{"resourceType":"Bundle","id":"b1","type":"collection","entry":[{"resource":{"resourceType":"Patient","id":"p0","name":[{"family":"Voss"}]}}"#;
    vec![
        ("plain", Box::new(plain)),
        (
            "entries",
            numbered(
                bundle,
                |i| {
                    format!(
                        r#",{{"resource":{{"resourceType":"Observation","id":"o{i}","status":"final"}}}}"#
                    )
                },
                "]}",
            ),
        ),
        (
            "entries with references",
            numbered(
                bundle,
                |i| {
                    format!(
                        r#",{{"fullUrl":"urn:uuid:{i}","resource":{{"resourceType":"Observation","id":"o{i}","status":"final","subject":{{"reference":"Patient/p{}"}}}}}}"#,
                        i / 2
                    )
                },
                "]}",
            ),
        ),
        (
            "patients",
            numbered(
                bundle,
                |i| {
                    format!(
                        r#",{{"resource":{{"resourceType":"Patient","id":"p{i}x","name":[{{"family":"Voss{i}","given":["Ada"]}}]}}}}"#
                    )
                },
                "]}",
            ),
        ),
        (
            "contained",
            numbered(
                &*Box::leak(
                    format!(r#"{NOTE},"contained":[{{"resourceType":"Patient","id":"p"}}"#).into_boxed_str(),
                ),
                |i| format!(r#",{{"resourceType":"Practitioner","id":"c{i}","name":[{{"family":"Voss"}}]}}"#),
                "]}",
            ),
        ),
        (
            "identifiers",
            numbered(
                r#"{"resourceType":"Patient","id":"p1","identifier":[{"value":"a"}"#,
                |i| format!(r#",{{"system":"urn:oid:1.2","value":"{i}"}}"#),
                "]}",
            ),
        ),
        (
            "extensions",
            nested(
                r#"{"resourceType":"Patient","id":"p1","extension":["#,
                r#"{"url":"http://a","extension":["#,
                "",
                "]}",
                "]}",
            ),
        ),
        (
            "unknown keys",
            numbered(
                r#"{"resourceType":"Patient","id":"p1""#,
                |i| format!(r#","k{i}":0"#),
                "}",
            ),
        ),
        (
            "nested sections",
            nested(
                r#"{"resourceType":"Composition","id":"c1","status":"final","section":["#,
                r#"{"title":"a","section":["#,
                "",
                "]}",
                "]}",
            ),
        ),
        (
            "sections",
            repeated(
                r#"{"resourceType":"Composition","id":"c1","status":"final","section":[{"title":"a"}"#,
                r#",{"title":"a","text":{"status":"generated","div":"<div>a</div>"}}"#,
                "]}",
            ),
        ),
        ("nested markup", nested(div, "<b>", "a", "</b>", end)),
        ("markup", repeated(div, "<b>a</b>", end)),
        ("less-than signs", repeated(div, "<", end)),
        ("entities", repeated(div, "&amp;", end)),
        ("cells", repeated(div, "<td>a</td>", end)),
        ("headings", repeated(div, "<h3>Plan</h3>", end)),
        (
            "attachments",
            repeated(
                &*Box::leak(
                    format!(
                        r#"{NOTE},"content":[{{"attachment":{{"contentType":"text/plain","data":"QQ=="}}}}"#
                    )
                    .into_boxed_str(),
                ),
                r#",{"attachment":{"contentType":"text/plain","data":"QQ=="}}"#,
                "]}",
            ),
        ),
        (
            "codings",
            repeated(
                r#"{"resourceType":"Observation","id":"o1","status":"final","code":{"coding":[{"code":"a"}"#,
                r#",{"system":"http://loinc.org","code":"1-8","display":"a"}"#,
                "]}}",
            ),
        ),
    ]
}

const HEAD: &str = "<ClinicalDocument xmlns=\"urn:hl7-org:v3\"><id root=\"1.2\"/><recordTarget><patientRole><id root=\"1.3\" extension=\"7\"/><patient><name><family>Voss</family></name></patient></patientRole></recordTarget>";

/// C-CDA documents.
pub(crate) fn cda() -> Vec<(&'static str, Payload)> {
    let leak = |text: String| -> &'static str { Box::leak(text.into_boxed_str()) };
    let body = leak(format!(
        "{HEAD}<component><structuredBody><component><section><title>Course</title><text>"
    ));
    let end = "</text></section></component></structuredBody></component></ClinicalDocument>";
    let sections = leak(format!("{HEAD}<component><structuredBody>"));
    let sections_end = "</structuredBody></component></ClinicalDocument>";
    let entry = leak(format!(
        "{HEAD}<component><structuredBody><component><section><title>a</title><text>a</text>"
    ));
    let entry_end = "</section></component></structuredBody></component></ClinicalDocument>";
    let tail = leak(format!(
        "<component><structuredBody><component><section><text>a</text>{entry_end}"
    ));
    let plain = move |size| {
        let inner = text(size)
            .replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('\n', "<br/>");
        format!("{body}{inner}{end}").into_bytes()
    };
    vec![
        ("plain", Box::new(plain)),
        ("nested markup", nested(body, "<content>", "a", "</content>", end)),
        ("markup", repeated(body, "<content>a</content>", end)),
        (
            "nested lists",
            nested(body, "<list><item>", "a", "</item></list>", end),
        ),
        (
            "items",
            repeated(
                leak(format!("{body}<list>")),
                "<item>a</item>",
                leak(format!("</list>{end}")),
            ),
        ),
        (
            "cells",
            repeated(
                leak(format!("{body}<table><tbody>")),
                "<tr><td>a</td><td>b</td></tr>",
                leak(format!("</tbody></table>{end}")),
            ),
        ),
        ("entities", repeated(body, "&amp;", end)),
        ("numeric entities", repeated(body, "&#65;", end)),
        ("CDATA", repeated(body, "<![CDATA[a]]>", end)),
        ("comments", repeated(body, "<!-- -->", end)),
        ("breaks", repeated(body, "<br/>", end)),
        (
            "attributes",
            numbered(
                leak(format!("{body}<content")),
                |i| format!(" a{i}=\"\""),
                leak(format!(">a</content>{end}")),
            ),
        ),
        (
            "sections",
            repeated(
                sections,
                "<component><section><title>a</title><text>a</text></section></component>",
                sections_end,
            ),
        ),
        (
            "nested sections",
            nested(
                sections,
                "<component><section><text>a</text>",
                "",
                "</section></component>",
                sections_end,
            ),
        ),
        (
            "identifiers",
            numbered(
                HEAD,
                |i| format!("<id root=\"1.2.{i}\" extension=\"{i}\"/>"),
                tail,
            ),
        ),
        (
            "authors",
            numbered(
                HEAD,
                |i| {
                    format!(
                        "<author><assignedAuthor><id root=\"1.4\" extension=\"{i}\"/><assignedPerson><name><family>Voss{i}</family></name></assignedPerson></assignedAuthor></author>"
                    )
                },
                tail,
            ),
        ),
        (
            "entries",
            repeated(
                entry,
                "<entry><observation classCode=\"OBS\" moodCode=\"EVN\"><code code=\"1-8\" codeSystem=\"2.16.840.1.113883.6.1\"/></observation></entry>",
                entry_end,
            ),
        ),
        (
            "nested entries",
            nested(
                leak(format!("{entry}<entry><observation>")),
                "<entryRelationship><observation>",
                "",
                "</observation></entryRelationship>",
                leak(format!("</observation></entry>{entry_end}")),
            ),
        ),
        ("unknown elements", repeated(entry, "<x/>", entry_end)),
        (
            "anchors",
            numbered(body, |i| format!("<content ID=\"a{i}\">a</content>"), end),
        ),
    ]
}
