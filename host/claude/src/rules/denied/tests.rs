use super::*;

/// What a rule means for `~/private/ids.md`: all of its folder, and the file by its name. Each
/// was tried in both versions of the client, from another folder, in auto mode, and in a shell of
/// its sandbox. What only the tools take counts as nothing.
const MEANT: &str = include_str!("meant.txt");

#[test]
fn a_rule_counts_only_as_far_as_the_client_takes_it() {
    let home = Path::new("/h/me");
    for row in MEANT.lines() {
        let (rule, meant) = row.rsplit_once(' ').unwrap();
        let denied = Denied(vec![rule.to_owned()]);
        let folder = denied.denies_folder_of(&home.join("private").join(ANY), home);
        let file = denied.denies_by_name(&home.join("private/ids.md"), home);
        let expected = match meant {
            "folder" => (true, false),
            "file" => (false, true),
            _ => (false, false),
        };
        assert_eq!((folder, file), expected, "{row}");
    }
}
