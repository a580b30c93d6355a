//! `lethe adapt merge`: merges corpora with different labels.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::Path;

use lethe_corpus::{Joined, merge, source, write_jsonl};

use crate::cli::MergeArgs;
use crate::commands::documents::create;
use crate::exit::usage;

/// Merges the corpora, writes them, and prints the count of each label in each corpus.
pub(crate) fn run(args: &MergeArgs) -> anyhow::Result<()> {
    let sources = args.corpus.iter().map(|corpus| source(corpus).map_err(usage));
    let sources = sources.collect::<Result<Vec<_>, _>>()?;
    let (documents, joined) = merge(&sources).map_err(usage)?;
    write_jsonl(&args.out, &documents)?;
    let mut out = create(Path::new("-"))?;
    out.write_all(table(&joined).as_bytes())?;
    out.flush()?;
    tracing::info!("{} documents are in {}", documents.len(), args.out.display());
    Ok(())
}

/// Formats the counts with a row per label and a column per corpus.
fn table(joined: &[Joined]) -> String {
    let labels: BTreeSet<&String> = joined.iter().flat_map(|corpus| corpus.labels.keys()).collect();
    let mut rows = vec![vec![String::new()], vec!["documents".to_owned()]];
    rows.extend(labels.iter().map(|label| vec![(*label).clone()]));
    rows.push(vec!["(left out)".to_owned()]);
    for corpus in joined {
        let counts = labels
            .iter()
            .map(|label| corpus.labels.get(*label).copied().unwrap_or(0));
        let column = [corpus.documents]
            .into_iter()
            .chain(counts)
            .chain([corpus.left_out]);
        let column = [corpus.name.clone()]
            .into_iter()
            .chain(column.map(|n| n.to_string()));
        rows.iter_mut().zip(column).for_each(|(row, cell)| row.push(cell));
    }
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..=joined.len()).map(width).collect();
    let line = |row: &Vec<String>| {
        let first = format!("{:<1$}", row[0], widths[0]);
        let rest = row.iter().zip(&widths).skip(1);
        let rest = rest.map(|(cell, width)| format!("  {cell:>width$}"));
        format!("{first}{}\n", rest.collect::<String>())
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_a_row_a_label_and_a_column_a_corpus() {
        let corpus = |name: &str, label: &str, count| Joined {
            name: name.to_owned(),
            documents: 12,
            labels: [(label.to_owned(), count)].into(),
            left_out: 3,
        };
        let expected = concat!(
            "            home  b\n",
            "documents     12  12\n",
            "DATE         100   0\n",
            "NAME           0   7\n",
            "(left out)     3   3\n",
        );
        let found = table(&[corpus("home", "DATE", 100), corpus("b", "NAME", 7)]);
        let squeezed = |text: &str| -> Vec<Vec<String>> {
            let words = |line: &str| line.split_whitespace().map(str::to_owned).collect();
            text.lines().map(words).collect()
        };
        assert_eq!(squeezed(&found), squeezed(expected));
    }
}
