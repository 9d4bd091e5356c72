#!/bin/bash
# One platform from power-on to verdict: boots it, and checks what the run
# left behind. tests/platform.sh PLATFORM
. "$(dirname "$0")/lib.sh"

PLATFORM=$1
SUITE=$PLATFORM
DIR=build/run/$PLATFORM

# Every scenario's verdict counts by itself, as the host tool wrote it: one
# that fails as the list of expected verdicts says is as it should be. Exits
# that have no scenario are no tests.
scenarios() {
    sed -n -e '/# TODO not covered/d' \
        -e "s/^not ok [0-9]* - \(.*\) # TODO \(.*\)/ok - $SUITE: \1 (\2)/p;t" \
        -e "s/^\(not \)\{0,1\}ok [0-9]* - /\1ok - $SUITE: /p" \
        "$DIR/verdict.tap"
}

verdicts() {
    local status=0
    ./run-qemu.sh --platform "$PLATFORM" --quiet \
        --expect "tests/expected/$PLATFORM" >"$SCRATCH/said" 2>&1 || status=$?
    [ ! -r "$DIR/verdict.tap" ] || scenarios
    if [ "$status" = 0 ]; then
        ok "every verdict is the expected one"
    else
        not_ok "exit status $status" <"$SCRATCH/said"
    fi
}

# The files are an interface: these and no others.
files() {
    (cd "$DIR" && ls -A) >"$SCRATCH/files" 2>&1 || true
    printf '%s\n' console.log serial.raw trace verdict.json verdict.tap \
        verdict.xml witness.log >"$SCRATCH/wanted"
    if cmp -s "$SCRATCH/files" "$SCRATCH/wanted"; then
        ok "the run leaves its seven files"
    else
        diff "$SCRATCH/wanted" "$SCRATCH/files" |
            not_ok "the run leaves its seven files"
    fi
}

# A reader that knows nothing of us reads the recording: without a complaint,
# and with as many exits as our own decoder finds.
babeltrace() {
    local name="babeltrace2 reads the recording" theirs ours
    if ! babeltrace2 "$DIR/trace" >"$SCRATCH/text" 2>"$SCRATCH/said" ||
        [ -s "$SCRATCH/said" ]; then
        not_ok "$name" <"$SCRATCH/said"
        return
    fi
    theirs=$(grep -c 'hvm:vmexit:' "$SCRATCH/text" || true)
    ours=$("$TOLLGATE" print --crossings "$DIR/serial.raw" | grep -c '^exit')
    if [ "$theirs" = "$ours" ] && [ "$ours" -gt 0 ]; then
        ok "$name: $ours exits"
    else
        not_ok "$name" <<<"it finds $theirs exits, tollgate print $ours"
    fi
}

verdicts
files
babeltrace
finish
