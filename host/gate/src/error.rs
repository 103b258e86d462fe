//! Why something could not be compared.

use keyhole_core::Refusal;
use keyhole_outgoing::Uncollected;

/// The page that says which words of a list are values.
const VALUES: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/withhold.md");

/// Why something could not be compared, with what to do. Nothing of a list, a file or a repository
/// is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Uncompared {
    /// The map or a list does not load.
    #[error("{}", .0.says())]
    List(#[from] Refusal),
    /// The list that `--list` names cannot be read, or is no text.
    #[error("list-unreadable: The list cannot be read. Name a text file of at most 8 MiB.")]
    Unreadable,
    /// A file that is to be compared cannot be read.
    #[error("file-unreadable: A file that you named cannot be read. Name files, not folders.")]
    File,
    /// There is nothing to compare: no repository, and no file is named.
    #[error("no-repository: There is no git repository here. Go to one, or name files.")]
    NoRepository,
    /// Nothing in the list is found when it is compared with itself.
    #[error(
        "no-values: Nothing in the list is a value. Write one value a line; {} says what counts.",
        VALUES
    )]
    NoValues,
    /// No entry of the map says where its values may be published.
    #[error(
        "no-list: No entry of the map has publish_only_in. Add it to one, or name a list with --list."
    )]
    NoList,
    /// It is not known what would be published.
    #[error(transparent)]
    Repository(#[from] Uncollected),
    /// It took too long.
    #[error("too-slow: It took too long. Publish less at a time.")]
    Late,
}

impl Uncompared {
    /// The same as a short word that does not change, such as `no-values`.
    pub fn code(&self) -> String {
        let said = self.to_string();
        said.split(':').next().unwrap_or_default().to_owned()
    }
}
