//! Identifiers that Harbor wants to be UUIDs, derived from what they stand for ([`uuid`]), so that an export says the
//! same each time.

/// A UUID of version 8 (RFC 9562: made by a rule of one's own) from the hash of the parts.
pub fn uuid(parts: &[&str]) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    let mut bytes = [0_u8; 16];
    bytes.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    bytes[6] = bytes[6] & 0x0f | 0x80;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

#[cfg(test)]
mod tests {
    use super::uuid;

    #[test]
    fn ids_are_uuids_that_differ_where_their_parts_do() {
        let one = uuid(&["a", "bc"]);
        assert_eq!(one, uuid(&["a", "bc"]));
        for other in [&["ab", "c"][..], &["a", "b", "c"], &["a"], &[]] {
            assert_ne!(one, uuid(other), "{other:?}");
        }
        let dashes: Vec<usize> = one.match_indices('-').map(|(at, _)| at).collect();
        assert_eq!((one.len(), dashes), (36, vec![8, 13, 18, 23]));
        assert_eq!(&one[14..15], "8", "the version");
        assert!(matches!(&one[19..20], "8" | "9" | "a" | "b"), "the variant of {one}");
    }
}
