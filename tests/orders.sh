#!/bin/bash
# Verdicts do not depend on what ran before: three runs in a row, the scenarios
# in reverse and in random order, and some of them each in a run of its own
# give the same verdicts, by as many checks. tests/orders.sh [--all] [PLATFORM]
#
# The seed is the day's, so that every day tries another order and all runs of
# one day the same; SEED=N repeats one. --all: every scenario alone, which takes
# a boot each (on qemu-svm a quarter of an hour).
. "$(dirname "$0")/lib.sh"

ALONE=20 # scenarios, each in a run of its own
if [ "${1:-}" = --all ]; then
    ALONE=all
    shift
fi
PLATFORM=${1:-qemu-svm}
: "${SEED:=$(date -u +%Y%m%d)}"

# boot OPTION...: scenario, verdict and checks of a run, a line each.
boot() {
    local dir=$SCRATCH/run
    ./run-qemu.sh --platform "$PLATFORM" --quiet --no-expect --no-witness \
        --out "$dir" "$@" >/dev/null 2>"$SCRATCH/errors" || true
    "$TOLLGATE" verdict "$dir/serial.raw" 2>>"$SCRATCH/errors" |
        awk '/^scenario +kind/ { table = 1; next }
            /^$/ { table = 0 }
            table && $1 != "-" && !/^ / { print $1, $4, $5 }' | sort
}

# same NAME FILE: does it say what the first run said?
same() {
    if [ -s "$2" ] && cmp -s "$SCRATCH/first" "$2"; then
        ok "$PLATFORM: $1"
    else
        {
            diff "$SCRATCH/first" "$2" || true
            cat "$SCRATCH/errors"
        } | not_ok "$PLATFORM: $1"
    fi
}

repeated() {
    boot >"$SCRATCH/first"
    for n in second third; do
        boot >"$SCRATCH/again"
        same "the $n run in a row gives the same verdicts" "$SCRATCH/again"
    done
}

reordered() {
    boot --set order=reverse >"$SCRATCH/again"
    same "so does the reverse order" "$SCRATCH/again"
    for seed in 1 "$SEED"; do
        boot --set order="$seed" >"$SCRATCH/again"
        same "so does a random order (--set order=$seed)" "$SCRATCH/again"
    done
}

# A number from 0 on, the same for the same text and seed.
hash() {
    cksum <<<"$1 $SEED" | cut -d ' ' -f 1
}

# The scenarios to run alone, those whose hash is lowest first. A failure without
# a check was not run: the machine would not survive it.
chosen() {
    local name
    awk '!($2 == "fail" && $3 == 0) { print $1 }' "$SCRATCH/first" |
        while read -r name; do
            echo "$(hash "$name") $name"
        done | sort -n | cut -d ' ' -f 2
}

alone() {
    local name
    if [ $ALONE = all ]; then
        chosen
    else
        chosen | head -n $ALONE
    fi >"$SCRATCH/names"
    while read -r name; do
        boot --scenarios "$name" </dev/null
    done <"$SCRATCH/names" | sort >"$SCRATCH/again"
    sort "$SCRATCH/names" | join "$SCRATCH/first" - >"$SCRATCH/those"
    mv "$SCRATCH/those" "$SCRATCH/first"
    same "so do $(wc -l <"$SCRATCH/names") of them alone (SEED=$SEED)" \
        "$SCRATCH/again"
}

repeated
reordered
alone
finish
