#!/bin/bash
# Boots the built image once on one platform, shows the trace as it arrives
# and ends with the verdict table and its exit status. Builds nothing.
#
# The serial line goes through a FIFO: `tee` keeps it as serial.raw and hands
# it to `tollgate print`, so what is shown live is what is kept. The emulator
# runs in a scratch directory with relative paths only: commas, colons and
# blanks in this checkout's path would break both emulators' options.
set -eu
ROOT=$(cd "$(dirname "$0")" && pwd)
TOLLGATE=$ROOT/build/tollgate

PLATFORM=qemu-svm CPU='' CPUS='' OUT='' LIMIT='' EXPECT=default
QUIET='' WITNESS=yes TRANSPORT=com1 MODE='' SETTINGS='' CHECK=''

usage() {
    cat <<'EOF'
usage: ./run-qemu.sh [option]...

Boots build/esp on one platform and shows every crossing of the guest.

  --platform NAME      qemu-svm    AMD-V in QEMU's TCG (the default)
                       bochs-vmx   VT-x in Bochs; with two more CPU models
                       as bochs-vmx-tigerlake and bochs-vmx-arrandale
                       bochs-svm   AMD-V in Bochs
                       bochs-vmx-smp  VT-x with two CPUs, and of the scenarios
                                   only those that need them
                       kvm         this machine's own KVM, if it nests; if not,
                       it says why and takes qemu-svm
                       kvm-svm     nested KVM in software: Tollgate in a
                       kvm-vmx     guest of a Linux in TCG or in Bochs
  --cpu MODEL          another CPU model, e.g. max,+svm (QEMU) or
                       tigerlake (Bochs; `bochs --help cpu` lists them); on
                       kvm-svm and kvm-vmx the inner machine's
  --cpus N             how many CPUs (1; bochs-vmx-smp and kvm-vmx: 2);
                       scenarios run on the first, another is only there to
                       send it something
  --timeout SEC        wall-clock limit (60; on Bochs 180, nested 600)
  --out DIR            where the run leaves its files (build/run/PLATFORM)
  --expect FILE        the verdicts to expect (tests/expected/PLATFORM, where
                       there is one and --cpu does not choose another CPU)
  --no-expect          compare with nothing
  --no-witness         leave the emulator's own log off (faster benchmarks)
  --quiet              no live trace, only the verdict table
  --check              run nothing: is this command line right?
  --help

Passed on to the image through tollgate.cfg:
  --scenarios A,B      only these scenarios (default: all but demo_*)
  --trace CLASSES      event classes: exit,detail,raw,run or all
  --mode MODE          conformance, bench, or preflight: in one line whether
                       a guest can run there, and if not, why
  --watchdog-ms N      when a guest that does not come back is ended: 1 to
                       600000 (1000)
  --set KEY=VALUE      any key, be it one of those above or
                       order=reverse, order=SEED  of the scenarios; a SEED (0
                                   to 4294967295) makes a random order
                       transport=e9, transport=com1  port 0xE9, as on the
                                   nested platforms, or COM1, as elsewhere

Leaves in DIR: serial.raw, console.log, trace/, verdict.tap, verdict.json,
verdict.xml (JUnit), witness.log. Exit status: 0 as expected, 1 a scenario
failed or a preflight is not ready, 2 wrong use, 3 Tollgate's or the
environment's fault.
EOF
}

# The environment's or Tollgate's fault; wrong use of this script.
die() {
    echo "run-qemu.sh: $*" >&2
    exit 3
}
misuse() {
    echo "run-qemu.sh: $* (see --help)" >&2
    exit 2
}

# setting KEY VALUE: one more line of tollgate.cfg.
setting() {
    case $1 in
    transport) TRANSPORT=$2 ;;
    mode) MODE=$2 ;;
    esac
    SETTINGS+="$1 = $2"$'\n'
}

parse() {
    while [ $# -gt 0 ]; do
        case $1 in
        --help | -h) usage && exit 0 ;;
        --no-expect) EXPECT='' && shift && continue ;;
        --no-witness) WITNESS='' && shift && continue ;;
        --quiet) QUIET=yes && shift && continue ;;
        --check) CHECK=yes && shift && continue ;;
        --platform | --cpu | --cpus | --timeout | --out | --expect | \
            --scenarios | --trace | --mode | --watchdog-ms | --set) ;;
        *) misuse "unknown option '$1'" ;;
        esac
        [ $# -ge 2 ] || misuse "$1 needs a value"
        option "$1" "$2"
        shift 2
    done
}

option() {
    case $1 in
    --platform) PLATFORM=$2 ;;
    --cpu) CPU=$2 ;;
    --cpus) CPUS=$2 ;;
    --timeout) LIMIT=$2 ;;
    --out) OUT=$2 ;;
    --expect) EXPECT=$2 ;;
    --scenarios)
        [ ${#2} -le 255 ] ||
            misuse "--scenarios takes at most 255 characters, not ${#2}"
        setting scenarios "$2"
        ;;
    --trace) setting trace "$2" ;;
    --mode) setting mode "$2" ;;
    --watchdog-ms) setting watchdog_ms "$2" ;;
    --set)
        case $2 in
        *=*) setting "${2%%=*}" "${2#*=}" ;;
        *) misuse "--set needs KEY=VALUE, not '$2'" ;;
        esac
        ;;
    esac
}

# --- what must be there before anything starts ---------------------------

# need FILE-OR-COMMAND PACKAGE
need() {
    [ -e "$1" ] || command -v "$1" >/dev/null ||
        die "$1 is missing: install the package $2" \
            "(tools/deps.sh run $PLATFORM does it)"
}

need_built() {
    [ -e "$ROOT/build/esp" ] ||
        die "nothing to boot in build/esp: run 'make' first"
    [ -x "$TOLLGATE" ] ||
        die "the host tool build/tollgate is missing: run 'make' first"
}

# Why this machine's KVM cannot run Tollgate; nothing when it can. One that does
# not nest would only show "no virtualization" from inside.
kvm_lacks() {
    local module
    [ -e /dev/kvm ] || echo "there is no /dev/kvm on this machine"
    [ -e /dev/kvm ] || return 0
    if ! { : <>/dev/kvm; } 2>/dev/null; then
        echo "/dev/kvm cannot be opened by $(id -un) (is it in the group kvm?)"
        return
    fi
    module=$(sed -n 's/^flags.* \(vmx\|svm\) .*/\1/p;T;q' /proc/cpuinfo)
    case $module in
    vmx) module=kvm_intel ;;
    svm) module=kvm_amd ;;
    *)
        echo "this CPU offers neither vmx nor svm, so no guest of KVM has it"
        return
        ;;
    esac
    grep -qs '^[1Y]' "/sys/module/$module/parameters/nested" ||
        echo "KVM does not nest here (load $module with nested=1)"
}

choose_kvm() {
    local lacks
    lacks=$(kvm_lacks)
    [ -n "$lacks" ] || return 0
    if [ "$MODE" = preflight ]; then
        echo "kvm: not ready: $lacks; nested KVM in software: kvm-svm, kvm-vmx"
        exit 1
    fi
    echo "run-qemu.sh: no platform kvm: $lacks; running on qemu-svm instead" \
        "(nested KVM in software: kvm-svm, kvm-vmx)" >&2
    PLATFORM=qemu-svm
}

# shellcheck source=tools/emulators.sh
. "$ROOT/tools/emulators.sh"
# shellcheck source=tools/nested/run.sh
. "$ROOT/tools/nested/run.sh"

need_qemu() {
    need qemu-system-x86_64 qemu-system-x86
    need /usr/share/ovmf/OVMF.fd ovmf
}

need_bochs() {
    need bochs bochs
    need mformat mtools
    need /usr/share/ovmf/OVMF.fd ovmf
    need /usr/share/vgabios/vgabios.bin vgabios
}

# What the platform needs, and what the command line says about it.
check_platform() {
    local needs what
    case $PLATFORM in
    qemu-svm) needs=need_qemu ;;
    kvm) needs="need_qemu choose_kvm" ;;
    bochs-vmx | bochs-vmx-tigerlake | bochs-vmx-arrandale | bochs-vmx-smp | \
        bochs-svm) needs=need_bochs ;;
    kvm-svm) needs="need_qemu need_nested" ;;
    kvm-vmx) needs="need_bochs need_nested" ;;
    *) misuse "unknown platform '$PLATFORM': choose qemu-svm, bochs-vmx," \
        "bochs-vmx-tigerlake, bochs-vmx-arrandale, bochs-vmx-smp, bochs-svm," \
        "kvm, kvm-svm or kvm-vmx" ;;
    esac
    [[ ${LIMIT:=$(default_limit)} =~ ^[1-9][0-9]*$ ]] ||
        misuse "--timeout needs a number of seconds, not '$LIMIT'"
    platform_defaults
    [ "$EXPECT" = default ] || [ -z "$EXPECT" ] ||
        { [ -r "$EXPECT" ] && [ ! -d "$EXPECT" ]; } ||
        misuse "cannot read the expected verdicts in '$EXPECT'"
    [ -z "$CHECK" ] || exit 0
    for what in $needs; do
        $what
    done
}

# Two CPUs take Bochs twice as long, hence only what one cannot do. Inside KVM
# the second is the inner machine's: it sleeps, and costs nothing. What costs
# most there is the inner machine's line: port 0xE9 takes half of COM1's time.
platform_defaults() {
    case $PLATFORM in
    bochs-vmx-smp)
        : "${CPUS:=2}"
        given scenarios || setting scenarios sipi,sipi_resume
        ;;
    kvm-svm | kvm-vmx)
        [ "$PLATFORM" = kvm-svm ] || : "${CPUS:=2}"
        given transport || setting transport e9
        ;;
    esac
    [[ ${CPUS:=1} =~ ^[1-8]$ ]] ||
        misuse "--cpus needs a number from 1 to 8, not '$CPUS'"
}

# given KEY: does the command line say it?
given() {
    [[ $SETTINGS =~ (^|$'\n')$1\ = ]]
}

default_limit() {
    case $PLATFORM in
    kvm-*) echo 600 ;;
    bochs-*) echo 180 ;;
    *) echo 60 ;;
    esac
}

# Expected verdicts hold for the platform's own CPU model.
choose_expect() {
    if [ "$MODE" = bench ]; then
        EXPECT='' # nothing is judged
        return
    fi
    if [ "$EXPECT" = default ]; then
        EXPECT=$ROOT/tests/expected/$PLATFORM
        [ -e "$EXPECT" ] && [ -z "$CPU" ] || EXPECT=''
    fi
}

# --- the run ----------------------------------------------------------------

prepare() {
    local out=$ROOT/build/run/$PLATFORM
    if [ "$MODE" = preflight ]; then
        QUIET=yes # one line is the whole answer
        out=$ROOT/build/run/preflight-$PLATFORM
    fi
    make_out "${OUT:-$out}"
    WORK=$(mktemp -d "${TMPDIR:-/tmp}/tollgate.XXXXXX" 2>/dev/null) ||
        die "cannot make a scratch directory in ${TMPDIR:-/tmp}: point TMPDIR" \
            "at a directory that can be written"
    trap cleanup EXIT
    trap 'exit 130' INT TERM
    {
        cp -r "$ROOT/build/esp" "$WORK/esp" &&
            config >"$WORK/esp/tollgate.cfg" &&
            mkfifo "$WORK/line" "$WORK/witness"
    } || die "cannot put the image into $WORK"
}

# make_out DIR: sets OUT, an empty one for this run alone. The lock is on the
# directory itself, and the kernel's: it ends with this script and its emulator,
# however these end. Where the file system has no locks there is none.
make_out() {
    local status=0
    OUT=$({ mkdir -p "$1" && cd "$1" && [ -w . ] && pwd; } 2>/dev/null) ||
        die "cannot write into '$1': choose another directory with --out"
    exec 9<"$OUT"
    flock -n 9 2>/dev/null || status=$?
    [ $status != 1 ] || die "another run uses $OUT: wait for its end, or" \
        "choose another directory with --out"
    (cd "$OUT" && rm -rf serial.raw console.log trace verdict.tap \
        verdict.json verdict.xml witness.log) ||
        die "cannot remove what an earlier run left in $OUT"
}

# tollgate.cfg
config() {
    case $PLATFORM in
    bochs-*) echo "shutdown = bochs" ;;
    *) echo "shutdown = isa-debug-exit" ;;
    esac
    case $PLATFORM in
    # Fetching from the APIC-access page, Bochs 2.7 panics (cpu/cpu.cc,
    # prefetch: "getHostMemAddr vetoed direct read").
    bochs-vmx* | kvm-vmx) echo "fatal = apic_fetch" ;;
    esac
    printf '%s' "$SETTINGS"
}

EMULATOR=''
cleanup() {
    if [ -n "$EMULATOR" ]; then
        kill "$EMULATOR" 2>/dev/null || true
        wait "$EMULATOR" 2>/dev/null || true
    fi
    release_readers
    rm -rf "$WORK"
}

# A FIFO that the emulator never opened has left its reader waiting for a
# first writer.
release_readers() {
    [ ! -p "$WORK/witness" ] || : <>"$WORK/line" <>"$WORK/witness"
}

# Shows the line as it comes; the whole of it stays in serial.raw, even when
# the printer ends early.
show() {
    if [ -n "$QUIET" ]; then
        cat >"$OUT/serial.raw"
    else
        tee -p "$OUT/serial.raw" | "$TOLLGATE" print --partial - || true
    fi
}

# Sets STATUS to the emulator's exit status, 124 or 137 at the limit. No log
# may fill the disk, whatever the guest does (256 MiB a file).
boot() {
    local viewer filter
    (
        cd "$WORK"
        ulimit -f $((256 * 1024))
        case $PLATFORM in
        bochs-*) start_bochs ;;
        kvm-svm) start_nested_qemu ;;
        kvm-vmx) start_nested_bochs ;;
        *) start_qemu ;;
        esac
    ) </dev/null >"$WORK/words" 2>&1 &
    EMULATOR=$!
    show <"$WORK/line" 9<&- &
    viewer=$!
    filter_witness <"$WORK/witness" >"$OUT/witness.log" 9<&- &
    filter=$!
    STATUS=0
    wait "$EMULATOR" || STATUS=$?
    EMULATOR=''
    release_readers
    wait "$viewer" "$filter" || true
}

# What the emulator itself said, or the middle machine on its console, without
# banners and without warnings about the CPU features that TCG lacks.
emulator_words() {
    cat "$WORK/words" "$WORK/middle" 2>/dev/null | tr -cd '[:print:]\n' |
        grep -vE '^ *(=+|Bochs x86 Emu.*|Built from.*|Timestamp:.*)?$|'"\
TCG doesn't support|^[0-9]{11}i|no bxevent_callback function" |
        tail -n 8 | sed 's/^/    /' || true
}

last_line() {
    "$TOLLGATE" print "$OUT/serial.raw" 2>/dev/null | tail -n 1 |
        tr -cd '[:print:]' | cut -c 1-300
}

# What the image refused of the configuration that the command line gave it.
refusal() {
    sed -nE -e 's/^error: (tollgate\.cfg line .*)/\1/p' \
        -e 's/^error: (.*: no scenario is called so)$/\1/p' \
        "$OUT/console.log" | head -n 1
}

# The verdict decides; a machine that never stopped, or an emulator that
# crashed, is an error whatever the stream says.
report() {
    local args=(--platform "$PLATFORM" --json "$OUT/verdict.json"
        --tap "$OUT/verdict.tap" --junit "$OUT/verdict.xml") verdict=0 words
    "$TOLLGATE" record --partial -o "$OUT/trace" \
        --console "$OUT/console.log" "$OUT/serial.raw" || true
    [ -z "$EXPECT" ] || args+=(--expect "$EXPECT")
    "$TOLLGATE" verdict "${args[@]}" "$OUT/serial.raw" || verdict=$?
    case $STATUS in
    124 | 137)
        emulator_words >&2
        die "wall-clock limit of $LIMIT s reached; the last line of the" \
            "stream was: $(last_line)"
        ;;
    12[5-9] | 1[3-9]? | 2??)
        emulator_words >&2
        die "the emulator died (exit status $STATUS)"
        ;;
    esac
    if [ "$verdict" = 3 ] && words=$(refusal | grep .); then
        misuse "$words"
    fi
    if [ "$verdict" = 3 ] && words=$(emulator_words | grep .); then
        echo "run-qemu.sh: the emulator ended with status $STATUS and said:"
        echo "$words"
    fi >&2
    exit "$verdict"
}

parse "$@"
check_platform
need_built
choose_expect
prepare
boot
report
