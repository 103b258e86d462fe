# shellcheck shell=sh
# ./x fuzz: each fuzz target for a while. ./x runs this in its own shell.

# So that libFuzzer sees which code an input reaches. These are cargo-fuzz's own flags: to
# install it would take longer than a short run. No sanitizer: our code has no unsafe code
# to check, and a sanitizer needs a nightly toolchain.
COVERAGE="--cfg fuzzing -Cpasses=sancov-module -Cdebug-assertions \
-Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
-Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares \
-Cllvm-args=-sanitizer-coverage-stack-depth"

# Runs each target for this many seconds, starting from the committed corpus. New inputs
# go to fuzz/found, and inputs that fail to fuzz/artifacts.
fuzz() {
    built=$BUILD/debug
    if [ "$1" -ge 120 ]; then
        export RUSTFLAGS="$COVERAGE"
        # With a target that is named, these flags leave build scripts as they are.
        system=$(rustc --print host-tuple)
        built=$BUILD/$system/release
        set -- "$1" --profile release --target "$system"
    else
        # To build all that a target depends on would take longer than the run itself.
        export KEYHOLE_COVERAGE="$COVERAGE" RUSTC_WORKSPACE_WRAPPER="$PWD/fuzz/covered.sh"
    fi
    seconds=$1
    shift
    # Beside the program, what the targets depend on has the features with which it is built
    # already.
    cargo build --locked -p keyhole -p keyhole-fuzz --bin map --bin session "$@"
    for target in map session; do
        mkdir -p fuzz/found/$target fuzz/artifacts/$target
        "$built/$target" fuzz/found/$target fuzz/corpus/$target \
            -artifact_prefix=fuzz/artifacts/$target/ -max_total_time="$seconds" -timeout=20 -max_len=4096 \
            -print_final_stats=1
    done
}

fuzz "${1:-20}"
