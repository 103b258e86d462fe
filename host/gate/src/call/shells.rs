//! Which commands run a text that they are given, and which text.

use super::publishing::program;

/// Whether this program runs a text that it is given.
pub(super) fn is_shell(word: &str) -> bool {
    matches!(
        program(word),
        "bash" | "dash" | "eval" | "ksh" | "sh" | "ssh" | "zsh"
    )
}

/// Whether a shell with these arguments may run a heredoc's text. It does if it reads standard
/// input: `bash`, `sh -`, `bash -s a`, `ssh host`, `ssh host sh`. It also may if it runs a file
/// that the call writes (one of `outputs`), or nobody knows what it runs: `eval "$X"`. False for
/// `bash lint.sh` and `ssh host ls`.
pub(super) fn may_run_heredoc(shell: &str, arguments: &[&str], outputs: &[String]) -> bool {
    let mut operands = Vec::new();
    let mut has_value = false;
    for word in arguments {
        let is_option = word.starts_with(['-', '+']);
        if !is_option && !has_value {
            operands.push(*word);
        }
        // A value follows `bash -eo` and `ssh -p`.
        has_value = is_option && word.ends_with(['o', 'O', 'p', 'i', 'l', 'F', 'J']);
    }
    if shell == "ssh" {
        // The first operand is the host.
        let mut programs = operands.iter().filter_map(|word| word.split(' ').next());
        return operands.len() < 2 || programs.any(is_shell);
    }
    let Some(first) = operands.first() else {
        return true;
    };
    // Files are compared by their names, without folders.
    let mut written = outputs.iter();
    arguments.contains(&"-s")
        || first.contains('$')
        || first.starts_with("/dev/")
        || written.any(|output| program(output) == program(first))
}
