//! The table of cases, natively: the guest's own logic over the real file system.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use keyhole_cases::run_all;
use keyhole_guest::{Grant, load};
use keyhole_native::NativeDirectory;

#[test]
fn the_guest_passes_every_case_natively() {
    run_all("native", |case, directory| {
        let directory = directory.map(|path| NativeDirectory::open(path).unwrap());
        let find = |key: &str| {
            let grant = case.grant_for(key)?;
            let (name, max_bytes) = (grant.name.clone(), grant.max_bytes);
            Some(Grant { name, max_bytes })
        };
        load(case.key(), find, directory.as_ref()).map_err(|error| error.name().to_owned())
    });
}
