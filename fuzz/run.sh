# shellcheck shell=sh
# ./x fuzz: each fuzz target for a while. ./x runs this in its own shell.

# Runs each target for this many seconds, starting from the committed corpus. New inputs
# go to fuzz/found, and inputs that fail to fuzz/artifacts.
fuzz() {
    tool cargo-fuzz 0.13.2
    # For a short run, optimising the target would take longer than the run itself.
    profile=--release
    [ "$1" -ge 120 ] || profile=--dev
    for target in map session; do
        mkdir -p fuzz/found/$target
        # No sanitizer: our code has no unsafe code to check, and a sanitizer needs a
        # nightly toolchain.
        cargo fuzz run $profile --sanitizer none $target fuzz/found/$target fuzz/corpus/$target -- \
            -max_total_time="$1" -timeout=20 -max_len=4096 -print_final_stats=1
    done
}

fuzz "${1:-20}"
