//! The table of cases, natively: the guest's own logic over the real file system.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use keyhole_cases::{Case, run_all};
use keyhole_guest::{Grant, Grants, load};
use keyhole_native::NativeDirectory;

struct Map<'a>(&'a Case);

impl Grants for Map<'_> {
    fn find(&self, key: &str) -> Option<Grant> {
        self.0.grant_for(key).map(|grant| Grant {
            name: grant.name.clone(),
            max_bytes: grant.max_bytes,
        })
    }
}

#[test]
fn the_guest_passes_every_case_natively() {
    run_all("native", |case, directory| {
        let directory = directory.map(|path| NativeDirectory::open(path).unwrap());
        load(case.key(), &Map(case), directory.as_ref()).map_err(|error| error.name().to_owned())
    });
}
