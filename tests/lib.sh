# shellcheck shell=bash
# What the system tests share. Every test is one line of TAP on stdout, with
# the script's name, which tests/check.sh counts; details of a failure follow
# it, behind "# ".
set -eu
shopt -s lastpipe # a function at the end of a pipe may count
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck disable=SC2034 # used by the scripts that source this
TOLLGATE=build/tollgate
FAILED=0
SUITE=$(basename "$0" .sh)

# Scratch space, gone at exit.
# shellcheck disable=SC2034 # used by the scripts that source this
SCRATCH=$(mktemp -d "${TMPDIR:-/tmp}/tollgate-test.XXXXXX")
trap 'rm -rf "$SCRATCH"' EXIT
trap 'exit 130' INT TERM

ok() {
    echo "ok - $SUITE: $*"
}

# not_ok NAME: the details come on stdin.
not_ok() {
    FAILED=$((FAILED + 1))
    echo "not ok - $SUITE: $*"
    sed 's/^/# /'
}

skip() {
    echo "ok - $SUITE: $1 # SKIP $2"
}

# said FRAGMENT: is it in what was said? An empty one: was nothing said?
said() {
    if [ -z "$1" ]; then
        [ ! -s "$SCRATCH/said" ]
    else
        grep -qaF -- "$1" "$SCRATCH/said"
    fi
}

# wants NAME STATUS FRAGMENT COMMAND...: the command must end with STATUS and
# say FRAGMENT on the way; $SCRATCH/said keeps what it said.
wants() {
    local name=$1 status=$2 fragment=$3 got=0
    shift 3
    "$@" >"$SCRATCH/said" 2>&1 || got=$?
    if [ "$got" = "$status" ] && said "$fragment"; then
        ok "$name"
    else
        {
            echo "want status $status and: $fragment"
            echo "got status $got and, at the end:"
            tail -n 15 "$SCRATCH/said"
        } | not_ok "$name"
    fi
}

# flip FILE OFFSET: one bit of one byte.
flip() {
    local byte
    byte=$(od -An -tu1 -j "$2" -N 1 "$1")
    # shellcheck disable=SC2059 # the format is made here
    printf "\\x$(printf %x $((byte ^ 1)))" |
        dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

# The exit status of a test script.
finish() {
    exit $((FAILED > 0))
}
