# Rows of a query of a PostgreSQL database. The password comes from PGPASSWORD, PGPASSFILE or ~/.pgpass.

cat >lethe.toml <<'TOML'
[engine]
bundle = "en-fast"
[backfill.columns]
text = ["text"]
keep = ["ward"]
known = { patient = ["name"] }
patient_id = "mrn"
[sink]
store = { kind = "folder", path = "redacted" }
TOML

lethe profile --source "$DATABASE" --query 'SELECT * FROM notes'
lethe backfill -c lethe.toml --source "$DATABASE" --query 'SELECT * FROM notes' --key note_id
