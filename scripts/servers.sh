# shellcheck shell=bash
# What scripts/kafka, scripts/s3, scripts/azure and scripts/postgres have in common: an instance is a folder that holds everything about one running
# server (its data, pid, port, log and env file), so that any number run side by side and each can be killed alone.
# Sourced, never run.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
SERVERS=$ROOT/target/servers

die() {
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit 1
}

# A port that nobody listens on, below the range from which Linux takes the ports of outgoing connections
# (32768 up), so that a client's socket cannot take it while a broker is down for a restart.
free_port() {
  local port tries
  for tries in {1..200}; do
    port=$((20000 + (RANDOM * 32768 + RANDOM + tries) % 12000))
    if ! port_open "$port"; then
      echo "$port"
      return
    fi
  done
  die "no free port between 20000 and 31999"
}

# free_ports COUNT: as many of them, all different, a line each. A server with one port twice does not start.
free_ports() {
  local -A taken=()
  local port
  while ((${#taken[@]} < $1)); do
    port=$(free_port) || return
    [[ -z ${taken[$port]-} ]] || continue
    taken[$port]=yes
    echo "$port"
  done
}

port_open() {
  (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

# Prints the pid of the instance in $1 if that very process still runs. The start time is compared because the system
# gives old pids to new processes.
live_pid() {
  local pid started
  [[ -f $1/pid ]] || return 1
  read -r pid started <"$1/pid" || return 1
  # Without a start time, the process had ended before it was recorded.
  [[ -n $started && $(start_time "$pid") == "$started" ]] || return 1
  echo "$pid"
}

# Clock ticks from boot to the start of process $1; nothing for a process that has ended (a zombie has ended too).
start_time() {
  local stat
  stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 0
  stat=${stat##*) }
  # shellcheck disable=SC2086
  set -- $stat
  [[ $1 == Z ]] || echo "${20}"
}

# launch DIR LOG COMMAND...: runs the command in a session of its own, so that neither a closed terminal nor the
# caller's signals reach it, and records who it is.
launch() {
  local dir=$1 log=$2
  shift 2
  setsid "$@" </dev/null >>"$log" 2>&1 &
  local pid=$!
  disown "$pid"
  echo "$pid $(start_time "$pid")" >"$dir/pid"
}

# end DIR [SIGNAL [SECONDS]]: ends the instance's process with the signal (TERM), and with KILL when it has not gone
# after that many seconds (15). A process that was stopped with `pause` is woken first. After KILL only the kernel still works on
# it: on a busy disk that takes a while.
end() {
  local dir=$1 signal=${2:-TERM} patience=${3:-15} pid i
  pid=$(live_pid "$dir") || return 0
  kill "-$signal" "$pid" 2>/dev/null || true
  kill -CONT "$pid" 2>/dev/null || true
  for ((i = 0; i < patience * 20; i++)); do
    live_pid "$dir" >/dev/null || return 0
    sleep 0.05
  done
  kill -KILL "$pid" 2>/dev/null || true
  for ((i = 0; i < 2400; i++)); do
    live_pid "$dir" >/dev/null || return 0
    sleep 0.05
  done
  die "process $pid in $dir does not end"
}

# follow_owner DIR PID: ends the instance in DIR and removes its folder once process PID is gone, so that a test that
# crashed leaves no server behind. The watcher has a session of its own (whatever ends the test's group spares it) and
# ends by itself when the folder goes.
follow_owner() {
  local born
  born=$(start_time "$2")
  [[ -n $born ]] || die "--owner $2: no such process"
  setsid bash -c 'source "$0" && watch_owner "$@"' "${BASH_SOURCE[0]}" "$1" "$2" "$born" </dev/null >/dev/null 2>&1 &
  disown $!
}

watch_owner() {
  local dir=$1 owner=$2 born=$3
  while [[ -d $dir && $(start_time "$owner") == "$born" ]]; do sleep 0.5; done
  if [[ -d $dir ]]; then
    end "$dir" KILL 1
    remove_instance "$dir"
  fi
}

# Removes the instance's folder, and the one outside of it whose path it keeps (scripts/postgres, as root).
remove_instance() {
  if [[ -s $1/outside ]]; then rm -rf "$(cat "$1/outside")"; fi
  rm -rf "$1"
}

# Is DIR an instance of ours? Asked before anything in it is removed.
require_instance() {
  [[ -f $1/env ]] || die "no server was started in $1"
}

# Every folder under $1 that holds an instance of kind $2.
instances() {
  [[ -d $1 ]] || return 0
  find "$1" -name env -type f -exec grep -l "^KIND=$2\$" {} + 2>/dev/null | while read -r env; do dirname "$env"; done
}

# pause freezes the instance's process (it keeps its connections and answers nothing), resume thaws it.
signal_instance() {
  local dir=$1 verb=$2 pid
  pid=$(live_pid "$dir") || die "not running in $dir"
  case $verb in
    pause) kill -STOP "$pid" ;;
    resume) kill -CONT "$pid" ;;
  esac
}
