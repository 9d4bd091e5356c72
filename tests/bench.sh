#!/bin/bash
# What one CPUID round trip costs, both vendors side by side on Bochs, where
# one tick of the TSC is one instruction. The image measures (hv/bench.c) and
# says so in hvm:bench events; this boots it twice and makes the table.
. "$(dirname "$0")/lib.sh"

PLATFORMS=(bochs-vmx bochs-svm)

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
    "$TOLLGATE" print "build/run/bench-$1/serial.raw" | sed -n \
        's/.*cpuid-\([a-z]*\): \([0-9]*\) trips, \([0-9]*\) ticks, '\
'\([0-9]*\) bytes in the ring, \([0-9]*\) on the wire.*/\1 \2 \3 \4 \5/p' \
        >"$SCRATCH/$1"
}

table() {
    awk '
        FNR == 1 {
            platform[++columns] = FILENAME
            sub(/.*\//, "", platform[columns])
        }
        {
            ticks[columns, $1] = $3 / $2
            ring[columns, $1] = $4 / $2
            wire[columns, $1] = $5 / $2
        }
        function head(text, c) {
            printf "%-44s", text
            for (c = 1; c <= columns; c++)
                printf "%12s", platform[c]
            print ""
        }
        function row(text, values, key, scale, c) {
            printf "%-44s", text
            for (c = 1; c <= columns; c++)
                printf "%12.1f", values[c, key] / (scale ? ticks[c, "bare"] : 1)
            print ""
        }
        END {
            head("one CPUID round trip")
            row("instructions, bare (registers only)", ticks, "bare")
            row("instructions, not traced", ticks, "untraced")
            row("instructions, traced", ticks, "traced")
            row("not traced, as a multiple of bare", ticks, "untraced", 1)
            row("traced, as a multiple of bare", ticks, "traced", 1)
            row("bytes in the ring", ring, "traced")
            row("bytes on the wire", wire, "traced")
        }' "${PLATFORMS[@]/#/$SCRATCH/}"
}

for platform in "${PLATFORMS[@]}"; do
    echo "bench: $platform..." >&2
    measure "$platform"
done
table
