//! No wall, on systems that offer nothing to build it from.

use super::{Reach, SealError, Standing};
use crate::os::AsHeld;

/// Replaces the wall on systems that have none.
#[derive(Debug)]
pub struct Seal(());

/// Replaces a wall of which the first part is up.
#[derive(Debug)]
pub struct HalfSeal(());

/// Replaces the rights that are still to be given up.
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

    /// Gives nothing up, and reports this.
    ///
    /// # Errors
    /// None.
    pub fn apply<D: AsHeld>(
        self,
        _: impl IntoIterator<Item = D>,
    ) -> Result<(Standing, Loading), SealError> {
        Ok((Standing::default(), Loading(())))
    }

    /// Gives nothing up.
    ///
    /// # Errors
    /// None.
    pub fn apply_to_files<D: AsHeld>(
        self,
        _: impl IntoIterator<Item = D>,
    ) -> Result<HalfSeal, SealError> {
        Ok(HalfSeal(()))
    }
}

impl HalfSeal {
    /// Gives nothing up, and reports this.
    ///
    /// # Errors
    /// None.
    pub fn apply_to_all(self) -> Result<(Standing, Loading), SealError> {
        Ok((Standing::default(), Loading(())))
    }
}

impl Loading {
    /// Does nothing: there is nothing to give up.
    ///
    /// # Errors
    /// None.
    pub fn done(self) -> Result<(), SealError> {
        Ok(())
    }
}
