# shellcheck shell=sh
# ./x mutants: changes the code in small ways. ./x runs this in its own shell.

MUTATED="keyhole-guest keyhole-walk keyhole-core keyhole-wall keyhole-withhold keyhole-engine keyhole-mcp keyhole-outgoing keyhole-gate keyhole"

# Makes each small change to the code that cargo-mutants knows: a test must then fail.
# It runs the tests of the changed crate first, because they are quick; for the changes
# that these miss, it runs all other tests. .cargo/mutants.toml lists what is left out,
# with reasons.
mutants() {
    if [ "$(uname -s)" != Linux ]; then
        echo "skipped: mutants (they are of the code for Linux)"
        return
    fi
    tool cargo-mutants 27.1.0
    [ "${1-}" != --install ] || return 0
    mutants=$BUILD/mutants
    mkdir -p "$mutants"
    reasons_hold
    # It is built thousands of times.
    export CARGO_PROFILE_DEV_DEBUG=false CARGO_INCREMENTAL=1 RUST_BACKTRACE=0
    limit=
    rooms=$MUTATED
    case ${1--} in
        -*) ;;
        cli) shift && rooms=keyhole ;;
        *)
            case " $MUTATED " in *" keyhole-$1 "*) ;; *) die "no room is called $1" ;; esac
            rooms=keyhole-$1 && shift
            ;;
    esac
    if [ "${1-}" = --touched ]; then
        base=${2-$(touched_base)}
        if [ -z "$base" ]; then
            echo "skipped: mutants (no commit to compare with: name one)"
            return
        fi
        git diff "$base" -- host guest >"$mutants/diff"
        set -- --in-place --in-diff "$mutants/diff" --baseline skip --timeout 60
        limit=$(($(date +%s) + ${KEYHOLE_MUTANTS_SECONDS:-120}))
    fi
    survived=
    for package in $rooms; do
        # Which tests to run first.
        case $package in
            keyhole-guest | keyhole-outgoing | keyhole-wall) own=--tests ;;
            keyhole) own=--bins ;;
            *) own=--lib ;;
        esac
        out=$mutants/$package
        cargo mutants -p $package --list "$@" >"$out.all" 2>"$out.why" || { cat "$out.why" >&2; exit 1; }
        : >"$out.judged"
        [ -s "$out.all" ] || continue
        rm -rf "$out"
        within_limit cargo mutants -p $package -o "$out" "$@" -- $own || true
        judged caught unviable timeout
        # All other tests, if there is time left.
        if [ -s "$out/mutants.out/missed.txt" ] &&
            within_limit cargo mutants -p $package -o "$out" "$@" --iterate --test-package \
                "$(echo "$MUTATED" | tr ' ' ,),keyhole-model,keyhole-tests" -- --tests; then
            # Not `timeout`: all tests may just be slow, and then nothing has failed.
            judged caught unviable missed
            if [ -s "$out/mutants.out/missed.txt" ]; then
                sed 's/^/survived: /' "$out/mutants.out/missed.txt"
                survived=yes
            fi
        fi
        sort -u "$out.judged" -o "$out.judged"
        sort -u "$out.all" | comm -23 - "$out.judged" | sed 's/^/skipped: a mutant, for want of time: /'
    done
    echo "mutants: $(cat "$mutants"/*.all | grep -c .), of which $(cat "$mutants"/*.judged | grep -c .) were judged"
    [ -z "$survived" ] || die "no test fails with these changes: write one, or say in .cargo/mutants.toml why none can"
}

# Adds the last run's results of the named kinds.
judged() {
    for kind; do
        cat "$out/mutants.out/$kind.txt" 2>/dev/null >>"$out.judged" || true
    done
}

# Fails if there is no time left to begin. It ignores the command's exit status: the
# results count.
within_limit() {
    if [ -z "$limit" ]; then
        "$@" || true
        return
    fi
    left=$((limit - $(date +%s)))
    [ "$left" -gt 5 ] || return 1
    timeout -s INT "$left" "$@" || true
}

# The commit where this branch left the main branch; on the main branch, the commit
# before.
touched_base() {
    base=$(git merge-base HEAD origin/main 2>/dev/null || true)
    [ "$base" != "$(git rev-parse HEAD)" ] || base=
    echo "${base:-$(git rev-parse --verify --quiet HEAD~1 || true)}"
}

# Checks that each entry in the list of exclusions still matches something.
reasons_hold() {
    for package in $MUTATED; do cargo mutants --no-config --list -p "$package"; done >"$mutants/there"
    sed -n "/^exclude_re/,/^]/s/^    '\(.*\)',\$/\1/p" .cargo/mutants.toml | while read -r entry; do
        grep -qE -- "$entry" "$mutants/there" || die "in .cargo/mutants.toml, this matches nothing: $entry"
    done
}

mutants "$@"
