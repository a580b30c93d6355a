# The first minutes: a sample of everything, a first configuration, and what the program says about itself.

mkdir -p notes .zfunc
echo 'Dr. Orla Penhallow called (612) 555-0142.' >notes/first.txt

# The whole pipeline on sample notes, which needs nothing else.
lethe demo --bundle en-fast --out lethe-demo

# A first configuration, with its policy and its key; on a terminal, `lethe init` asks for what is missing.
lethe init --source files --path notes/ --policy safe-harbor --out lethe.toml
lethe init --source kafka --brokers kafka.example:9092 --topic notes --policy research --data out/ --out kafka/lethe.toml
lethe check -c lethe.toml --json > findings.json
# Every value in effect, and where it comes from.
lethe check -c lethe.toml --explain
lethe new-key --id csv-2026 --out keys-2026.toml

# Schemas for editors and for those who send notes.
lethe schema config > lethe.schema.json
lethe schema policy > policy.schema.json
lethe schema event > event.schema.json
lethe metrics
lethe metrics --json > metrics.json
lethe completions bash > lethe.bash
lethe completions zsh > .zfunc/_lethe
lethe completions fish > lethe.fish

# Options of all commands.
lethe --version
lethe redact --help
lethe redact --quiet notes/first.txt
lethe show --color always notes/first.txt > coloured.txt
lethe --log lethe=debug,warn --log-format json redact notes/first.txt
