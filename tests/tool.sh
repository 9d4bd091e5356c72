#!/bin/bash
# The host tool on synthetic streams (tests/unit/mkstream.c): what it prints,
# what it records, its exit statuses, and what it does with damage.
. "$(dirname "$0")/lib.sh"

MKSTREAM=build/unit/mkstream
for program in "$TOLLGATE" "$MKSTREAM"; do
    if [ ! -x "$program" ]; then
        echo "tool.sh: $program is missing: run 'make all unit-build'" >&2
        exit 3
    fi
done

# stream WORD...: a stream in $SCRATCH/WORD-WORD; prints its name.
stream() {
    local name=${*:-good}
    name=$SCRATCH/${name// /-}
    "$MKSTREAM" "$@" >"$name"
    echo "$name"
}

print_stdin() {
    "$TOLLGATE" print <"$1"
}

# What is left to be said beside the events.
print_nothing() {
    "$TOLLGATE" print "$@" >/dev/null
}

record_and_read() {
    "$TOLLGATE" record -o "$1" "$2" && babeltrace2 "$1"
}

judge_text() {
    echo "$1" | "$TOLLGATE" verdict
}

printing() {
    local good
    good=$(stream)
    wants "print reads a file" 0 "CPUID code 0xa rip 0x8001000 length 2" \
        "$TOLLGATE" print "$good"
    wants "print reads stdin" 0 "run_end        3 scenarios run" \
        print_stdin "$good"
    wants "console text is readable" 0 "| BdsDxe: loading Boot0001" \
        "$TOLLGATE" print "$good"
    wants "text comes whole out of the middle of frames" 0 "| half way" \
        "$TOLLGATE" print "$good"
    wants "--raw has plain numbers" 0 "kind=0xc code=0xa rip=0x8001000" \
        "$TOLLGATE" print --raw "$good"
    wants "--crossings joins exit and raw words" 0 \
        "exit 0000000a 0000000008001001 0000000000000001 0000000000000022" \
        "$TOLLGATE" print --crossings "$good"
    wants "--crossings needs class raw" 3 "the trace mask left out class raw" \
        "$TOLLGATE" print --crossings "$(stream noraw)"
    wants "a run without an end is printed as far as it goes" 3 \
        "| last words" "$TOLLGATE" print "$(stream noend)"
    wants "... and that its end is missing is said" 3 \
        "the stream ends before the run does" \
        "$TOLLGATE" print "$(stream noend)"
    wants "... which --partial does without" 0 "" print_nothing --partial \
        "$(stream noend)"
    echo hello >"$SCRATCH/hello"
    wants "a stream without a frame is printed" 3 "| hello" \
        "$TOLLGATE" print "$SCRATCH/hello"
    wants "... and that nothing is Tollgate's is said" 3 \
        "nothing of Tollgate in the stream: give the serial.raw of a run" \
        "$TOLLGATE" print "$SCRATCH/hello"
    wants "... of an empty one, too" 3 "nothing of Tollgate in the stream" \
        "$TOLLGATE" print /dev/null
    wants "discarded events are said" 0 "discarded because the ring was full" \
        "$TOLLGATE" print "$(stream discard)"
    if "$TOLLGATE" print --no-text "$good" | grep -q '^|'; then
        not_ok "--no-text leaves text out" <<<"it does not"
    else
        ok "--no-text leaves text out"
    fi
}

# A live source: the lines come while it is still open.
live() {
    local server
    socat -u OPEN:"$(stream)" UNIX-LISTEN:"$SCRATCH/socket" &
    server=$!
    for _ in $(seq 50); do
        [ ! -S "$SCRATCH/socket" ] || break
        sleep 0.1
    done
    wants "print reads a Unix socket" 0 "3 scenarios run" \
        "$TOLLGATE" print "$SCRATCH/socket"
    wait "$server" || true
    mkfifo "$SCRATCH/fifo"
    "$TOLLGATE" print - <"$SCRATCH/fifo" >"$SCRATCH/live" &
    server=$!
    exec 9>"$SCRATCH/fifo"
    "$MKSTREAM" >&9
    for _ in $(seq 50); do
        ! grep -q run_end "$SCRATCH/live" || break
        sleep 0.1
    done
    wants "print shows a line as soon as it is there" 0 run_end \
        cat "$SCRATCH/live"
    exec 9>&-
    wait "$server"
}

recording() {
    local good dir=$SCRATCH/ctf
    good=$(stream)
    wants "record writes a CTF directory" 0 "" \
        "$TOLLGATE" record -o "$dir" --console "$SCRATCH/console" "$good"
    wants "record keeps the text" 0 "BdsDxe: starting" cat "$SCRATCH/console"
    babeltrace2 "$dir" >"$SCRATCH/text" 2>"$SCRATCH/errors" || true
    if [ -s "$SCRATCH/errors" ]; then
        not_ok "babeltrace2 reads it without a warning" \
            <"$SCRATCH/errors"
    else
        ok "babeltrace2 reads it without a warning"
    fi
    wants "babeltrace2 finds every event" 0 "421" wc -l "$SCRATCH/text"
    wants "babeltrace2 shows names" 0 'kind = ( "CPUID" : container' \
        cat "$SCRATCH/text"
    wants "record keeps the last run" 0 "" \
        "$TOLLGATE" record -o "$dir" "$(stream twice)"
    wants "a run of its own is recorded" 0 "scenario = \"two\"" \
        babeltrace2 "$dir"
    wants "record says that the end is missing" 3 \
        "the stream ends before the run does" \
        "$TOLLGATE" record -o "$dir" "$(stream noend)"
    wants "... and has recorded what is there" 0 'scenario = "three"' \
        babeltrace2 "$dir"
    wants "... without a word when --partial is given" 0 "" \
        "$TOLLGATE" record --partial -o "$dir" "$(stream noend)"
    wants "record of nothing is an error" 3 "nothing of Tollgate" \
        "$TOLLGATE" record -o "$SCRATCH/empty" /dev/null
    wants "record needs -o" 2 "Give -o DIR" "$TOLLGATE" record "$good"
    wants "a discard is told by babeltrace2" 0 "Tracer discarded" \
        record_and_read "$SCRATCH/lossy" "$(stream discard)"
}

judging() {
    local expect=$SCRATCH/expect
    printf '%s\n' 'one pass' 'two pass' '# none' 'three skip' >"$expect"
    wants "a good run passes" 0 "2 pass, 1 skip" "$TOLLGATE" verdict "$(stream)"
    wants "codes without a scenario are listed" 0 "not-covered" \
        "$TOLLGATE" verdict "$(stream svm)"
    wants "the coverage counts what came" 0 \
        "coverage: 1 of 176 exit codes provoked; of all: 1 pass, 1 skip, 174" \
        "$TOLLGATE" verdict "$(stream svm)"
    wants "--verbose has the negatives of each kind" 0 \
        "HLT                  two: pass, 3 checks" \
        "$TOLLGATE" verdict --verbose "$(stream svm)"
    wants "... and why a kind can have none" 0 \
        "CPUID                none: exits always (SDM 26.1.2)" \
        "$TOLLGATE" verdict --verbose "$(stream)"
    wants "... also of all of a range, ..." 0 \
        "CR_WRITE_TRAP        none: SEV-ES guests only" \
        "$TOLLGATE" verdict --verbose "$(stream svm)"
    wants "... and of what is not enabled unarmed" 0 \
        "INVLPGB_ILLEGAL      none: unarmed, INVLPGB is not enabled" \
        "$TOLLGATE" verdict --verbose "$(stream svm)"
    wants "one that no scenario of a complete run has is missing" 0 \
        "RDTSC                none: no scenario" \
        "$TOLLGATE" verdict --verbose "$(stream)"
    wants "... of a selection it was not run" 0 \
        "RDTSC                none: not run here" \
        "$TOLLGATE" verdict --verbose "$(stream select)"
    wants "the table is as wide as the longest name" 0 \
        "two                              CPUID                       0xa" \
        "$TOLLGATE" verdict "$(stream long)"
    wants "... its head, too" 0 \
        "scenario                         kind                       code" \
        "$TOLLGATE" verdict "$(stream long)"
    wants "a selection has no coverage" 0 "2 pass, 1 skip" \
        "$TOLLGATE" verdict "$(stream select)"
    wants "a failed check fails the run" 1 "rip: want 0x1000 got 0x1002" \
        "$TOLLGATE" verdict "$(stream fail)"
    wants "an expected run passes" 0 "2 pass, 1 skip" \
        "$TOLLGATE" verdict --expect "$expect" "$(stream)"
    wants "an unexpected verdict fails" 1 \
        "not as expected: two: expected pass, got fail" \
        "$TOLLGATE" verdict --expect "$expect" "$(stream fail)"
    sed -i 's/two pass/two known-deviation Vol. 1: is wrong/' "$expect"
    wants "a known deviation is excused" 0 "Vol. 1: is wrong" \
        "$TOLLGATE" verdict --expect "$expect" "$(stream fail)"
    wants "a known deviation that passes fails" 1 "take it off the list" \
        "$TOLLGATE" verdict --expect "$expect" "$(stream)"
    wants "a run without an end is an error" 3 \
        "last event: hvm:scenario_end three" \
        "$TOLLGATE" verdict "$(stream noend)"
    wants "... that names the last line" 3 "last line of text: last words" \
        "$TOLLGATE" verdict "$(stream noend)"
    wants "a host fault is an error" 3 "a fault in the hypervisor itself" \
        "$TOLLGATE" verdict "$(stream fault)"
    wants "a restart is an error" 3 "the machine started again" \
        "$TOLLGATE" verdict "$(stream twice)"
    wants "no frame at all is an error" 3 \
        "no frame of Tollgate in the stream; its last line of text is: hello" \
        judge_text hello
    echo 'one maybe' >"$expect"
    wants "a bad list is refused with its line" 2 "line 1: the verdict is" \
        "$TOLLGATE" verdict --expect "$expect" "$(stream)"
    wants "a missing list is refused" 2 "cannot read" \
        "$TOLLGATE" verdict --expect "$SCRATCH/none" "$(stream)"
    wants "so is a directory" 2 "cannot read $SCRATCH: Is a directory" \
        "$TOLLGATE" verdict --expect "$SCRATCH" "$(stream)"
}

reporting() {
    "$TOLLGATE" verdict --platform synthetic --json "$SCRATCH/json" \
        --tap "$SCRATCH/tap" "$(stream fail svm)" >/dev/null 2>&1 || true
    wants "JSON has the run" 0 '"platform": "synthetic"' cat "$SCRATCH/json"
    wants "JSON has each code" 0 '"name": "CR_READ(5)"' cat "$SCRATCH/json"
    wants "JSON has the code as a number" 0 '"code": 114' cat "$SCRATCH/json"
    wants "JSON has the negative" 0 '"without": "HLT"' cat "$SCRATCH/json"
    wants "JSON has what came" 0 '"provoked": true' cat "$SCRATCH/json"
    wants "TAP has the failure" 0 'not ok 2 - two' cat "$SCRATCH/tap"
    wants "TAP has the skip" 0 'ok 3 - three # SKIP VMX_HLT is missing' \
        cat "$SCRATCH/tap"
    wants "TAP has what is not covered" 0 \
        'CR_READ(5) # TODO not covered:' cat "$SCRATCH/tap"
    if [ "$(sed -n 's/^1\.\.//p' "$SCRATCH/tap")" = \
        "$(grep -cE '^(not )?ok' "$SCRATCH/tap")" ]; then
        ok "TAP has as many lines as its plan"
    else
        not_ok "TAP has as many lines as its plan" <"$SCRATCH/tap"
    fi
}

# xml TEXT XPATH: what the path selects in the JUnit file.
xml() {
    [ "$(xmllint --xpath "string($2)" "$SCRATCH/xml")" = "$1" ]
}

junit() {
    "$TOLLGATE" verdict --platform synthetic --junit "$SCRATCH/xml" \
        "$(stream fail svm)" >/dev/null 2>&1 || true
    wants "JUnit is well-formed XML" 0 "" xmllint --noout "$SCRATCH/xml"
    wants "JUnit has the run" 0 "" xml synthetic /testsuites/testsuite/@name
    wants "JUnit counts what it has" 0 "" xml true \
        "//testsuite/@tests = count(//testcase) and //testsuite/@failures =
        count(//failure) and //testsuite/@skipped = count(//skipped)"
    wants "JUnit has the failure" 0 "" xml "1 of the checks failed" \
        "//testcase[@name = 'two']/failure/@message"
    wants "JUnit has each failed check" 0 "" xml true \
        "contains(//testcase[@name = 'two']/failure, 'rip: want 0x1000')"
    wants "JUnit has the skip" 0 "" xml "VMX_HLT is missing" \
        "//testcase[@name = 'three']/skipped/@message"
    wants "JUnit has what is not covered" 0 "" xml "not covered" \
        "//testcase[@name = 'CR_READ(5)']/skipped"
    "$TOLLGATE" verdict --junit "$SCRATCH/xml" "$(stream noend)" \
        >/dev/null 2>&1 || true
    wants "JUnit has an error of the run" 0 "" xml true \
        "contains(//testcase[@name = 'the run']/error/@message, 'ended before')"
}

preflight() {
    local svm="synthetic: ready: SVM on Synthetic CPU, a first VM entry works"
    wants "a preflight is one line" 0 "$svm; 2 of " \
        "$TOLLGATE" verdict --platform synthetic --json "$SCRATCH/json" \
        --tap "$SCRATCH/tap" "$(stream preflight svm)"
    wants "... one test in TAP" 0 "ok 1 - preflight" cat "$SCRATCH/tap"
    wants "... in JSON with the features" 0 \
        ' features: NP NRIPS"' cat "$SCRATCH/json"
    wants "one that is not ready says why" 1 "not ready: locked; 2 of" \
        "$TOLLGATE" verdict "$(stream preflight fail svm)"
    echo 'cpuid pass' >"$SCRATCH/expect"
    wants "no list of scenarios is held against it" 0 "ready:" \
        "$TOLLGATE" verdict --expect "$SCRATCH/expect" "$(stream preflight svm)"
}

# Two runs side by side: one of them a selection, of the other vendor.
side_by_side() {
    local page=$SCRATCH/page
    "$TOLLGATE" verdict --platform whole --json "$SCRATCH/json" \
        "$(stream svm)" >/dev/null 2>&1 || true
    "$TOLLGATE" verdict --platform part --json "$SCRATCH/part" \
        "$(stream select fail)" >/dev/null 2>&1 || true
    wants "conformance makes a page of runs" 0 "" side_by_side_page "$page"
    wants "... with what each provoked" 0 \
        "| \`whole\` | SVM | 1 | 2 | 1 | 0 | 0 |" cat "$page"
    wants "... and all together" 0 "- AMD-V: 1 of 176 exit codes provoked" \
        cat "$page"
    wants "... with each exit" 0 "| 72h | CPUID | pass |" cat "$page"
    wants "... one without a scenario, too" 0 "| 5h | CR_READ(5) | - |" \
        cat "$page"
    wants "... with each scenario" 0 "| \`two\` | CPUID | pass | **fail** |" \
        cat "$page"
    wants "conformance needs a file that is JSON" 2 "part2" \
        "$TOLLGATE" conformance "$SCRATCH/part2"
    echo '{"platform": "x", "scenarios": 3}' >"$SCRATCH/part2"
    wants "... and that verdict --json wrote" 2 \
        "part2: no JSON of \`tollgate verdict --json\`" \
        "$TOLLGATE" conformance "$SCRATCH/json" "$SCRATCH/part2"
}

side_by_side_page() {
    "$TOLLGATE" conformance "$SCRATCH/json" "$SCRATCH/part" >"$1"
}

# What is intact is decoded, what is not is placed and counted.
damage() {
    local good size cut=$SCRATCH/cut flipped=$SCRATCH/flipped
    good=$(stream)
    size=$(stat -c %s "$good")
    head -c $((size - 2000)) "$good" >"$cut"
    wants "a cut stream is an error" 3 "stream ended before the run did" \
        "$TOLLGATE" verdict "$cut"
    cp "$good" "$flipped"
    flip "$flipped" $((size / 2))
    wants "a flipped bit is an error with its offset" 3 \
        "damaged frame at offset" "$TOLLGATE" verdict "$flipped"
    wants "... and what is lost is counted" 3 \
        "1 frames arrived damaged, 1 are missing" \
        "$TOLLGATE" verdict "$flipped"
    wants "the rest is printed all the same" 3 "3 scenarios run" \
        "$TOLLGATE" print "$flipped"
    wants "the rest is recorded all the same" 3 "what is intact is in" \
        "$TOLLGATE" record -o "$SCRATCH/rest" "$flipped"
    wants "... and babeltrace2 reads it" 0 "scenarios = 3" \
        babeltrace2 "$SCRATCH/rest"
    cp "$good" "$flipped"
    flip "$flipped" 200
    wants "damaged metadata is replaced" 3 "writing this version's own" \
        "$TOLLGATE" record -o "$SCRATCH/rest" "$flipped"
    wants "... and babeltrace2 reads that" 0 "scenarios = 3" \
        babeltrace2 "$SCRATCH/rest"
}

# One stream is enough; what nobody has explained yet is no error.
benchmarks() {
    local bench
    bench=$(stream bench)
    wants "bench takes one platform" 0 \
        "XSETBV *                      1130 x1" \
        "$TOLLGATE" bench "bochs=$bench"
    wants "... and says when it knows no reason" 0 \
        "XSETBV                 1130  ?" "$TOLLGATE" bench "bochs=$bench"
    wants "instructions have a multiple of bare" 0 \
        "  as a multiple of bare        4.0" "$TOLLGATE" bench "bochs=$bench"
    wants "... cycles have none" 0 \
        "  as a multiple of bare          -" "$TOLLGATE" bench "qemu=$bench"
    wants "a long name widens its column" 0 \
        "XSETBV *                           1130 x1         1130 x1" \
        "$TOLLGATE" bench "bochs-vmx-tigerlake=$bench" "bochs=$bench"
}

full_disk() {
    "$@" >/dev/full
}

usage() {
    local command
    for command in print record verdict schema exits conformance bench; do
        wants "$command has help" 0 "usage: tollgate $command" \
            "$TOLLGATE" "$command" --help
        wants "$command refuses an unknown option" 2 \
            "unknown option --fast; see tollgate $command --help" \
            "$TOLLGATE" "$command" --fast
    done
    wants "help" 0 "print a stream as it comes" "$TOLLGATE" --help
    wants "version" 0 "tollgate 0" "$TOLLGATE" --version
    wants "what cannot be written is an error" 3 "cannot write to stdout" \
        full_disk "$TOLLGATE" exits --markdown
    wants "no command" 2 "usage" "$TOLLGATE"
    wants "unknown command" 2 "unknown command 'frob'" "$TOLLGATE" frob
    wants "missing file" 2 "cannot open" "$TOLLGATE" print "$SCRATCH/none"
    wants "missing value" 2 "--expect needs a value" \
        "$TOLLGATE" verdict --expect
    wants "bench wants to know the platform" 2 "give PLATFORM=SOURCE" \
        "$TOLLGATE" bench "$(stream)"
    wants "bench wants a benchmark" 3 "no complete run in mode bench" \
        "$TOLLGATE" bench "bochs=$(stream)"
    wants "metadata" 0 "/* CTF 1.8 */" "$TOLLGATE" schema --metadata
    wants "formats file" 0 \
        "0x00000002  CPU%(cpu)d  %(tsc)d  hvm:vmentry  %(1)d" \
        "$TOLLGATE" schema --formats
    wants "events for people" 0 "| 4 | \`hvm:cpuid\` | detail | both |" \
        "$TOLLGATE" schema --markdown
    wants "exits for people" 0 "| CPUID | 10 | always |" \
        "$TOLLGATE" exits --markdown
}

printing
live
recording
judging
reporting
junit
preflight
side_by_side
damage
benchmarks
usage
finish
