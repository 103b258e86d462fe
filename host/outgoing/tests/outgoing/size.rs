//! What is large is told as a whole, or it is said that it is too much.

use crate::world::{World, call, everything, places};
use keyhole_outgoing::{Outgoing, Takes, Uncollected};

/// Makes commits on a branch that no remote has, by git's own format.
const COMMITS: &str = "i=0; while [ $i -lt $N ]; do i=$((i+1))
    echo 'commit refs/heads/many'
    echo \"committer A <a@b> $((1700000000 + i)) +0000\"
    printf 'data 8\\nM%06d\\n' $i; done | git fast-import --quiet
    git symbolic-ref HEAD refs/heads/many";

/// Stages files of one content.
const FILES: &str = "h=$(echo INMANY | git hash-object -w --stdin)
    seq $N | sed \"s/^/100644 $h 0\\td\\//\" | git update-index --index-info";

/// What is told after a script with this number.
fn after(number: usize, script: &str) -> Result<Outgoing, Uncollected> {
    let world = World::new();
    world.sh(&format!("N={number}; {script}"));
    let mut wanted = everything();
    wanted.takes = Takes::Named;
    world.collect(&wanted)
}

#[test]
fn five_thousand_staged_files_are_told() {
    let outgoing = after(5_000, FILES).unwrap();
    assert_eq!(outgoing.staged, 5_000);
    assert_eq!(places(&outgoing, "INMANY").len(), 5_000);
}

/// Whether it is said that there is too much. On a busy machine, the time may end before.
fn is_refused(told: &Result<Outgoing, Uncollected>) -> bool {
    matches!(told, Err(Uncollected::TooMuch | Uncollected::TooSlow))
}

#[test]
fn more_than_fifty_thousand_files_are_too_much() {
    assert!(is_refused(&after(50_001, FILES)));
}

#[test]
fn five_hundred_commits_are_told() {
    let outgoing = after(500, COMMITS).unwrap();
    assert_eq!(outgoing.commits, 500);
    assert_eq!(places(&outgoing, "M000001").len(), 1);
    assert_eq!(places(&outgoing, "M000500").len(), 1);
}

#[test]
fn more_than_two_thousand_commits_are_too_much() {
    assert!(is_refused(&after(2_001, COMMITS)));
}

/// A push to an address leaves no branch of a remote here. A fetch makes one, which counts for a push
/// that names no remote.
#[test]
fn commits_that_were_pushed_to_an_address_count_as_published_after_one_fetch() {
    let pushed = format!("{COMMITS}; git push -q ../o many");
    assert!(is_refused(&after(2_001, &pushed)));
    let outgoing = after(2_001, &format!("{pushed}; git fetch -q origin")).unwrap();
    assert_eq!(outgoing.commits, 0);
}

/// 140 MB of zeros are 140 KB in the repository, and more than git may take at once.
#[test]
fn a_small_object_that_is_huge_is_too_much() {
    let bomb = "h=$(head -c 140000000 /dev/zero | git hash-object -w --stdin)
        git update-index --add --cacheinfo 100644,$h,z";
    assert!(is_refused(&after(0, bomb)));
}

/// Each of these is small enough for git, but together they are not for us.
#[test]
fn more_than_64_megabytes_are_too_much() {
    let lines = "for i in 1 2 3 4; do h=$(yes $i | head -c 20000000 | git hash-object -w --stdin)
        git update-index --add --cacheinfo 100644,$h,$i; done";
    assert!(is_refused(&after(0, lines)));
}

#[test]
fn a_new_file_of_more_than_eight_megabytes_is_too_much_if_it_is_taken() {
    let world = World::new();
    world.sh("head -c 8388609 /dev/zero >big; echo IN >small");
    assert_eq!(world.collect(&everything()), Err(Uncollected::TooMuch));
    assert_eq!(world.collect(&call("add small")).unwrap().new, 1);
}

/// A path in a tree may have any length, and the place of each line has it.
#[test]
fn the_paths_of_many_lines_are_counted() {
    let world = World::new();
    world.sh(
        "d=$(printf 'd%.0s' $(seq 200)); p=$d/$d/$d/$d/$d/$d/$d/$d/$d/$d; mkdir -p $p
        seq 200000 | sed 's/$/ line/' >$p/a; git add $p; git commit -qm a
        sed -i 's/[02468] line$/& x/' $p/a; git add $p",
    );
    assert_eq!(world.collect(&everything()), Err(Uncollected::TooMuch));
}

#[test]
fn many_lines_of_a_file_with_a_long_name_are_told() {
    let world = World::new();
    world.sh(
        "n=$(printf 'n%.0s' $(seq 200)); seq 20000 | sed 's/$/ line/' >$n; git add $n
        git commit -qm a; sed -i 's/[02468] line$/& x/' $n; git add $n",
    );
    let outgoing = world.collect(&everything()).unwrap();
    assert_eq!((outgoing.staged, outgoing.commits), (1, 1));
}
