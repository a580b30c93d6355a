# The server, and health endpoints of running programs. `lethe serve` runs until it is stopped.

cp "$DOCS"/policies/safe-harbor.toml policy.toml
printf '[engine]\nbundle = "en-fast"\n' >lethe.toml
cp -r "$DOCS"/../models/de-clinical .
openssl rand -hex 32 >tokens
# certificate NAME OPTION...
certificate() {
  openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj "/CN=$1" -keyout "$1.key" -out "$1.pem" "${@:2}" 2>>openssl.log
}
certificate clients
certificate server -addext subjectAltName=IP:127.0.0.1
certificate client -CA clients.pem -CAkey clients.key -addext basicConstraints=critical,CA:FALSE

trap 'kill $(jobs -p) 2>/dev/null || true' EXIT

answers() {
  for _ in $(seq 600); do
    if curl --silent --fail "$@" --output health; then return; fi
    sleep 0.1
  done
  echo "the server does not answer" >&2
  return 1
}
stop() {
  kill %1
  wait %1
}

lethe serve --policy policy.toml --listen 127.0.0.1:$PORT &
answers http://127.0.0.1:$PORT/health
lethe probe --timeout 2 http://127.0.0.1:$PORT/health
curl --silent --fail -H 'Content-Type: application/json' --data '{"text": "Dr. Orla Penhallow called."}' http://127.0.0.1:$PORT/v1/redact >answer.json
if grep Penhallow answer.json; then exit 1; fi
stop
# For other machines: over TLS, with tokens.
lethe serve -c lethe.toml --listen 127.0.0.1:$PORT --token-file tokens --tls-cert server.pem --tls-key server.key &
answers --cacert server.pem https://127.0.0.1:$PORT/health
stop
# Each note by the bundle of its language.
lethe serve --lang auto --bundle en=en-fast --bundle de=de-clinical/ --language en,de --listen 127.0.0.1:$PORT &
answers http://127.0.0.1:$PORT/health
stop
# With certificates of clients, and limits.
lethe serve --bundle en-clinical --operating-point recall --listen 127.0.0.1:$PORT --client-ca clients.pem --tls-cert server.pem --tls-key server.key --threads 2 --concurrency 64 --language en --max-body-bytes 1048576 --body-memory-mib 64 --body-seconds 5 --request-seconds 10 &
answers --cacert server.pem --cert client.pem --key client.key https://127.0.0.1:$PORT/health
stop
