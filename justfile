# Everyday recipes: `just` lists them. Each is one call of cargo or of a script, so that none needs just.

# Arguments reach the script as they were typed, quotes and all.
set positional-arguments

_list:
    @just --list --unsorted

# the program's own demo: notes in, redacted Parquet in target/demo
demo:
    scripts/demo

# every test, with the real servers (arguments go to cargo test)
test *ARGS:
    scripts/test "$@"

# one command with the real servers up: just with cargo test -p lethe-connectors-tests kafka
with +COMMAND:
    scripts/with-servers "$@"

# what .ci/run checks before it runs anything
lint:
    cargo fmt --all --check && cargo clippy --workspace --all-targets --locked -- -D warnings

# the pages of docs/reference and docs/man, from the code
reference:
    LETHE_WRITE_REFERENCE=1 cargo test -p lethe-app --locked reference::tests

# format in place
fmt:
    cargo fmt --all

# documentation, in target/doc
doc:
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked

# the guides as a site, in target/book
book:
    scripts/book

# licences, sources, duplicate versions and (needs the internet) advisories
deny:
    target/tools/bin/cargo-deny --locked check

# the library's public items against those of the last release
semver:
    release/semver

# benches: one a stage, one end to end from a real Kafka
bench *ARGS:
    scripts/with-servers cargo bench --locked -p lethe-benches "$@"

# a fuzz target for a minute: just fuzz tokenizer
fuzz TARGET *ARGS:
    scripts/fuzz "$@"

# a Kafka and an S3 store to play with; each prints where it is
up:
    scripts/kafka start && scripts/s3 start

# end both and remove their data
down:
    scripts/kafka stop && scripts/s3 stop

# everything that a change must pass
ci:
    .ci/run
