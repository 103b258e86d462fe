//! No wall, on systems that have nothing to make it of.

use super::{Reach, SealError, Standing};
use crate::os::AsHeld;

/// Stands in for the wall where there is none.
#[derive(Debug)]
pub struct Seal(());

/// Stands in for what remains to be given up.
#[derive(Debug)]
pub struct Loading(());

impl Seal {
    /// # Errors
    /// [`SealError::Elsewhere`] for [`Reach::Sealed`].
    pub fn new(reach: Reach) -> Result<Self, SealError> {
        match reach {
            Reach::Sealed => Err(SealError::Elsewhere),
            Reach::Reading | Reach::Tickets => Ok(Self(())),
        }
    }

    /// Gives nothing up, and says so.
    ///
    /// # Errors
    /// None.
    pub fn apply<D: AsHeld>(
        self,
        _: impl IntoIterator<Item = D>,
    ) -> Result<(Standing, Loading), SealError> {
        Ok((Standing::default(), Loading(())))
    }
}

impl Loading {
    /// There is nothing to give up.
    ///
    /// # Errors
    /// None.
    pub fn done(self) -> Result<(), SealError> {
        Ok(())
    }
}
