#!/bin/bash
# What a round trip costs: the image measures (hv/bench.c), this boots it on
# each platform, one after the other, and `tollgate bench` makes the tables.
# On Bochs one tick of the TSC is one instruction; QEMU's cycles are the
# host's and noisy.
. "$(dirname "$0")/lib.sh"

# Of Bochs's models with VT-x the one that offers the most.
PLATFORMS=(bochs-vmx-tigerlake bochs-svm qemu-svm)

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

# with_scenario PLATFORM: the kinds that a measured scenario provokes, if it
# passes there.
with_scenario() {
    "$TOLLGATE" print "build/run/bench-$1/serial.raw" | awk '
        NR == FNR { if ($2 == "pass") pass[$1]; next }
        $3 == "scenario_begin" { positive = $4 in pass }
        $3 == "forbid" { positive = 0 }
        $3 == "scenario_end" && positive && /measured, not judged/ {
            print substr($5, 2)
        }' "tests/expected/$1" - | sort -u
}

# with_row COLUMN: the kinds that have a number there.
with_row() {
    awk -v column="$1" '/^one round trip/ { on = 1 }
        /^$/ { on = 0 }
        { gsub(/ x[0-9]+| \*/, "") }
        on && $(column + 1) ~ /^[0-9]/ { print $1 }' "$SCRATCH/table"
}

# No kind is forgotten.
complete() {
    local column=0 platform kind status=0
    for platform in "${PLATFORMS[@]}"; do
        column=$((column + 1))
        with_row $column >"$SCRATCH/rows"
        for kind in $(with_scenario "$platform"); do
            grep -qx "$kind" "$SCRATCH/rows" && continue
            echo "bench: $kind has a scenario on $platform, but no row" >&2
            status=1
        done
    done
    return $status
}

# None of the dearest is without a reason.
explained() {
    awk '/^\* the/ { on = 1 } /^$/ { on = 0 } on && $3 == "?" {
            print "bench: " $1 " is among the dearest now: find out why, and" \
                " write it into whys[] in tools/bench.c"
            found = 1
        }
        END { exit found }' "$SCRATCH/table" >&2
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
explained || status=1
exit $status
