#!/bin/bash
# What a round trip costs: the image measures (hv/bench.c), this boots it on
# each platform, one after the other, and `tollgate bench` makes the tables.
# On Bochs one tick of the TSC is one instruction; QEMU's cycles are the
# host's and noisy.
. "$(dirname "$0")/lib.sh"

PLATFORMS=(bochs-vmx bochs-svm qemu-svm)

# The emulator's log would hold every trip: it is left off.
measure() {
    local status=0
    ./run-qemu.sh --platform "$1" --mode bench --quiet --no-expect \
        --no-witness --out "build/run/bench-$1" >"$SCRATCH/said" 2>&1 ||
        status=$?
    if [ $status != 0 ]; then
        cat "$SCRATCH/said" >&2
        echo "bench: the run on $1 ended with status $status" >&2
        exit 3
    fi
}

# with_scenario PLATFORM: the kinds that a scenario which must provoke them did
# provoke, in the platform's last run, if there was one.
with_scenario() {
    [ ! -r "build/run/$1/verdict.json" ] || awk -F '"' '
        $2 == "name" { kind = "" }
        $2 == "kind" { kind = $4 }
        $2 == "verdict" { pass = $4 == "pass" }
        $2 == "without" { positive = $4 == "" }
        $2 == "provoked" && /true/ && kind && pass && positive { print kind }
        ' "build/run/$1/verdict.json" | sort -u
}

# without_trip PLATFORM: those from which the guest never comes back.
without_trip() {
    "$TOLLGATE" print "build/run/bench-$1/serial.raw" | awk '
        $3 == "scenario_end" { kind = substr($5, 2) }
        $3 == "scenario_end" && /no round trip to measure/ { none[kind] }
        $3 == "scenario_end" && /measured, not judged/ { measured[kind] }
        END {
            for (kind in none)
                if (!(kind in measured))
                    print kind
        }'
}

# with_row COLUMN: the kinds that have a number there.
with_row() {
    awk -v column="$1" '/^one round trip/ { on = 1 }
        /^$/ { on = 0 }
        { gsub(/ x[0-9]+/, "") }
        on && $(column + 1) ~ /^[0-9]/ { print $1 }' "$SCRATCH/table"
}

# No kind is forgotten.
complete() {
    local column=0 platform kind status=0
    for platform in "${PLATFORMS[@]}"; do
        column=$((column + 1))
        { with_row $column && without_trip "$platform"; } >"$SCRATCH/known"
        for kind in $(with_scenario "$platform"); do
            grep -qx "$kind" "$SCRATCH/known" && continue
            echo "bench: $kind has a scenario on $platform, but no row" >&2
            status=1
        done
    done
    return $status
}

for platform in "${PLATFORMS[@]}"; do
    echo "bench: $platform..." >&2
    measure "$platform"
done
status=0
for platform in "${PLATFORMS[@]}"; do
    echo "$platform=build/run/bench-$platform/serial.raw"
done | xargs "$TOLLGATE" bench >"$SCRATCH/table" || status=1
cat "$SCRATCH/table"
complete || status=1
exit $status
