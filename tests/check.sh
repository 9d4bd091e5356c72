#!/bin/bash
# Builds everything and runs every test, as many at a time as there are CPUs.
# Each test is one line, those of one suite stand together; the last line is
# the sum, and the exit status says whether all passed.
. "$(dirname "$0")/lib.sh"
unset MAKEFLAGS MAKELEVEL # of the `make check` that may have started this

PLATFORMS=(kvm-vmx kvm-svm bochs-vmx-smp bochs-vmx bochs-vmx-tigerlake
    bochs-vmx-arrandale bochs-svm qemu-svm)
ALL=$SCRATCH/all
: >"$ALL"

# suite COMMAND...: a program that writes TAP; numbered tests get its name. One
# that dies without having said "not ok" counts as one failure.
suite() {
    local status=0 name=${1##*/} said
    said=$(mktemp "$SCRATCH/suite.XXXXXX")
    "$@" >"$said" 2>"$said.errors" || status=$?
    sed -nE -e "s/^((not )?ok) [0-9]+ - /\1 - $name: /" \
        -e '/^((not )?ok|#)/p' "$said"
    if [ "$status" != 0 ] && ! grep -q '^not ok' "$said"; then
        not_ok "$* ended with status $status" <"$said.errors"
    fi
}

# step NAME COMMAND...: one test, which passes when the command succeeds.
step() {
    local name=$1 said
    said=$(mktemp "$SCRATCH/step.XXXXXX")
    shift
    if "$@" >"$said" 2>&1; then
        ok "$name"
    else
        not_ok "$name" <"$said"
    fi
}

# What runs side by side: process, and the file with what it says. Each is a
# process group (set -m), so that none outlives an interrupted check.
declare -A RUNNING=()
trap 'end_all; rm -rf "$SCRATCH"' EXIT

end_all() {
    local process
    for process in "${!RUNNING[@]}"; do
        kill -- "-$process" 2>/dev/null || true
    done
}

# Waits for one of them to end and prints what it has said.
reap() {
    local process
    wait -n -p process "${!RUNNING[@]}" || true
    tee -a "$ALL" <"${RUNNING[$process]}"
    unset "RUNNING[$process]"
}

# start COMMAND...: as soon as a CPU is free.
start() {
    local said
    while [ ${#RUNNING[@]} -ge "$(nproc)" ]; do
        reap
    done
    said=$(mktemp "$SCRATCH/said.XXXXXX")
    set -m
    "$@" >"$said" &
    set +m
    RUNNING[$!]=$said
}

reap_all() {
    while [ ${#RUNNING[@]} -gt 0 ]; do
        reap
    done
}

# Nothing of trace/ is known in the back ends.
no_trace() {
    ! grep -rnE 'trace_|"trace/' hv/svm hv/vmx
}

docs_are_fresh() {
    build/tollgate exits --markdown | diff docs/exits.md - &&
        build/tollgate schema --markdown | diff docs/events.md - &&
        tests/deviations.sh | diff docs/deviations.md -
}

# The page of all platforms, made again from the runs above.
conformance_is_fresh() {
    local lists=(tests/expected/*)
    lists=("${lists[@]##*/}")
    (cd build/run && ../tollgate conformance \
        "${lists[@]/%//verdict.json}") | diff docs/conformance.md -
}

count() {
    grep -cE "$1" "$ALL" || true
}

summary() {
    local failed skipped passed
    failed=$(count '^not ok')
    skipped=$(count '^ok.* # SKIP')
    passed=$(($(count '^ok') - skipped))
    if [ "$skipped" = 0 ]; then
        echo "$passed passed, $failed failed"
    else
        echo "$passed passed, $failed failed, $skipped skipped"
    fi
    exit $((failed > 0 || passed == 0))
}

# A platform's run, and whether the emulator's log confirms it.
platform() {
    suite tests/platform.sh "$1"
    suite tests/witness.sh "$1"
    suite tests/witness.sh --self-test "$1"
}

unit_tests() {
    local program
    export CMOCKA_MESSAGE_OUTPUT=TAP
    for program in build/unit/*_test; do
        suite "$program"
    done
    suite tests/compile_fail.sh
    suite tests/tool.sh
}

MAKE=(make --no-print-directory -s -j "$(nproc)")
start step "the packages are there" tools/deps.sh check
reap_all
start step "everything compiles" "${MAKE[@]}" all unit-build
reap_all
# Nothing else makes sense before that.
[ "$(count '^not ok')" = 0 ] || summary
start step "the middle machine of nested KVM is made" "${MAKE[@]}" nested
reap_all
# The longest first.
for name in "${PLATFORMS[@]}"; do
    start platform "$name"
done
start step "every header compiles alone" "${MAKE[@]}" headers
start step "sources are formatted" "${MAKE[@]}" format-check
start step "the back ends trace nothing" no_trace
start step "generated pages are up to date" docs_are_fresh
start unit_tests
start step "cppcheck and shellcheck are silent" "${MAKE[@]}" lint
start step "clang compiles the image" "${MAKE[@]}" B=build/clang CC=clang all
reap_all
start step "the page of all platforms is up to date" conformance_is_fresh
start suite tests/faults.sh
start suite tests/orders.sh
start step "the benchmark knows what every exit costs" tests/bench.sh
reap_all
start suite tests/events.sh
reap_all
summary
