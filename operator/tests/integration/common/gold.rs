//! Invented gold: forms for training.

use serde_json::json;

/// Returns `count` invented forms with a name, a date and a place, as JSON lines.
pub(crate) fn gold(count: usize) -> String {
    (0..count).map(|i| form(i, i, "CITY")).collect()
}

/// Returns forms in pairs of one text that sometimes contradict each other about the place, so that no
/// training reaches a perfect score and ends early.
pub(crate) fn quarrelsome_gold(count: usize) -> String {
    let town = |i: usize| if i.is_multiple_of(17) { "VILLAGE" } else { "CITY" };
    (0..count).map(|i| form(i, i / 2, town(i))).collect()
}

/// Returns the document with this id, the text of number `i`, and this label for its place.
fn form(id: usize, i: usize, town: &str) -> String {
    let given = ["Ana", "Luis", "Marta", "Pedro", "Elena", "Jorge", "Nuria"];
    let family = ["Quiroga", "Salas", "Ferrer", "Bermejo", "Ibáñez"];
    let towns = ["Alcolea", "Peñaranda", "Villar", "Montoro"];
    let (mut text, mut spans) = (String::new(), Vec::new());
    let mut add = |part: &str, label: &str| {
        let start = text.chars().count();
        text.push_str(part);
        if !label.is_empty() {
            spans.push(json!({"start": start, "end": text.chars().count(), "label": label}));
        }
    };
    add("Nombre: ", "");
    add(&format!("{} {}", given[i % 7], family[i % 5]), "NAME");
    add(".\nVisto el ", "");
    add(&format!("{}/0{}/20{:02}", 10 + i % 18, 1 + i % 9, i % 24), "DATE");
    add(" en ", "");
    add(towns[i % 4], town);
    add(&format!(" por dolor, talla {}, sin fiebre.\n", 150 + i % 40), "");
    let document = json!({"doc_id": format!("n{id}"), "patient_id": format!("p{}", id / 2), "text": text, "spans": spans});
    document.to_string() + "\n"
}
