# shellcheck shell=sh
# ./x counts: what a reviewer would have to read and trust. ./x runs this in its own shell.

# The list "Read it yourself", with the lines of each row. A link to lib.rs, mod.rs or
# README.md means its folder, without tests and what is for other systems than Linux.
reading_list() {
    sed -n '/^## Read it yourself/,/^## The/p' ARCHITECTURE.md | grep '](' | while IFS='|' read -r _ long what where; do
        for path in $(echo "$where" | grep -o '](\([^)]*\)' | cut -c 3-); do
            case $path in
                */lib.rs | */mod.rs) lines "${path%/*}" ! -path '*test*' ! -path '*windows*' ! -name macos.rs ;;
                */README.md) find "${path%/*}" -type f ! -name '*.md' -exec cat {} + | wc -l ;;
                *) wc -l <"$path" ;;
            esac
        done | awk -v "what=$long|$what" '{ all += $1 } END { print all "|" what }'
    done | awk -F'|' '$2 ~ /[a-z]/ { part = $2; gsub(/^ | $/, "", part) } { row[NR] = sprintf("%8d %s", $1, $3); of[NR] = part; all[part] += $1 }
        END { for (n = 1; n <= NR; n++) { if (of[n] != of[n - 1]) printf "%s: %d lines\n", of[n], all[of[n]]; print row[n] } }'
}

# What a reviewer would have to read, counted in the code itself.
counts() {
    reading_list
    echo "crates in the program on this system, besides our own: $(
        cargo tree --locked -p keyhole -e normal,no-proc-macro --prefix none --format '{p}' |
            sed 's/ (.*//' | sort -u | grep -vc '^keyhole'
    )"
    unsafe_in "in the program" --exclude-dir=windows --exclude-dir=tests host guest/src
    unsafe_in "in the program for Windows, besides" --exclude-dir=tests host/walk/src/windows
    unsafe_in "in tests, benches and fuzzing" --exclude-dir=node_modules --exclude-dir=target benches fuzz/fuzz_targets \
        guest/cases guest/native guest/tests host/*/tests tests
    echo "lines of Rust in the program, with comments: $(lines host guest/src ! -path '*tests*' ! -path '*examples*')"
    echo "lines of Rust in all: $(lines . '(' -name target -o -name node_modules ')' -prune -o)"
}

# The lines of the Rust files that `find` finds.
lines() { find "$@" -name '*.rs' -exec cat {} + | wc -l | tr -d ' '; }

# `unsafe` as code of ours: a block, a function, an implementation, an attribute.
unsafe_in() {
    where=$1
    shift
    found=$(grep -rnE --include='*.rs' '^[^/"]*unsafe *(\{|\(|fn |impl |extern |trait )' "$@" || true)
    echo "unsafe $where: $(echo "$found" | grep -c .)"
    echo "$found"
}

counts
