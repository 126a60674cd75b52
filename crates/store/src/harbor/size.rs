//! The deprecated size texts of `task.toml` (`"2G"`, `"512M"`, `"1048576K"`): [`parse_size_mb`].

/// Mebibytes of a size text, fractions dropped; none if it is not one.
pub(crate) fn parse_size_mb(text: &str) -> Option<u64> {
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let number: f64 = number.parse().ok().filter(|n: &f64| n.is_finite() && *n >= 0.0)?;
    let factor = match unit {
        "G" | "g" => 1024.0,
        "M" | "m" => 1.0,
        "K" | "k" => 1.0 / 1024.0,
        _ => return None,
    };
    Some((number * factor) as u64)
}

#[cfg(test)]
mod tests {
    #[test]
    fn sizes_are_those_of_harbor() {
        let check = |text: &str, expect: Option<u64>| {
            assert_eq!(super::parse_size_mb(text), expect, "{text}");
        };
        check("2G", Some(2048));
        check("2g", Some(2048));
        check("1.5G", Some(1536));
        check("512M", Some(512));
        check("1048576K", Some(1024));
        check("1500K", Some(1));
        for wrong in ["2GB", "2GiB", "2048", "", "G", "-1G", "infG", "2é"] {
            check(wrong, None);
        }
    }
}
