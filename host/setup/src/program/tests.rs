use super::*;

#[test]
fn a_program_where_it_will_stay_is_told_from_one_that_an_update_takes_away() {
    for stays in [
        "/usr/local/bin/keyhole",
        "/home/u/.cargo/bin/keyhole",
        "/home/u/.local/bin/keyhole",
        "/opt/homebrew/bin/keyhole",
        "/nix/var/nix/profiles/default/bin/keyhole",
        "/home/u/targets/release/keyhole",
        "/home/tmp/keyhole",
        "/home/u/.local/share/uv/tools/k/bin/keyhole",
        "/usr/local/lib/node_modules/k/node_modules/@k/linux-x64/bin/keyhole",
    ] {
        assert!(!is_fleeting(Path::new(stays)), "{stays}");
    }
    for goes in [
        "/home/u/.claude/plugins/data/keyhole-keyhole/keyhole-1f",
        "/home/u/.claude/plugins/cache/k/0.1.0/server/keyhole",
        "/Users/u/Library/Application Support/Claude/Claude Extensions/k/server/keyhole",
        "/opt/homebrew/Cellar/keyhole/0.1.0/bin/keyhole",
        "/nix/store/0a-keyhole-0.1.0/bin/keyhole",
        "/home/u/.cache/uv/keyhole",
        "/Users/u/Library/Caches/keyhole",
        "/home/u/.npm/_npx/1f/keyhole",
        "/home/u/.local/share/pnpm/global/5/.pnpm/@k+linux-x64@0.1.0/node_modules/@k/linux-x64/bin/keyhole",
        "/home/u/keyhole/target/debug/keyhole",
        "/tmp/keyhole",
        "/private/var/folders/x/keyhole",
    ] {
        assert!(is_fleeting(Path::new(goes)), "{goes}");
    }
}

/// A home can be a repository, with the program and its lasting name in it.
#[test]
fn a_name_in_a_repository_counts_for_a_program_of_that_repository() {
    let world = tempfile::tempdir().unwrap();
    let world = world.path().canonicalize().unwrap();
    for folder in ["home/.git", "home/tools", "home/bin", "elsewhere"] {
        std::fs::create_dir_all(world.join(folder)).unwrap();
    }
    let name = world.join("home/bin/keyhole");
    for (program, counts) in [("home/tools/program", true), ("elsewhere/program", false)] {
        let program = world.join(program);
        std::fs::write(&program, "").unwrap();
        std::os::unix::fs::symlink(&program, &name).unwrap();
        let found = on_path(&program, Some(world.join("home/bin").into()));
        assert_eq!(found, counts.then(|| name.clone()), "{program:?}");
        std::fs::remove_file(&name).unwrap();
    }
}
