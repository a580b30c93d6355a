//! The format of figures in the table and on the page.

use std::collections::BTreeMap;

use crate::report::{ErrorClass, ErrorKind, Estimate, Interval, Report, Shape, Share, Test};

/// Formats a share in per cent with two decimals.
pub fn percent(share: f64) -> String {
    format!("{:.2}", 100.0 * share)
}

/// Formats an interval in per cent; a missing one as a dash.
pub(crate) fn range(interval: Option<Interval>) -> String {
    interval.map_or_else(dash, |interval| {
        format!("{} to {}", percent(interval.low), percent(interval.high))
    })
}

/// Returns the interval over patients if it exists, else over documents: it is the wider claim about other
/// notes.
pub(crate) fn widest(estimate: &Estimate) -> Option<Interval> {
    estimate.by_patient.or(estimate.interval)
}

/// Formats leaks in 1,000 documents.
pub(crate) fn per_thousand(estimate: &Estimate) -> String {
    format!("{:.1}", estimate.value)
}

/// Formats their interval; a missing one as a dash.
pub(crate) fn per_thousand_range(estimate: &Estimate) -> String {
    widest(estimate).map_or_else(dash, |interval| {
        format!("{:.1} to {:.1}", interval.low, interval.high)
    })
}

/// Returns the documents without a leak, of those with PHI.
pub(crate) fn clean(documents: &Share) -> String {
    let clean = documents.of - documents.count;
    let share = percent(1.0 - documents.share.value);
    format!("{} of {}, {share} %", thousands(clean), thousands(documents.of))
}

/// Formats the exact interval of the documents without a leak.
pub(crate) fn clean_range(documents: &Share) -> String {
    range(documents.exact.map(|leaking| Interval {
        low: 1.0 - leaking.high,
        high: 1.0 - leaking.low,
    }))
}

/// Formats a difference in points, with its sign.
pub(crate) fn points(difference: f64) -> String {
    format!("{:+.2}", 100.0 * difference)
}

/// Formats a difference's interval in points.
pub(crate) fn points_range(interval: Option<Interval>) -> String {
    interval.map_or_else(dash, |interval| {
        format!("{} to {}", points(interval.low), points(interval.high))
    })
}

/// Formats a test's p; a missing one as a dash.
pub(crate) fn p_value(test: &Test) -> String {
    match test.p {
        None => dash(),
        Some(p) if p < 0.0001 => "<0.0001".to_owned(),
        Some(p) => format!("{p:.4}"),
    }
}

/// Formats a number with separators: 12,345.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Formats a count with its noun: `1 document`, `12,345 documents`.
pub fn counted(number: u64, thing: &str) -> String {
    format!(
        "{} {thing}{}",
        thousands(number),
        if number == 1 { "" } else { "s" }
    )
}

/// Returns F-beta's name: `F2`, `F0.5`.
pub(crate) fn f_name(beta: f64) -> String {
    format!("F{beta}")
}

/// Adds the meaning to a HIPAA letter; returns anything else unchanged.
pub fn hipaa_name(letter: &str) -> String {
    let words = match letter {
        "A" => "names",
        "B" => "places below a State",
        "C" => "dates and ages",
        "D" => "telephone numbers",
        "E" => "fax numbers",
        "F" => "e-mail addresses",
        "G" => "social security numbers",
        "H" => "medical record numbers",
        "I" => "health plan numbers",
        "J" => "account numbers",
        "K" => "certificates and licences",
        "L" => "vehicles",
        "M" => "devices",
        "N" => "URLs",
        "O" => "IP addresses",
        "P" => "biometrics",
        "Q" => "photographs",
        "R" => "any other identifier",
        _ => return letter.to_owned(),
    };
    format!("{letter} {words}")
}

/// Returns the strict F1 of each label by system, `None` if neither gold nor the system has it. Rows are
/// labels, sorted.
pub(crate) fn across(report: &Report) -> Vec<(&str, Vec<Option<f64>>)> {
    let mut rows: BTreeMap<&str, Vec<Option<f64>>> = BTreeMap::new();
    for (i, system) in report.systems.iter().enumerate() {
        for group in &system.labels.groups {
            let row = rows
                .entry(&group.name)
                .or_insert_with(|| vec![None; report.systems.len()]);
            row[i] = Some(group.strict.f1.value);
        }
    }
    rows.into_iter().collect()
}

/// Returns the name of an error class.
pub(crate) fn class_name(class: ErrorClass) -> &'static str {
    match class {
        ErrorClass::Boundary => "boundary",
        ErrorClass::Label => "label",
        ErrorClass::FalseNegative => "false negative",
        ErrorClass::FalsePositive => "false positive",
    }
}

/// Returns the name of a predicted span's position relative to gold.
pub(crate) fn shape_name(shape: Shape) -> &'static str {
    match shape {
        Shape::Same => "same span",
        Shape::Short => "too short",
        Shape::Long => "too long",
        Shape::Across => "across a boundary",
    }
}

/// Formats a kind of error: `too short 7`, `as CITY 3`.
pub(crate) fn kind(kind: &ErrorKind) -> String {
    let what = match (kind.shape, &kind.predicted) {
        (_, Some(label)) => format!("as {label}"),
        (Some(shape), None) => shape_name(shape).to_owned(),
        (None, None) => class_name(kind.class).to_owned(),
    };
    format!("{what} {}", thousands(kind.count))
}

fn dash() -> String {
    "-".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_off() {
        for (number, written) in [(0, "0"), (999, "999"), (1000, "1,000"), (1234567, "1,234,567")] {
            assert_eq!(thousands(number), written);
        }
    }

    #[test]
    fn a_p_too_small_to_print_is_not_printed_as_zero() {
        let test = |p| Test {
            statistic: None,
            p,
            pairs: 3,
            method: crate::Method::Normal,
        };
        assert_eq!(p_value(&test(Some(1e-9))), "<0.0001");
        assert_eq!(p_value(&test(Some(0.0321))), "0.0321");
        assert_eq!(p_value(&test(None)), "-");
    }
}
