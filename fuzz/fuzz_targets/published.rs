//! Files of published figures: what reads can be shown and recomputed.
#![no_main]

use libfuzzer_sys::fuzz_target;
use report::published::{Published, TableName, published_tables, recompute};

fuzz_target!(|bytes: &[u8]| {
    let Some((which, rest)) = bytes.split_first() else { return };
    let Ok(text) = std::str::from_utf8(rest) else { return };
    let replaced = TableName::ALL[usize::from(*which) % TableName::ALL.len()];
    let text_of = |name: TableName| {
        if name == replaced { text.to_owned() } else { name.bundled().to_owned() }
    };
    let Ok(published) = Published::read(text_of) else { return };
    for name in TableName::ALL {
        let _ = published_tables(&published, name);
    }
    let _ = recompute(&published);
});
