# Runs steps with progress output and writes their details to a log. Sourced by bin/setup.

say() { printf '%s\n' "$*" >&2; }

# step TEXT COMMAND...: runs the command with its output in the log, and prints a dot every five seconds. If the
# command fails, prints the end of the log.
step() {
  local text=$1 status=0 started=$SECONDS from waited=0
  shift
  printf '\n==> %s  %s\n' "$(date '+%Y-%m-%d %H:%M:%S')" "$text" >>"$log"
  from=$(wc -l <"$log")
  printf '  %s ' "$text" >&2
  set -m # in a separate process group, so that Ctrl-C ends all of it
  "$@" </dev/null >>"$log" 2>&1 &
  step_pid=$!
  set +m
  trap 'kill -TERM -- "-$step_pid" 2>/dev/null; exit 130' INT TERM
  local pid=$step_pid
  while kill -0 "$pid" 2>/dev/null; do
    sleep 0.2
    waited=$((waited + 1))
    [ $((waited % 25)) -ne 0 ] || printf '.' >&2
  done
  wait "$pid" || status=$?
  trap - INT TERM
  if [ "$status" -eq 0 ]; then
    say " done ($((SECONDS - started)) s)"
  else
    say " FAILED (exit status $status)"
    tail -n +"$((from + 1))" "$log" | tail -n 25 | sed 's/^/    | /' >&2
    say "  All of it: $log"
  fi
  return "$status"
}

# digest FILE...: prints a line that changes with any of the files.
digest() {
  if command -v sha256sum >/dev/null; then
    cat "$@" | sha256sum
  else
    cat "$@" | shasum -a 256
  fi | cut -d ' ' -f 1
}

# lock FILE: waits until no other process holds the lock, and holds it until this process and the steps that it started
# have ended (they inherit descriptor 9). A step that survives a killed bin/setup therefore still keeps others out.
lock() {
  exec 9>>"$1" || return
  if command -v flock >/dev/null; then
    flock --wait 2 9 || { say "  Waiting for another set-up, which holds $1"; flock 9; }
  else
    perl -MFcntl=:flock -e 'open(my $lock, ">&=", 9) or die; flock($lock, LOCK_EX) or die'
  fi
}

# with_lock FILE COMMAND...: runs the command in a subshell that holds the lock. The lock of a checkout stays held.
with_lock() (
  exec 7>&9
  lock "$1" || exit
  shift
  "$@"
)

# whole MARK UNDO COMMAND...: runs the command. If its last run was killed, runs UNDO first, which removes the files that
# the command may have left half-written. A run that failed by itself leaves none.
whole() {
  local mark=$1 undo=$2 status=0
  shift 2
  [ ! -f "$mark" ] || "$undo"
  touch "$mark"
  "$@" || status=$?
  rm -f "$mark"
  return "$status"
}
