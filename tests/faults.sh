#!/bin/bash
# Things that go wrong on purpose, and what the user must then see: a fragment
# of a message and an exit status. Needs build/run/qemu-svm of a good run.
. "$(dirname "$0")/lib.sh"

# run DIR OPTION...: keeps the recording in build/run/faults/DIR, where
# tests/events.sh looks for the events that only faults produce.
run() {
    local dir=build/run/faults/$1
    shift
    ./run-qemu.sh --out "$dir" --quiet --no-expect "$@"
}

# again DIR: the verdict on that recording once more.
again() {
    "$TOLLGATE" verdict "build/run/faults/$1/serial.raw"
}

in_the_guest() {
    wants "a guest that hangs is a failure" 1 "timeout" \
        run hang --scenarios demo_hang,demo_fail
    wants "... and the next scenario runs all the same" 1 "rbx: want 0x1" \
        again hang
    wants "a failed check says what was wanted" 1 "rbx: want 0x1" \
        run fail --scenarios demo_fail
    wants "a fault in the host is no failure of the platform's" 3 \
        "host fault" run host-fault --scenarios demo_host_fault
    wants "... and its place is printed for addr2line" 0 \
        "addr2line -pfie build/tollgate.elf 0x" \
        cat build/run/faults/host-fault/console.log
    wants "all of these on VT-x: host fault" 3 "host fault" \
        run all-bochs-vmx --platform bochs-vmx \
        --scenarios demo_hang,demo_fail,demo_host_fault,demo_entry
    wants "all of these on VT-x: timeout" 3 "timeout" again all-bochs-vmx
    wants "a failed entry is a failure" 1 "want CPUID, got ENTRY_INVALID" \
        run entry --scenarios demo_entry
    wants "... and the rule that the state broke is named" 0 \
        "VM entry failed: rule long_pae of APM 15.5.1: cr4 is 0x" \
        cat build/run/faults/entry/console.log
    wants "all of these on VT-x: the broken rule" 0 \
        "VM entry failed: rule ia32e_pae of SDM 27.3.1.1: GUEST_CR4 is 0x" \
        cat build/run/faults/all-bochs-vmx/console.log
    wants "a CPU without virtualization is an error" 3 \
        "offers neither VT-x" run no-svm --cpu qemu64,-svm
}

# Scenarios that a whole run leaves out, since the machine does not survive
# them: the day it does, tests/expected has to say so.
of_which_it_dies() {
    wants "INIT resets TCG's CPU: the machine begins anew" 0 "begun anew" \
        restarts --scenarios init
    wants "a fetch from the APIC-access page kills Bochs" 3 \
        "the emulator died" run apic-fetch --platform bochs-vmx \
        --scenarios apic_fetch
    wants "... in the midst of the scenario" 3 \
        "last event: hvm:scenario_begin apic_fetch" again apic-fetch
    wants "a name that no scenario has is not fatal" 2 "no_such_scenario" \
        run bad-fatal --scenarios cpuid --set fatal=no_such_scenario
}

# restarts OPTION...: does the scenario's machine come up once more? Ends it.
restarts() {
    local dir=build/run/faults/restarts runner booted=0
    rm -rf "$dir"
    ./run-qemu.sh --out "$dir" --quiet --no-expect "$@" &
    runner=$!
    while [ "${booted:-0}" -lt 2 ] && kill -0 "$runner" 2>/dev/null; do
        sleep 0.2
        booted=$(grep -ac 'Tollgate: image at' "$dir/serial.raw" 2>/dev/null ||
            true)
    done
    kill "$runner" 2>/dev/null || true
    wait "$runner" || true
    [ "${booted:-0}" -ge 2 ] && echo "begun anew"
}

# Answers of a preflight: each is one line, and no scenario has run.
before_flight() {
    local svm="ready: SVM on AMD EPYC Processor, a first VM entry works; "
    local vmx="features, without 32BIT"
    wants "preflight: ready on AMD-V" 0 "qemu-svm: $svm" \
        run preflight-svm --mode preflight
    wants "... in one line" 0 "" one_line preflight-svm
    wants "... and in JSON" 0 'features: NP"' \
        cat build/run/faults/preflight-svm/verdict.json
    wants "preflight: ready on VT-x" 0 "$vmx" \
        run preflight-vmx --mode preflight --platform bochs-vmx
    wants "preflight: absent" 1 \
        "qemu-svm: not ready: QEMU Virtual CPU version 2.5+ offers neither" \
        run preflight-absent --mode preflight --cpu qemu64,-svm
    wants "preflight: too little is there" 1 \
        "not ready: AMD-V here lacks nested paging" \
        run preflight-little --mode preflight --cpu EPYC,+svm,-npt
}

one_line() {
    [ "$(again "$1" | wc -l)" = 1 ]
}

in_the_configuration() {
    wants "a bad configuration line is wrong use" 2 "tollgate.cfg line" \
        run bad-line --set watchdog_ms=soon
    wants "an unknown key is named" 2 "no_such_key" \
        run bad-key --set no_such_key=1
    wants "an unknown scenario is named" 2 "no_such_scenario" \
        run bad-scenario --scenarios no_such_scenario
}

on_the_line() {
    local good=build/run/qemu-svm/serial.raw size
    size=$(stat -c %s "$good")
    head -c $((size * 2 / 3)) "$good" >"$SCRATCH/cut"
    wants "a stream cut short is an error" 3 "cut" \
        "$TOLLGATE" verdict "$SCRATCH/cut"
    cp "$good" "$SCRATCH/flipped"
    flip "$SCRATCH/flipped" $((size / 2))
    wants "a flipped bit is an error, with its position" 3 "offset" \
        "$TOLLGATE" verdict "$SCRATCH/flipped"
    wants "the rest of a damaged stream is still read" 3 "run_end" \
        "$TOLLGATE" print "$SCRATCH/flipped"
}

without_nested_kvm() {
    local name="without nested KVM it says so and runs on another platform"
    if [ -w /dev/kvm ] &&
        grep -qs '^[1Y]' /sys/module/kvm_{intel,amd}/parameters/nested; then
        skip "$name" "KVM nests here"
        return
    fi
    wants "$name" 0 "running on qemu-svm instead" \
        run no-kvm --platform kvm --scenarios cpuid
}

around_it() {
    wants "an unknown platform is named" 2 "unknown platform 'pdp11'" \
        ./run-qemu.sh --platform pdp11
    wants "an unknown option is named" 2 "unknown option '--fast'" \
        ./run-qemu.sh --fast
    wants "an unknown CPU model is the emulator's complaint" 3 "nonesuch" \
        run bad-cpu --cpu nonesuch
    wants "the wall-clock limit names the last line" 3 \
        "the last line of the stream was:" run limit --timeout 1 \
        --scenarios demo_hang --watchdog-ms 60000
    without_nested_kvm
    wants "a missing emulator names its package" 3 "package qemu-system-x86" \
        env PATH="$SCRATCH/bin" /bin/bash run-qemu.sh
}

# What is wrong is found before anything is built or booted.
on_the_command_line() {
    wants "a directory of expected verdicts is refused" 2 \
        "cannot read the expected verdicts in 'tests/expected'" \
        ./run-qemu.sh --expect tests/expected
    wants "make names an unknown platform before it builds" 2 \
        "unknown platform 'pdp11'" \
        make B="$SCRATCH/build" run PLATFORM=pdp11
    wants "... and an unknown option" 2 "unknown option '--fast'" \
        make B="$SCRATCH/build" run ARGS=--fast
    wants "... and that a platform is missing" 2 "unknown platform ''" \
        make B="$SCRATCH/build" preflight PLATFORM=
    wants "... and has built nothing" 1 "" test -e "$SCRATCH/build"
}

in_the_file_system() {
    : >"$SCRATCH/file"
    wants "a directory that cannot be made is named" 3 \
        "cannot write into '$SCRATCH/file/run'" \
        ./run-qemu.sh --out "$SCRATCH/file/run"
    wants "a wrong TMPDIR is named" 3 \
        "cannot make a scratch directory in $SCRATCH/none: point TMPDIR" \
        env TMPDIR="$SCRATCH/none" ./run-qemu.sh --out "$SCRATCH/run"
    mkdir -p "$SCRATCH/run"
    wants "a second run does not disturb the first" 3 \
        "another run uses $SCRATCH/run" \
        flock "$SCRATCH/run" ./run-qemu.sh --out "$SCRATCH/run"
}

on_the_command_line
in_the_file_system
around_it
in_the_configuration
in_the_guest
of_which_it_dies
before_flight
on_the_line
finish
