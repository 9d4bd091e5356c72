#!/bin/bash
# Breaks Tollgate on purpose, one mutant of tests/mutants after the other, in a
# copy of the tree, and runs what must notice. Each mutant is one test: ok when
# it was caught. Arguments: names of mutants; none: all.
. "$(dirname "$0")/lib.sh"

ROOT=$PWD
TREE=$ROOT/build/mutate

# A copy that keeps its build from one run to the next.
copy_tree() {
    mkdir -p "$TREE"
    git -C "$ROOT" ls-files -z |
        (cd "$ROOT" && xargs -0 cp --parents -u -t "$TREE")
}

build() {
    make -C "$TREE" --no-print-directory -s -j "$(nproc)" "$@" \
        >"$SCRATCH/build" 2>&1
}

# notices JUDGE: does the suite fail? JUDGE is a platform or a unit test.
notices() {
    case $1 in
    *_test)
        build "build/unit/$1" || return 1
        ! timeout 60 "$TREE/build/unit/$1" >/dev/null 2>&1
        ;;
    *)
        ! { (cd "$TREE" && ./run-qemu.sh --platform "$1" --quiet) &&
            (cd "$TREE" && tests/witness.sh "$1"); } >"$SCRATCH/run" 2>&1
        ;;
    esac
}

# caught_by JUDGE...: prints the first that notices, nothing when none does.
caught_by() {
    local judge
    for judge in "$@"; do
        if notices "$judge"; then
            echo "$judge"
            return
        fi
    done
}

# mutant NAME FILE EXPRESSION JUDGE...
mutant() {
    local name=$1 file=$2 expression=$3 judge
    shift 3
    sed -i "$expression" "$TREE/$file"
    if cmp -s "$ROOT/$file" "$TREE/$file"; then
        not_ok "$name changes nothing in $file" </dev/null
    elif ! build all; then
        not_ok "$name does not compile" <"$SCRATCH/build"
    else
        judge=$(caught_by "$@")
        if [ -n "$judge" ]; then
            ok "$name is caught by $judge"
        else
            not_ok "$name survived: $*" </dev/null
        fi
    fi
    cp "$ROOT/$file" "$TREE/$file"
}

copy_tree
build all || { echo "tests/mutate.sh: the copy does not build" >&2; exit 3; }
while IFS=$'\t' read -r name file judges expression; do
    case $name in '' | '#'*) continue ;; esac
    [ $# = 0 ] || [[ " $* " == *" $name "* ]] || continue
    read -ra judges <<<"$judges"
    mutant "$name" "$file" "$expression" "${judges[@]}" </dev/null
done <tests/mutants
[ "$FAILED" = 0 ]
