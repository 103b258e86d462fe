//! Stand-ins for macOS's own programs. They refuse what only GNU's take: long options, letters
//! that Apple's do not know, and options behind an operand.

use super::machine::real;
use keyhole_tests::write_program;
use std::{fs, os::unix::fs::symlink, path::Path};

/// The programs that our scripts call there: the options as `getopts` takes them, and the
/// exit code for others.
const PROGRAMS: [(&str, &str, u8); 14] = [
    ("awk", "F:f:v:", 2),
    ("chmod", "CEHILNPRafhinv", 1),
    ("cmp", "bhi:ln:sxz", 2),
    ("cp", "HLNPRSXacfilnpsv", 64),
    ("dirname", "", 1),
    ("grep", "A:B:C:EFHILRVabce:f:hilm:noqrsvwxz", 2),
    ("mkdir", "m:pv", 64),
    ("mktemp", "dp:qt:u", 1),
    ("mv", "fhinv", 64),
    ("rm", "IPRWdfirvx", 64),
    ("sed", "EHIae:f:i:lnrsu", 1),
    ("sha256sum", "bcpqrs:tw", 1),
    ("shasum", "UbcpstvwQa:0", 1),
    ("uname", "amnoprsv", 1),
];

/// With `-c`, Apple's `sha256sum` needs an operand: `-` is the standard input. Perl's
/// `shasum` does without one, but then no script may rely on that.
const SUMS: &str = "case \"$*\" in -c | '-a 256 -c') usage ;; esac";

const UNAME: &str = "case $1 in -sm) echo Darwin arm64 ;; -s) echo Darwin ;; -m) echo arm64 ;; \
                     *) usage ;; esac; exit";

/// Fills the folder `place`, for use as the whole of `PATH`, with the stand-ins, and with
/// these programs as they are here.
pub(crate) fn stand_in(place: &Path, others: &[&str]) {
    fs::create_dir(place).unwrap();
    for (name, options, usage) in PROGRAMS {
        let odd = match name {
            "sha256sum" | "shasum" => SUMS,
            "uname" => UNAME,
            _ => ":",
        };
        let program = match name {
            "uname" => "uname".into(),
            _ => real(name),
        };
        let script = format!(
            "#!/bin/sh\n\
             usage() {{ echo 'usage: {name}' >&2; exit {usage}; }}\n\
             while getopts '{options}' option; do [ \"$option\" != '?' ] || usage; done\n\
             {odd}\n\
             export POSIXLY_CORRECT=1\n\
             exec '{}' \"$@\"\n",
            program.display()
        );
        write_program(&place.join(name), &script);
    }
    for name in others {
        symlink(real(name), place.join(name)).unwrap();
    }
}
