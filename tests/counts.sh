# shellcheck shell=sh
# ./x counts: what a reviewer would have to read and trust. ./x runs this in its own shell.

# The list "Read it yourself", with the lines of each row. A link to a folder means its
# Rust files, without tests and what is for other systems than Linux.
reading_list() {
    sed -n '/^## Read it yourself/,/^## The/p' ARCHITECTURE.md | grep '](' | while IFS='|' read -r _ part what where; do
        for path in $(echo "$where" | grep -o '](\([^)]*\)' | cut -c 3-); do
            if [ -f "$path" ]; then wc -l <"$path"; else lines_of_room "$path"; fi
        done | awk -v "what=$part|$what" '{ all += $1 } END { if (NR) print all "|" what }'
    done | awk -F'|' '$2 ~ /[a-z]/ { part = $2; gsub(/^ | $/, "", part) } { row[NR] = sprintf("%8d %s", $1, $3); of[NR] = part; all[part] += $1 }
        END { for (n = 1; n <= NR; n++) { if (of[n] != of[n - 1]) printf "%s: %d lines\n", of[n], all[of[n]]; print row[n] } }'
}

# What a reviewer would have to read, counted in the code itself.
counts() {
    reading_list
    echo
    { rooms; echo; pages; } | awk '/^$/ { pages = NR; next } { row[NR - pages] = row[NR - pages] sprintf("%-38s", $0); if (NR - pages > most) most = NR - pages }
        END { for (n = 1; n <= most; n++) { if (n > pages - 1 && pages) row[n] = sprintf("%38s", "") row[n]; sub(/ +$/, "", row[n]); print row[n] } }'
    echo
    unsafe_in "in the program" --exclude-dir=tests host guest/src
    unsafe=$count
    unsafe_in "in tests, benches and fuzzing" --exclude-dir=node_modules --exclude-dir=target benches fuzz/fuzz_targets \
        guest/cases guest/native guest/tests host/*/tests tests
    echo
    program=$(lines host guest/src ! -path '*tests*' ! -path '*examples*')
    all=$(lines . '(' -name target -o -name node_modules ')' -prune -o)
    crates=$(cargo tree --locked -p keyhole -e normal,no-proc-macro --prefix none --format '{p}' |
        sed 's/ (.*//' | sort -u | grep -vc '^keyhole')
    # A higher ceiling needs a commit that names the user who asked for what is in it.
    at_most 13400 "$program" "lines of Rust in the program, with comments"
    at_most 22500 $((all - program)) "lines of Rust outside it"
    at_most 460 "$(cat plugin/hooks/register.ts plugin/start.sh plugin/bin/keyhole | wc -l)" \
        "lines of register.ts, start.sh and bin/keyhole"
    at_most 14500 "$(pages | tail -1 | awk '{ print $1 }')" "words on the pages"
    at_most 3 "$unsafe" "unsafe in the program"
    at_most 105 "$crates" "crates in the program on this system, besides our own"
    exit "$above"
}

# Says how many $2 there are of $3, and that more than $1 are too many.
above=0
at_most() {
    printf '%6d of %6d  %s\n' "$2" "$1" "$3"
    [ "$2" -le "$1" ] || { above=1; echo "x: too many $3" >&2; }
}

# The lines of each room.
rooms() {
    for room in guest host/*; do
        [ ! -d "$room/src" ] || printf '%6d lines  %s\n' "$(lines_of_room "$room/src")" "$room"
    done
}

# The words of each page. The bars of its tables are none.
pages() {
    for page in README.md SECURITY.md ARCHITECTURE.md CONTRIBUTING.md docs/*.md plugin/README.md; do
        awk -v "page=$page" '{ for (n = 1; n <= NF; n++) words += $n ~ /[A-Za-z0-9]/ } END { printf "%6d words  %s\n", words, page }' "$page"
    done | awk '{ all += $1; print } END { printf "%6d words  in all\n", all }'
}

# The lines of a room's Rust files, without tests and what is for other systems than Linux.
lines_of_room() { lines "$1" ! -path '*test*' ! -name macos.rs; }

# The lines of the Rust files that `find` finds.
lines() { find "$@" -name '*.rs' -exec cat {} + | wc -l | tr -d ' '; }

# `unsafe` as code of ours: a block, a function, an implementation, an attribute.
unsafe_in() {
    where=$1
    shift
    found=$(grep -rnE --include='*.rs' '^[^/"]*unsafe *(\{|\(|fn |impl |extern |trait )' "$@" || true)
    count=$(echo "$found" | grep -c . || true)
    echo "unsafe $where: $count"
    echo "$found"
}

counts
