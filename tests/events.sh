#!/bin/bash
# Every event of the schema must occur in recordings of both vendors, or be
# marked in trace/trace.def as one vendor's own; and none may occur that the
# schema does not know. Reads what the other tests left in build/run.
. "$(dirname "$0")/lib.sh"

# The names of the events in recordings, each once.
events_in() {
    local dir
    for dir in "$@"; do
        babeltrace2 "$dir/trace"
    done | sed -n 's/.*) hvm:\([a-z_]*\): .*/\1/p' | sort -u
}

# The schema as lines "name vendors when", from its table for people:
# | 1 | `hvm:vmexit` | exit | both | always | ...
schema() {
    "$TOLLGATE" schema --markdown | awk -F ' *[|] *' '
        $3 ~ /^`hvm:/ {
            gsub(/`hvm:|`/, "", $3)
            sub(/ only:.*/, "", $5)
            print $3, $5, $6
        }'
}

# wanted VENDOR WHEN: the events that recordings of VENDOR must contain.
wanted() {
    awk -v vendor="$1" -v when="$2" '
        ($2 == "both" || $2 == vendor) &&
        substr($0, length($1 " " $2) + 2) == when { print $1 }' \
        "$SCRATCH/schema" | sort
}

# reached VENDOR WHEN DIR...: the recordings in DIRs contain those events.
reached() {
    local name="$1: every event marked '$2' occurs" count
    wanted "$1" "$2" >"$SCRATCH/wanted"
    count=$(wc -l <"$SCRATCH/wanted")
    shift 2
    events_in "$@" >"$SCRATCH/seen" 2>"$SCRATCH/said" || true
    comm -23 "$SCRATCH/wanted" "$SCRATCH/seen" >>"$SCRATCH/said"
    cut -d ' ' -f 1 "$SCRATCH/schema" | sort |
        comm -13 - "$SCRATCH/seen" | sed 's/$/ is not in the schema/' \
        >>"$SCRATCH/said"
    if [ "$count" -gt 0 ] && [ ! -s "$SCRATCH/said" ]; then
        ok "$name ($count)"
    else
        not_ok "$name: of $count these are missing" <"$SCRATCH/said"
    fi
}

schema >"$SCRATCH/schema"
RUN=build/run
reached VMX always $RUN/bochs-vmx
reached SVM always $RUN/{qemu-svm,bochs-svm}
reached VMX "on a fault" $RUN/faults/all-bochs-vmx
reached SVM "on a fault" $RUN/faults/{hang,fail,host-fault}
reached VMX benchmark $RUN/bench-bochs-vmx-tigerlake
reached SVM benchmark $RUN/bench-bochs-svm
reached VMX preflight $RUN/faults/preflight-vmx
reached SVM preflight $RUN/faults/preflight-svm
finish
