//! No wall, on systems that offer nothing to build it from.

use crate::{Rights, Standing, WallError};

/// Replaces the wall on systems that have none.
#[derive(Debug)]
pub struct Wall(());

impl Wall {
    /// # Errors
    /// [`WallError::Elsewhere`] for [`Rights::Sealed`].
    pub fn new(rights: Rights) -> Result<Self, WallError> {
        match rights {
            Rights::Sealed => Err(WallError::Elsewhere),
            Rights::Read | Rights::Tickets => Ok(Self(())),
        }
    }

    /// Gives nothing up, and reports this.
    pub fn put_up<D>(self, _: impl IntoIterator<Item = D>) -> Result<Standing, WallError> {
        Ok(Standing::default())
    }
}
