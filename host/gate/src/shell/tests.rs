//! Each command and its words: `·` is a blank in a word, `¶` a line's end, and `|` stands between
//! two commands.

use super::Script;

#[track_caller]
fn reads(text: &str, commands: &str, heredocs: &[&str]) {
    let script = Script::of(&text.replace('¶', "\n"));
    let words = script.commands.iter().map(|words| {
        let words = words.iter().map(|word| word.replace(' ', "·"));
        words.collect::<Vec<_>>().join(" ").replace('\n', "¶")
    });
    let found = words.collect::<Vec<_>>().join(" | ");
    assert_eq!(found, commands, "{text}");
    assert_eq!(script.heredocs, heredocs, "{text}");
}

#[test]
fn quotes_make_one_word_and_marks_end_a_command() {
    for (text, commands) in [
        (
            "git  commit -m 'a b'&&ls;pwd",
            "git commit -m a·b | ls | pwd",
        ),
        (
            r#"git commit -m "a \"b\" c" # git push"#,
            "git commit -m a·\"b\"·c",
        ),
        ("a 'b'\"c\"d '' <in", "a bcd  in"),
        ("git push 2>&1 | tail -3", "git push | tail -3"),
        ("a >out b 2>>log c >&2; d &>x", "a b c | d"),
        ("a > 'b c' d >", "a d"),
        ("a x2>y", "a x2"),
        ("a \\¶ b\\ c¶d", "a b·c | d"),
        ("(cd x && y) | z", "( | cd x | y | ) | z"),
        ("a 'never closed b", "a never·closed·b"),
        ("cd $(git root) && x", "$( | git root | ) | cd $ | x"),
        (
            r#"v="$(a -p "b('c').d")"; x `y` "`z`""#,
            "$( | a -p b('c').d | ) | v=$ | $( | y | ) | $( | z | ) | x $ $",
        ),
        ("a $'it\\'s\\nb' \"$'c'\"; d", "a it's¶b $'c' | d"),
        (
            "a $((1<<20)) <(b)¶c",
            "$( | ( | 1 20 | ) | ) | $( | b | ) | a $ $ | c",
        ),
        ("((a<<2))¶b", "( | ( | a 2 | ) | ) | b"),
        (
            "a \"b$(git branch --show-current)\"",
            "$( | git branch --show-current | ) | a b$",
        ),
        (
            "case a in¶b) c;;¶*) d;;¶esac; e",
            "case a in | b | c | * | d | esac | e",
        ),
        ("echo a#b <<< 'x y'", "echo a#b x·y"),
    ] {
        reads(text, commands, &[]);
    }
}

#[test]
fn a_heredocs_text_is_no_command_also_in_quotes() {
    reads("cat <<E && x¶a 'b¶E¶y", "cat | x | y", &["a 'b\n"]);
    reads("cat <<-'E' >f¶\ta¶\tE¶y", "cat | y", &["\ta\n"]);
    reads("cat <<E¶ E¶E ¶\tE¶E¶y", "cat | y", &[" E\nE \n\tE\n"]);
    reads("a <<A <<B¶1¶A¶2¶B¶c", "a | c", &["1\n", "2\n"]);
    reads("a <<E¶never", "a", &["never\n"]);
    reads(
        "git commit -m \"$(cat <<'E'¶say \"x\" (y)¶E¶)\" && git push",
        "$( | cat | ) | git commit -m $ | git push",
        &["say \"x\" (y)\n"],
    );
    // Not a heredoc: nothing is run there.
    reads("git commit -m \"a << b¶c\"", "git commit -m a·<<·b¶c", &[]);
}

#[test]
fn what_does_not_end_is_said() {
    let deep = |depth| format!("{}a{}", "$(".repeat(depth), ")".repeat(depth));
    for (text, is_unclear) in [
        ("a 'b' \"c\" $(d) <<E\nE\n", false),
        ("a 'b", true),
        ("a \"b", true),
        ("a $'b", true),
        ("a $(b", true),
        ("a `b", true),
        ("a <<E\nb", true),
        (&*deep(90), false),
        (&*deep(1 << 17), true),
    ] {
        assert_eq!(Script::of(text).is_unclear, is_unclear, "{text:.20}");
    }
}
