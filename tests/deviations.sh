#!/bin/bash
# docs/deviations.md, from the lists of expected verdicts: each known deviation
# with its evidence and the one command that reproduces it.
. "$(dirname "$0")/lib.sh"

cat <<'PAGE'
# Known deviations

Made by `make docs` from `tests/expected/`. In each of these the platform is
wrong, by the manual's section and the emulator's own source; the run fails
when one of them starts to pass. The command shows the failed check.
PAGE
for list in tests/expected/*; do
    platform=${list##*/}
    grep -qE '^[^#].* known-deviation ' "$list" || continue
    printf '\n## %s\n\n%s\n\n' "$platform" \
        "$(sed -n '1s/^# Expected verdicts: //p' "$list")"
    sed -nE "s!^([^# ]+) +known-deviation +(.*)!- \`\1\`: \2.\n  \`./run-qemu.sh --platform $platform --scenarios \1 --no-expect\`!p" \
        "$list"
done
