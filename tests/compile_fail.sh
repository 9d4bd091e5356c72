#!/bin/bash
# A wrong call of a trace function does not compile: every file but good.c in
# tests/compile-fail/ must be refused, and for the line that is wrong, not for
# something else.
. "$(dirname "$0")/lib.sh"

FLAGS=(-std=gnu11 -ffreestanding -mgeneral-regs-only -Wall -Wextra -Werror
    -Wconversion -Wno-sign-conversion -Wmissing-prototypes -I.)

compiles() {
    "$1" "${FLAGS[@]}" -fsyntax-only "$2" >"$SCRATCH/said" 2>&1
}

check() {
    local compiler=$1 file name
    for file in tests/compile-fail/*.c; do
        name="$compiler: $(basename "$file" .c)"
        if [ "$file" = tests/compile-fail/good.c ]; then
            if compiles "$compiler" "$file"; then
                ok "$name compiles"
            else
                not_ok "$name compiles" <"$SCRATCH/said"
            fi
        elif compiles "$compiler" "$file"; then
            not_ok "$name is refused" <<<"it compiles"
        elif grep -q "^$file:[0-9]*:.*error:" "$SCRATCH/said"; then
            ok "$name is refused"
        else
            not_ok "$name is refused" <"$SCRATCH/said"
        fi
    done
}

for compiler in gcc clang; do
    if command -v "$compiler" >/dev/null; then
        check "$compiler"
    else
        skip "$compiler: wrong calls are refused" "$compiler is not installed"
    fi
done
finish
