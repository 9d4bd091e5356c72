#!/bin/bash
# Builds everything and runs every test, cheap ones first. Each test is one
# line; the last line is the sum, and the exit status says whether all passed.
. "$(dirname "$0")/lib.sh"
unset MAKEFLAGS MAKELEVEL # of the `make check` that may have started this

PLATFORMS=(qemu-svm bochs-vmx bochs-vmx-tigerlake bochs-vmx-arrandale
    bochs-vmx-smp bochs-svm)
ALL=$SCRATCH/all
: >"$ALL"

# suite COMMAND...: a program that writes TAP; numbered tests get its name. One
# that dies without having said "not ok" counts as one failure.
suite() {
    local status=0 name=${1##*/}
    "$@" >"$SCRATCH/suite" 2>"$SCRATCH/errors" || status=$?
    sed -nE -e "s/^((not )?ok) [0-9]+ - /\1 - $name: /" \
        -e '/^((not )?ok|#)/p' "$SCRATCH/suite" | tee -a "$ALL"
    if [ $status != 0 ] && ! grep -q '^not ok' "$SCRATCH/suite"; then
        not_ok "$* ended with status $status" <"$SCRATCH/errors" |
            tee -a "$ALL"
    fi
}

# step NAME COMMAND...: one test, which passes when the command succeeds.
step() {
    local name=$1
    shift
    if "$@" >"$SCRATCH/step" 2>&1; then
        ok "$name"
    else
        not_ok "$name" <"$SCRATCH/step"
    fi | tee -a "$ALL"
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

MAKE=(make --no-print-directory -s -j "$(nproc)")
step "the packages are there" tools/deps.sh check
step "everything compiles" "${MAKE[@]}" all unit-build
# Nothing else makes sense before that.
[ "$(count '^not ok')" = 0 ] || summary
step "every header compiles alone" "${MAKE[@]}" headers
step "sources are formatted" "${MAKE[@]}" format-check
step "cppcheck and shellcheck are silent" "${MAKE[@]}" lint
step "the back ends trace nothing" no_trace
step "generated pages are up to date" docs_are_fresh
step "clang compiles the image" "${MAKE[@]}" B=build/clang CC=clang all
export CMOCKA_MESSAGE_OUTPUT=TAP
for program in build/unit/*_test; do
    suite "$program"
done
suite tests/compile_fail.sh
suite tests/tool.sh
for platform in "${PLATFORMS[@]}"; do
    suite tests/platform.sh "$platform"
    suite tests/witness.sh "$platform"
    suite tests/witness.sh --self-test "$platform"
done
step "the page of all platforms is up to date" conformance_is_fresh
suite tests/faults.sh
step "the benchmark runs on both vendors" tests/bench.sh
suite tests/events.sh
summary
