//! Reads columns from an object's name, as in Hive and Spark partitions:
//! `visits/year=2019/ward=4%20West/part-0.parquet`.

use super::Constant;

/// Hive's marker of a missing value.
const NULL: &str = "__HIVE_DEFAULT_PARTITION__";

/// Returns the columns and values in a name.
pub(super) fn of(name: &str) -> Vec<Constant> {
    let folders = name.rsplit_once('/').map_or("", |(folders, _)| folders);
    folders
        .split('/')
        .filter_map(|folder| folder.split_once('='))
        .filter(|(key, _)| !key.is_empty())
        .map(|(key, value)| (decoded(key), (value != NULL).then(|| decoded(value))))
        .collect()
}

/// Decodes percent escapes such as `%20`, and keeps everything else.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let digit = |byte: u8| char::from(byte).to_digit(16);
        match (first, after) {
            (b'%', [high, low, after @ ..]) => match (digit(*high), digit(*low)) {
                (Some(high), Some(low)) => {
                    bytes.push((high * 16 + low) as u8);
                    rest = after;
                    continue;
                }
                _ => bytes.push(b'%'),
            },
            _ => bytes.push(*first),
        }
        rest = after;
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_with_a_name_and_a_value_are_columns_and_the_file_is_none() {
        let found = of("x/year=2019/ward=4%20West%2/site=__HIVE_DEFAULT_PARTITION__/a=b.parquet");
        assert_eq!(
            found,
            [
                ("year".to_owned(), Some("2019".to_owned())),
                ("ward".to_owned(), Some("4 West%2".to_owned())),
                ("site".to_owned(), None)
            ]
        );
        assert!(of("a=b.parquet").is_empty());
    }
}
