use super::read;

/// What stands directly before the version, in each file that repeats it.
const REPEATED: [(&str, &str); 8] = [
    ("Cargo.toml", "[workspace.package]\nversion = \""),
    ("Cargo.lock", "name = \"keyhole\"\nversion = \""),
    (
        "integrations/bernstein/pyproject.toml",
        "name = \"keyhole-bernstein\"\nversion = \"",
    ),
    ("plugin/.claude-plugin/plugin.json", "\"version\": \""),
    ("release/mcpb/manifest.json", "\n  \"version\": \""),
    ("release/server.json", "\"version\": \""),
    (
        "release/server.json",
        "https://github.com/keyhole-mcp/keyhole/releases/download/v",
    ),
    ("docs/install.md", "ghcr.io/keyhole-mcp/keyhole:"),
];

#[test]
fn every_file_that_repeats_the_version_has_this_one() {
    let version = env!("CARGO_PKG_VERSION");
    for (file, before) in REPEATED {
        let text = read(file).replace("\r\n", "\n");
        let found: Vec<&str> = text
            .split(before)
            .skip(1)
            .map(|after| {
                let end = after.find(|c: char| !(c.is_ascii_digit() || c == '.'));
                &after[..end.unwrap_or(after.len())]
            })
            .collect();
        assert!(!found.is_empty(), "{file} has no {before:?}");
        assert!(
            found.iter().all(|found| *found == version),
            "{file}: {found:?}"
        );
    }
}

#[test]
fn the_newest_closed_section_of_the_changelog_is_this_versions() {
    let changelog = read("CHANGELOG.md");
    let mut heads = changelog
        .lines()
        .filter_map(|line| line.strip_prefix("## "));
    assert_eq!(heads.next(), Some("Unreleased"));
    let newest = heads.next().and_then(|head| head.split(' ').next());
    assert_eq!(newest, Some(env!("CARGO_PKG_VERSION")));
}
