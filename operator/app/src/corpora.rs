//! The statistics of corpora as tables.

use lethe_corpus::statistics::{
    Amount, Comparison, Corpus, Group, GroupRatio, GroupRatios, Groups, Occurrences, Part, Ratio, Statistics,
    Term, Terms,
};
use lethe_evaluate::sheet::{Grid, WIDTH, cut, hipaa_name, percent, thousands};

/// The width of a corpus' name.
const NAME: usize = 20;
/// The width of labels and words, which is that of the longest built-in label.
const LABEL: usize = 32;

/// Returns the report as aligned plain text with lines of about 100 characters.
pub(crate) fn table(report: &Statistics) -> String {
    let mut tables = Tables {
        report,
        out: String::new(),
    };
    tables.title();
    tables.documents();
    tables.amounts();
    for by in BY {
        tables.groups(&by);
    }
    tables.forms();
    for comparison in &report.comparisons {
        tables.terms(comparison);
    }
    tables.out.trim_start().to_owned()
}

/// A grouping of labels.
struct By {
    name: &'static str,
    title: &'static str,
    groups: fn(&Corpus) -> Option<&Groups>,
    ratios: fn(&Comparison) -> Option<&GroupRatios>,
}

const BY: [By; 4] = [
    By {
        name: "label",
        title: "label",
        groups: |corpus| Some(&corpus.labels),
        ratios: |comparison| Some(&comparison.labels),
    },
    By {
        name: "category",
        title: "category",
        groups: |corpus| corpus.categories.as_ref(),
        ratios: |comparison| comparison.categories.as_ref(),
    },
    By {
        name: "identifier",
        title: "HIPAA identifier (45 CFR 164.514(b)(2)(i))",
        groups: |corpus| corpus.hipaa.as_ref(),
        ratios: |comparison| comparison.hipaa.as_ref(),
    },
    By {
        name: "kind",
        title: "direct identifiers and quasi-identifiers",
        groups: |corpus| corpus.identifiers.as_ref(),
        ratios: |comparison| comparison.identifiers.as_ref(),
    },
];

struct Tables<'a> {
    report: &'a Statistics,
    out: String,
}

impl Tables<'_> {
    fn title(&mut self) {
        if let Some(Comparison { first, .. }) = self.report.comparisons.first() {
            let first = cut(first, NAME);
            self.out
                .push_str(&format!("Ratios are relative to {first}, the first corpus.\n"));
        }
        for label in &self.report.unmapped {
            self.out.push_str(&format!(
                "The label set lacks {}; it is a category of its own.\n",
                cut(label, 2 * NAME)
            ));
        }
    }

    fn documents(&mut self) {
        let head = ["corpus", "documents", "patients", "labels", "without spans", "%"];
        let mut grid = Grid::new(&head);
        for corpus in &self.report.corpora {
            let used = corpus.labels.groups.iter().filter(|group| group.spans.count > 0);
            grid.row(vec![
                cut(&corpus.name, NAME),
                thousands(corpus.documents),
                corpus.patients.map_or_else(dash, thousands),
                thousands(used.count() as u64),
                thousands(corpus.without_spans.count),
                percent(corpus.without_spans.share),
            ]);
        }
        grid.write(&mut self.out, "Documents");
    }

    fn amounts(&mut self) {
        type Of = (&'static str, fn(&Corpus) -> Amount, fn(&Comparison) -> Ratio);
        let rows: [Of; 4] = [
            (
                "sentences",
                |corpus| corpus.sentences,
                |comparison| comparison.sentences,
            ),
            ("tokens", |corpus| corpus.tokens, |comparison| comparison.tokens),
            ("spans", |corpus| corpus.spans, |comparison| comparison.spans),
            (
                "tokens in spans",
                |corpus| corpus.span_tokens,
                |comparison| comparison.span_tokens,
            ),
        ];
        let mut grid = self.grid(
            "of",
            &["total", "mean", "min", "median", "max"],
            &["ratio of means"],
        );
        for (name, amount, ratio) in rows {
            for (corpus, comparison) in self.corpora() {
                let amount = amount(corpus);
                let figures = vec![
                    thousands(amount.total),
                    decimals(amount.mean),
                    thousands(amount.min),
                    format!("{:.1}", amount.median),
                    thousands(amount.max),
                ];
                let ratios = vec![comparison.map_or_else(dash, |comparison| times(ratio(comparison).mean))];
                grid.row(self.row(name, corpus, figures, ratios));
            }
        }
        grid.write(
            &mut self.out,
            "Amounts, and how they are distributed over documents",
        );
    }

    /// Writes the spans of each group, and their tokens.
    fn groups(&mut self, by: &By) {
        let spans = |group: &Group, ratio: Option<&GroupRatio>| {
            let ratio_of =
                |of: fn(&GroupRatio) -> Option<f64>| ratio.map_or_else(dash, |ratio| times(of(ratio)));
            (
                vec![
                    thousands(group.spans.count),
                    percent(group.spans.share),
                    decimals(group.spans.per_thousand),
                ],
                vec![ratio_of(|ratio| ratio.spans), ratio_of(|ratio| ratio.rate)],
            )
        };
        let head = ["spans", "%", "per 1,000 tokens"];
        let title = format!("Spans by {}", by.title);
        self.by_group(by, &title, &head, &["ratio", "of rates"], spans);
        let tokens = |group: &Group, ratio: Option<&GroupRatio>| {
            (
                vec![
                    thousands(group.tokens.count),
                    percent(group.tokens.share),
                    decimals(group.tokens.per_thousand),
                ],
                vec![ratio.map_or_else(dash, |ratio| times(ratio.tokens))],
            )
        };
        let head = ["tokens", "%", "per 1,000 tokens"];
        let title = format!("Tokens in spans by {}", by.title);
        self.by_group(by, &title, &head, &["ratio"], tokens);
    }

    /// Writes the surface forms of each label.
    fn forms(&mut self) {
        let share = |of: Option<&Part>| of.map_or_else(dash, |part| percent(part.share));
        let forms = |group: &Group, ratio: Option<&GroupRatio>| {
            let forms_seen = ratio.map(|ratio| &ratio.forms_seen);
            (
                vec![
                    thousands(group.forms),
                    thousands(group.once.count),
                    percent(group.once.share),
                ],
                vec![
                    forms_seen.map_or_else(dash, |part| thousands(part.count)),
                    share(forms_seen),
                    share(ratio.map(|ratio| &ratio.spans_seen)),
                ],
            )
        };
        let head = ["forms", "once", "% spans"];
        let seen = ["seen", "%", "% spans"];
        let title = match self.report.comparisons.first() {
            Some(Comparison { first, .. }) => format!(
                "Surface forms of spans by label (once: they occur once; seen: {} has them)",
                cut(first, NAME)
            ),
            None => "Surface forms of spans by label (once: they occur once)".to_owned(),
        };
        self.by_group(&BY[0], &title, &head, &seen, forms);
    }

    /// Writes a table with a row for each group and corpus. `cells` returns the cells of a group, and those that compare
    /// it with the first corpus.
    fn by_group(
        &mut self,
        by: &By,
        title: &str,
        head: &[&str],
        compared: &[&str],
        cells: impl Fn(&Group, Option<&GroupRatio>) -> (Vec<String>, Vec<String>),
    ) {
        let mut grid = self.grid(by.name, head, compared);
        let count = |corpus: &Corpus| (by.groups)(corpus).map(|groups| groups.groups.len());
        // All corpora have the same groups.
        let Some(groups) = self.report.corpora.first().and_then(count) else {
            return;
        };
        for at in (0..groups).map(Some).chain([None]) {
            for (corpus, comparison) in self.corpora() {
                let group = (by.groups)(corpus).and_then(|groups| match at {
                    Some(at) => groups.groups.get(at),
                    None => Some(&groups.all),
                });
                let ratio = comparison.and_then(by.ratios).and_then(|ratios| match at {
                    Some(at) => ratios.groups.get(at),
                    None => Some(&ratios.all),
                });
                if let Some(group) = group {
                    let (figures, ratios) = cells(group, ratio);
                    let name = match by.name {
                        "identifier" => hipaa_name(&group.name),
                        _ => group.name.clone(),
                    };
                    grid.row(self.row(&name, corpus, figures, ratios));
                }
            }
        }
        grid.write(&mut self.out, &cut(title, WIDTH));
    }

    fn terms(&mut self, comparison: &Comparison) {
        let [first, other] = [&comparison.first, &comparison.other].map(|name| cut(name, NAME));
        let Some(Terms {
            first: of_first,
            other: of_other,
            ..
        }) = &comparison.terms
        else {
            if self.report.settings.terms > 0 {
                self.out.push_str(&format!(
                    "\nNo words of {first} and {other} are listed: one of them has no spans, and any word may identify a patient.\n"
                ));
            }
            return;
        };
        if of_first.is_empty() && of_other.is_empty() {
            self.out.push_str(&format!(
                "\nNo words of {first} and {other} are listed: none that is over-represented occurs in {} documents (--least-documents).\n",
                self.report.settings.least_documents
            ));
        }
        self.words(of_first, &first, &other, |term| (term.first, term.other));
        self.words(of_other, &other, &first, |term| (term.other, term.first));
    }

    /// Writes the words that are over-represented in one corpus.
    fn words(
        &mut self,
        terms: &[Term],
        here: &str,
        there: &str,
        sides: fn(&Term) -> (Occurrences, Occurrences),
    ) {
        let mut grid = Grid::new(&["word", "G2", here, "documents", there, "documents"]);
        for term in terms {
            let (of_here, of_there) = sides(term);
            grid.row(vec![
                cut(&term.word, LABEL),
                decimals(term.score),
                thousands(of_here.count),
                thousands(of_here.documents),
                thousands(of_there.count),
                thousands(of_there.documents),
            ]);
        }
        let title = format!("Words over-represented in {here} compared with {there}, outside of spans");
        grid.write(&mut self.out, &title);
    }

    /// Returns each corpus with its comparison; the first has none.
    fn corpora(&self) -> impl Iterator<Item = (&Corpus, Option<&Comparison>)> {
        let comparisons = std::iter::once(None).chain(self.report.comparisons.iter().map(Some));
        self.report.corpora.iter().zip(comparisons)
    }

    /// Creates a table; of one corpus, it has no column of names of corpora, and none that compares.
    fn grid(&self, name: &str, head: &[&str], compared: &[&str]) -> Grid {
        match self.report.comparisons.is_empty() {
            true => Grid::new(&[&[name][..], head].concat()),
            false => Grid::new(&[&[name, "corpus"][..], head, compared].concat()).names(2),
        }
    }

    /// Returns a row of such a table.
    fn row(&self, name: &str, corpus: &Corpus, figures: Vec<String>, compared: Vec<String>) -> Vec<String> {
        let name = cut(name, LABEL);
        match self.report.comparisons.is_empty() {
            true => [vec![name], figures].concat(),
            false => [vec![name, cut(&corpus.name, NAME)], figures, compared].concat(),
        }
    }
}

fn decimals(figure: f64) -> String {
    format!("{figure:.2}")
}

fn times(ratio: Option<f64>) -> String {
    ratio.map_or_else(dash, decimals)
}

fn dash() -> String {
    "-".to_owned()
}

#[cfg(test)]
mod tests;
