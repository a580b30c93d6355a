//! Decides when a lane's buffer becomes a file.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Limits of a notes file. A lane writes its file as soon as the file reaches one of them.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Roll {
    /// The estimated compressed size of the notes file, without its footer.
    pub max_bytes: u64,
    /// The number of rows.
    #[schemars(extend("x-unit" = "rows"))]
    pub max_rows: u64,
    /// The time since the first row of the file: the longest that a note waits until it is readable.
    #[serde(
        rename = "max_age_seconds",
        deserialize_with = "seconds",
        serialize_with = "in_seconds"
    )]
    #[schemars(with = "f64", range(min = 0))]
    pub max_age: Duration,
    /// The time since the last row of the file: after a burst, its last notes need not wait for
    /// `max_age_seconds`.
    #[serde(
        rename = "max_idle_seconds",
        deserialize_with = "seconds",
        serialize_with = "in_seconds"
    )]
    #[schemars(with = "f64", range(min = 0))]
    pub max_idle: Duration,
}

impl Default for Roll {
    /// 64 MiB, a million rows, five minutes, thirty seconds.
    fn default() -> Self {
        Self {
            max_bytes: 64 << 20,
            max_rows: 1_000_000,
            max_age: Duration::from_secs(300),
            max_idle: Duration::from_secs(30),
        }
    }
}

/// A lane's records that are not durable yet.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Held {
    /// Expected size of the notes file in bytes.
    pub bytes: u64,
    /// Number of rows.
    pub rows: u64,
    /// Number of skipped offsets without a row.
    pub skipped: u64,
    /// Time since the first of them arrived.
    pub age: Duration,
    /// Time since the last of them arrived.
    pub idle: Duration,
}

/// The limit that a file has reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// [`Roll::max_bytes`].
    Bytes,
    /// [`Roll::max_rows`].
    Rows,
    /// [`Roll::max_age`].
    Age,
    /// [`Roll::max_idle`].
    Idle,
    /// [`Roll::max_age`], with skipped offsets and no row.
    Skipped,
}

impl Due {
    /// Returns the name in metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::Rows => "rows",
            Self::Age => "age",
            Self::Idle => "idle",
            Self::Skipped => "skipped",
        }
    }
}

impl Roll {
    /// Returns the limit that requires a write now, if there is one. An empty buffer never requires one.
    pub fn due(&self, held: &Held) -> Option<Due> {
        let limits = [
            (held.bytes >= self.max_bytes, Due::Bytes),
            (held.rows >= self.max_rows, Due::Rows),
            (held.age >= self.max_age, Due::Age),
            (held.idle >= self.max_idle, Due::Idle),
        ];
        let reached = limits.into_iter().find(|&(reached, _)| reached);
        if held.rows > 0 {
            return reached.map(|(_, due)| due);
        }
        // Offsets without rows, such as transaction markers, release nothing that anybody waits for. They are
        // written with other rows, or at the age limit, so that lag does not seem to grow.
        (held.skipped > 0 && held.age >= self.max_age).then_some(Due::Skipped)
    }
}

fn seconds<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let seconds = f64::deserialize(deserializer)?;
    Duration::try_from_secs_f64(seconds)
        .map_err(|_| serde::de::Error::custom("a number of seconds, 0 or more, is needed"))
}

fn in_seconds<S: serde::Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(duration.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(bytes: u64, rows: u64, age: u64, idle: u64) -> Held {
        Held {
            bytes,
            rows,
            skipped: 0,
            age: Duration::from_secs(age),
            idle: Duration::from_secs(idle),
        }
    }

    #[test]
    fn each_limit_alone_makes_a_file_due() {
        let roll = Roll {
            max_bytes: 100,
            max_rows: 10,
            max_age: Duration::from_secs(60),
            max_idle: Duration::from_secs(5),
        };
        assert_eq!(roll.due(&held(99, 9, 59, 4)), None);
        assert_eq!(roll.due(&held(100, 1, 0, 0)), Some(Due::Bytes));
        assert_eq!(roll.due(&held(1, 10, 0, 0)), Some(Due::Rows));
        assert_eq!(roll.due(&held(1, 1, 60, 0)), Some(Due::Age));
        assert_eq!(roll.due(&held(1, 1, 0, 5)), Some(Due::Idle));
    }

    #[test]
    fn nothing_is_never_due_and_markers_alone_only_with_age() {
        let roll = Roll::default();
        assert_eq!(roll.due(&held(0, 0, 9999, 9999)), None);
        let markers = |age| Held {
            skipped: 3,
            ..held(0, 0, age, age)
        };
        assert_eq!(roll.due(&markers(31)), None);
        assert_eq!(roll.due(&markers(300)), Some(Due::Skipped));
    }

    #[test]
    fn limits_are_read_from_configuration() {
        let roll: Roll = serde_json::from_str(r#"{"max_age_seconds": 0.5, "max_rows": 7}"#).unwrap();
        assert_eq!((roll.max_age, roll.max_rows), (Duration::from_millis(500), 7));
        assert!(serde_json::from_str::<Roll>(r#"{"max_age_seconds": -1}"#).is_err());
        assert!(serde_json::from_str::<Roll>(r#"{"max_age": 1}"#).is_err());
    }
}
