//! Guessing keys slows the guesses down, and nobody else. Time is tokio's own
//! here, and stands still until all else is done.
#![allow(clippy::unwrap_used, reason = "tests")]

use super::Loader;
use crate::{
    Caller, Code,
    limits::Limits,
    map::{LiveMap, Location},
    sandbox::Sandbox,
};
use std::{fs, os::unix::fs::PermissionsExt, sync::Arc, time::Duration};
use tempfile::TempDir;
use tokio::{task::JoinSet, time::Instant};

/// A loader with the key `k-1`, for a file that says `text`.
fn loader(limits: Limits) -> (TempDir, Arc<Loader>) {
    let tree = tempfile::tempdir().unwrap();
    let map = tree.path().join("map.toml");
    fs::write(&map, "[keys]\nk-1 = 'a.md'\n").unwrap();
    fs::set_permissions(&map, fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(tree.path().join("a.md"), "text").unwrap();
    let location = Location::find(Some(&map), |_| None).unwrap();
    let live = Arc::new(LiveMap::new(location));
    let sandbox = Sandbox::embedded(limits).unwrap();
    (tree, Arc::new(Loader::new(live, sandbox, limits)))
}

/// How long a call takes by the clock that stands still, in milliseconds.
async fn takes(loader: &Loader, key: &str, expected: Result<&str, Code>) -> u128 {
    let start = Instant::now();
    let answer = loader
        .load(key, &Caller::Nobody)
        .await
        .map(|content| content.text);
    assert_eq!(answer.as_deref().map_err(|code| *code), expected);
    start.elapsed().as_millis()
}

#[tokio::test(start_paused = true)]
async fn unknown_keys_in_a_row_are_answered_later_and_later() {
    let (_tree, loader) = loader(Limits::default());
    let unknown = Err(Code::UnknownKey);
    for expected in [0, 0, 0, 50, 100, 200] {
        let took = takes(&loader, "k-2", unknown).await;
        // The timer's own steps are of 1 ms.
        assert!((expected..=expected + 1).contains(&took), "{took}");
    }
    // Neither that, nor the form of a key, makes a difference.
    let took = takes(&loader, "not a key", unknown).await;
    assert!((400..=401).contains(&took), "{took}");
}

#[tokio::test(start_paused = true)]
async fn a_valid_key_is_answered_at_once_and_does_not_end_the_slowness() {
    let (_tree, loader) = loader(Limits::default());
    for _ in 0..8 {
        takes(&loader, "k-2", Err(Code::UnknownKey)).await;
    }
    assert_eq!(takes(&loader, "k-1", Ok("text")).await, 0);
    assert!(takes(&loader, "k-2", Err(Code::UnknownKey)).await >= 1000);
    tokio::time::advance(Duration::from_secs(60)).await;
    assert_eq!(takes(&loader, "k-2", Err(Code::UnknownKey)).await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_thousand_refusals_held_back_leave_every_place_to_valid_keys() {
    let limits = Limits {
        running: 1,
        waiting: 1,
        ..Limits::default()
    };
    let (_tree, loader) = loader(limits);
    let mut guesses = JoinSet::new();
    for number in 0..1000 {
        let guess = Arc::clone(&loader);
        guesses.spawn(async move { guess.load("k-2", &Caller::Nobody).await.map(drop) });
        // One after another gets its refusal, and waits with it.
        while loader.guesses.counted() <= number {
            tokio::task::yield_now().await;
        }
    }
    assert_eq!(loader.places.available_permits(), 1);
    assert_eq!(loader.queue.available_permits(), 2);
    assert_eq!(takes(&loader, "k-1", Ok("text")).await, 0);
    // Together they are through within the longest delay.
    let start = Instant::now();
    while let Some(answer) = guesses.join_next().await {
        assert_eq!(answer.unwrap(), Err(Code::UnknownKey));
    }
    assert!(start.elapsed() <= limits.longest_guess_delay + Duration::from_millis(1));
}
