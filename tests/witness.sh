#!/bin/bash
# The second witness: the emulator's own log names every VM exit that it took.
# Compares that list with the trace, exit by exit and in order.
#
#   tests/witness.sh PLATFORM [DIR]              DIR: build/run/PLATFORM
#   tests/witness.sh --self-test PLATFORM [DIR]
#       spoils the list in each way that matters and wants it noticed
#
# A line of either list is "code rip info1 info2" in hexadecimal without
# leading zeros, "-" for what this emulator does not tell.
. "$(dirname "$0")/lib.sh"

# Common to the awk programs. h(): hexadecimal as it may be written to hex
# without leading zeros; d(): decimal, maybe negative, to the same.
FUNCTIONS='
    function h(s) {
        s = tolower(s); sub(/^0x/, "", s); sub(/^0+/, "", s)
        return s == "" ? "0" : s
    }
    function d(n) { return n < 0 ? "ffffffff" : sprintf("%x", n) }
    # VMREAD, VMWRITE, LDTR or TR access: with a register operand the
    # qualification is undefined (SDM 28.2.1), whatever the CPU says.
    function undefined(code) { return code ~ /^(17|19|2f)$/ }
    function refused(code) { return length(code) == 8 && code >= "8" }'

# vmexit(00000072, 0000000000000000, 0000000000000000, 0000000000401002)!
# The words "Injecting..." of an event leave their line open, and in real mode
# nothing else ends it.
qemu_svm_exits() {
    awk -F '[(), !]+' "$FUNCTIONS"'
        /vmexit\(/ { sub(/.*vmexit/, "vmexit")
            print h($2), h($5), h($3), h($4) }'
}

# 00705721733d[CPU0  ] SVM VMEXIT reason=114 exitinfo1=... exitinfo2=...
bochs_svm_exits() {
    awk -F '[= ]+' "$FUNCTIONS"'
        / SVM VMEXIT reason=/ { n = split($0, f, "[= ]+")
            print d(f[n - 4]), "-", h(f[n - 2]), h(f[n]) }'
}

# 00705721733d[CPU0  ] VMEXIT reason = 10 (CPUID) qualification=0x0
bochs_vmx_exits() {
    sed -n 's/.* VMEXIT reason = \([0-9]*\) (.*) qualification=/\1 /p' |
        awk "$FUNCTIONS"' { print d($1), "-", h($2), "-" }'
}

# The middle kernel's trace (tools/nested/init.sh). An entry by the hypervisor
# that no exit follows was refused: which of KVM's checks it was stands there
# for people, for not every check is traced, and some twice.
#   kvm_exit: vcpu 0 reason vmrun rip 0xe0690fb info1 ...
#   kvm_nested_vmenter_failed: svm->asid == 0
#   nested_exit: (kvm.kvm_nested_vmexit_inject) code=0x72 info1=0x0 info2=0x0
# The code and information of a refusal are there only when the CPU refuses,
# not KVM: they are left out.
kvm_exits() {
    awk -F '[ =]+' -v platform="$1" "$FUNCTIONS"'
        function settle() {
            if (entered)
                print "refused - - -"
            entered = 0
        }
        /^kvm_exit:/ { settle(); entered = 1 }
        /^nested_exit:/ && !refused(h($4)) {
            if (platform == "kvm-vmx")
                print h($4), "-", undefined(h($4)) ? "-" : h($6), "-"
            else
                print h($4), "-", h($6), h($8)
            entered = 0
        }
        END { settle() }'
}

kvm_svm_exits() {
    kvm_exits kvm-svm
}

# Its second information word is IDT-vectoring information, the trace's the
# guest-physical address: left out.
kvm_vmx_exits() {
    kvm_exits kvm-vmx
}

# exit 72 401002 0 0, from the trace; blanks out what this emulator leaves
# out. Bit 31 of a VMX reason says that the entry failed: Bochs's log has
# the basic reason only; and an entry that was VMfail (ffff0007, ffff0008) is
# no exit, so that log has nothing of it.
trace_exits() {
    "$TOLLGATE" print --crossings "$1" | awk -v platform="$2" "$FUNCTIONS"'
        $1 == "exit" {
            code = h($2); rip = h($3); info1 = h($4); info2 = h($5)
            if (platform !~ /^qemu/)
                rip = "-"
            if (platform == "bochs-vmx" && code ~ /^ffff/)
                next
            if (platform ~ /vmx$/)
                info2 = "-"
            if (platform == "bochs-vmx" && length(code) == 8)
                code = h(substr(code, 5))
            if (platform == "kvm-vmx" && undefined(code))
                info1 = "-"
            if (platform ~ /^kvm/ && refused(code))
                print "refused - - -"
            else
                print code, rip, info1, info2
        }'
}

# Both lists into $SCRATCH; false when either cannot be had.
make_lists() {
    local platform=$1 dir=$2
    case $platform in
    qemu-svm | bochs-svm | bochs-vmx | bochs-vmx-* | kvm-svm | kvm-vmx) ;;
    *) echo "no witness on '$platform'" && return 1 ;;
    esac
    case $platform in
    bochs-vmx-*) platform=bochs-vmx ;; # the model is not the log's matter
    esac
    "${platform//-/_}_exits" <"$dir/witness.log" >"$SCRATCH/emulator" ||
        return 1
    trace_exits "$dir/serial.raw" "$platform" >"$SCRATCH/trace" || return 1
    [ -s "$SCRATCH/emulator" ] || {
        echo "the emulator's log $dir/witness.log names no exit at all"
        return 1
    }
}

# compare TRACE EMULATOR: silent when equal, else the first difference.
compare() {
    diff -U 3 --label "trace (code rip info1 info2)" \
        --label "emulator's log" "$1" "$2" |
        awk '/^@@/ && seen++ { exit } { print }'
    cmp -s "$1" "$2"
}

# spoil WAY: the trace's list with one line wrong. The line is one whose
# successor differs, so that swapping the two is a change.
spoil() {
    awk -v way="$1" '
        { line[NR] = $0 }
        END {
            at = int(NR / 2)
            while (at > 1 && line[at] == line[at + 1])
                at--
            while (at < NR - 1 && line[at] == line[at + 1])
                at++
            for (i = 1; i <= NR; i++) {
                if (way == "swapped" && i == at) {
                    print line[i + 1]
                    print line[i++]
                    continue
                }
                if (way == "changed" && i == at)
                    sub(/^[^ ]+/, "feed", line[i])
                if (way != "missing" || i != at)
                    print line[i]
                if (way == "doubled" && i == at)
                    print line[i]
            }
        }' "$SCRATCH/trace"
}

self_test() {
    local way
    for way in missing doubled swapped changed; do
        spoil "$way" >"$SCRATCH/spoiled"
        if compare "$SCRATCH/spoiled" "$SCRATCH/emulator" >"$SCRATCH/said"
        then
            not_ok "$1, notices one exit $way" <"$SCRATCH/spoiled"
        else
            ok "$1, notices one exit $way"
        fi
    done
}

check_lists() {
    if compare "$SCRATCH/trace" "$SCRATCH/emulator" >"$SCRATCH/said"; then
        ok "$1: the emulator's $(wc -l <"$SCRATCH/emulator") exits" \
            "are the trace's, one by one"
    else
        not_ok "$1: trace and emulator's log differ" <"$SCRATCH/said"
    fi
}

ACTION=check_lists
[ "${1:-}" != --self-test ] || { ACTION=self_test && shift; }
[ $# -ge 1 ] || { echo "usage: $0 [--self-test] PLATFORM [DIR]" >&2; exit 2; }
if make_lists "$1" "${2:-build/run/$1}" >"$SCRATCH/said" 2>&1; then
    $ACTION "$1"
else
    not_ok "$1: the lists" <"$SCRATCH/said"
fi
finish
