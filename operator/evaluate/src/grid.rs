//! Aligned columns of plain text.

/// The width of a terminal that tables fit in, in characters.
pub const WIDTH: usize = 100;

/// Columns as wide as their widest cell: names left-aligned, all others right-aligned.
pub struct Grid {
    rows: Vec<Vec<String>>,
    /// The number of columns of names.
    names: usize,
}

impl Grid {
    /// Creates a table with these heads, whose first column is one of names.
    pub fn new(head: &[&str]) -> Self {
        Self {
            rows: vec![head.iter().map(|&cell| cell.to_owned()).collect()],
            names: 1,
        }
    }

    /// Makes the first `names` columns ones of names.
    pub fn names(self, names: usize) -> Self {
        Self { names, ..self }
    }

    /// Adds a row.
    pub fn row(&mut self, row: Vec<String>) {
        self.rows.push(row);
    }

    /// Writes the table, unless it has only a head.
    pub fn write(&self, out: &mut String, title: &str) {
        if self.rows.len() < 2 {
            return;
        }
        let width = |column: usize| {
            self.rows
                .iter()
                .filter_map(|row| row.get(column))
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.rows[0].len()).map(width).collect();
        out.push_str(&format!("\n{title}\n"));
        for row in &self.rows {
            let mut line = String::new();
            for (column, (cell, &width)) in row.iter().zip(&widths).enumerate() {
                match column < self.names {
                    true => line.push_str(&format!("  {cell:<width$}")),
                    false => line.push_str(&format!("  {cell:>width$}")),
                }
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
    }
}

/// Truncates to `width` characters with an ellipsis. Control characters are replaced, since they could move
/// the cursor.
pub fn cut(name: &str, width: usize) -> String {
    let clean = name.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c });
    if name.chars().count() <= width {
        clean.collect()
    } else {
        clean.take(width - 1).chain(std::iter::once('…')).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_left_aligned_and_numbers_right_aligned() {
        let mut grid = Grid::new(&["of", "corpus", "count"]).names(2);
        grid.row(["tokens", "a", "1,000"].map(str::to_owned).to_vec());
        grid.row(["spans", "ward", "7"].map(str::to_owned).to_vec());
        let mut out = String::new();
        grid.write(&mut out, "Amounts");
        assert_eq!(
            out,
            "\nAmounts\n  of      corpus  count\n  tokens  a       1,000\n  spans   ward        7\n"
        );
    }

    #[test]
    fn a_name_is_cut_and_cannot_move_the_cursor() {
        assert_eq!(cut("ward\x1b", 5), "ward\u{fffd}");
        assert_eq!(cut("ward-seven", 5), "ward…");
    }
}
