//! Passwords from the environment and from password files, as libpq finds them.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use tokio_postgres::Config;
use tokio_postgres::config::Host;
use zeroize::Zeroizing;

use super::SettingsError;

/// Returns the password of `PGPASSWORD`, else of the password file.
pub(super) fn find(
    config: &Config,
    passfile: Option<&Path>,
) -> Result<Option<Zeroizing<String>>, SettingsError> {
    if let Ok(password) = env::var("PGPASSWORD").map(Zeroizing::new)
        && !password.is_empty()
    {
        return Ok(Some(password));
    }
    let given = passfile
        .map(Path::to_owned)
        .or_else(|| env::var_os("PGPASSFILE").map(PathBuf::from));
    let path = match given.clone().or_else(in_home) {
        Some(path) => path,
        None => return Ok(None),
    };
    let unreadable = |why: String| SettingsError::PasswordFile {
        path: path.clone(),
        why,
    };
    let content = match fs::read_to_string(&path).map(Zeroizing::new) {
        Ok(content) => content,
        Err(error) if given.is_some() => return Err(unreadable(error.to_string())),
        Err(_) => return Ok(None),
    };
    if is_open(&path) {
        return Err(unreadable(
            "other users can read it; run `chmod 600` on it".to_owned(),
        ));
    }
    Ok(look_up(&content, config))
}

fn in_home() -> Option<PathBuf> {
    Some(PathBuf::from(env::var_os("HOME")?).join(".pgpass"))
}

#[cfg(unix)]
fn is_open(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o077 != 0)
}

#[cfg(not(unix))]
fn is_open(_: &Path) -> bool {
    false
}

/// Returns the password of the first line that matches: `host:port:database:user:password`, where `*` matches
/// everything.
fn look_up(content: &str, config: &Config) -> Option<Zeroizing<String>> {
    let user = config.get_user().unwrap_or_default();
    let database = config.get_dbname().unwrap_or(user);
    let hosts: Vec<&str> = config
        .get_hosts()
        .iter()
        .map(|host| match host {
            Host::Tcp(name) => name.as_str(),
            #[cfg(unix)]
            Host::Unix(_) => "localhost",
        })
        .collect();
    let ports = config.get_ports();
    let lines = content
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty());
    for line in lines {
        let fields = fields(line);
        let [host, port, name, login, password] = fields.as_slice() else {
            continue;
        };
        let one = |field: &str, value: &str| field == "*" || field == value;
        let port_matches = match ports {
            [] => one(port, "5432"),
            ports => ports.iter().any(|number| one(port, &number.to_string())),
        };
        if hosts.iter().any(|value| one(host, value))
            && port_matches
            && one(name, database)
            && one(login, user)
        {
            return Some(password.clone());
        }
    }
    None
}

/// Splits a line at its colons; a backslash makes the next character ordinary.
fn fields(line: &str) -> Vec<Zeroizing<String>> {
    let mut fields = vec![Zeroizing::new(String::new())];
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        let number = fields.len();
        match letter {
            ':' if number < 5 => fields.push(Zeroizing::new(String::new())),
            '\\' => fields[number - 1].extend(letters.next()),
            letter => fields[number - 1].push(letter),
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    fn password(content: &str, connection: &str) -> Option<String> {
        let config: Config = connection.parse().unwrap();
        look_up(content, &config).map(|password| password.to_string())
    }

    #[test]
    fn the_first_line_that_matches_has_the_password() {
        let content = "# a comment\ndb.example:5432:ehr:writer:wrong\ndb.example:5432:ehr:reader:se\\:cret:1\n*:*:*:*:other\n";
        let found = |connection| password(content, connection);
        assert_eq!(
            found("postgres://reader@db.example/ehr").as_deref(),
            Some("se:cret:1")
        );
        assert_eq!(
            found("postgres://reader@db.example:5433/ehr").as_deref(),
            Some("other")
        );
        assert_eq!(
            password("db.example:5432:ehr", "postgres://r@db.example/ehr"),
            None
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_password_file_that_others_can_read_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), "*:*:*:*:hush\n").unwrap();
        let config: Config = "postgres://r@h/d".parse().unwrap();
        fs::set_permissions(file.path(), fs::Permissions::from_mode(0o600)).unwrap();
        let found = find(&config, Some(file.path())).unwrap();
        assert_eq!(found.as_ref().map(|found| found.as_str()), Some("hush"));
        fs::set_permissions(file.path(), fs::Permissions::from_mode(0o644)).unwrap();
        let error = find(&config, Some(file.path())).unwrap_err().to_string();
        assert!(error.contains("chmod 600") && !error.contains("hush"), "{error}");
    }
}
