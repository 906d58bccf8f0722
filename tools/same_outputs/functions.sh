# A pipeline fails if any of its programs fails.
set -o pipefail

# stop_at FILE LINES SIGNAL COMMAND...: run a command, and send it a signal when FILE has this number of lines. Creates a
# file named "stopped" when the command has ended, and returns its exit status.
stop_at() {
  local file=$1 lines=$2 signal=$3 status=0
  shift 3
  exec 3<&0
  env --default-signal=INT "$@" <&3 &
  local process=$!
  until [ "$(cat "$file" 2>/dev/null | wc -l)" -ge "$lines" ]; do
    kill -0 $process 2>/dev/null || break
    sleep 0.05
  done
  kill -"$signal" $process 2>/dev/null
  wait $process || status=$?
  touch stopped
  return $status
}

# until_stopped FILE: write a file to standard output, then wait until stop_at has ended.
until_stopped() {
  cat "$1"
  until [ -e stopped ]; do sleep 0.05; done
}
