//! A value and what it looks like when somebody hides it ([`Disguises`]): turned round, encoded, in pieces.

use alloc::{borrow::Cow, format, string::String, vec::Vec};

use regex::bytes::Regex;

/// Finds a value in bytes, as it is and in the usual disguises.
#[derive(Clone, Debug)]
pub struct Disguises {
    /// The value and the value turned round.
    plain: Regex,
    /// Base64 in its two alphabets, from each of the three places where the value can begin.
    base64: Regex,
    /// Two digits a byte, in small letters.
    hex: Regex,
    /// What stands between two pieces of a text that a program puts together.
    seam: Regex,
}

/// A value that cannot be looked for: it is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NothingToFind;

impl Disguises {
    /// Of a value.
    pub fn of(value: &str) -> Result<Self, NothingToFind> {
        if value.is_empty() {
            return Err(NothingToFind);
        }
        let reversed: String = value.chars().rev().collect();
        let mut encoded: Vec<String> = (0..3).map(|at| base64_from(value.as_bytes(), at)).collect();
        encoded.retain(|text| !text.is_empty());
        let for_addresses = encoded.iter().map(|text| text.replace('+', "-").replace('/', "_"));
        let for_addresses: Vec<String> = for_addresses.collect();
        encoded.extend(for_addresses);
        let digits: String = value.bytes().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self {
            plain: any_of(&[value.into(), reversed])?,
            base64: any_of(&encoded)?,
            hex: any_of(&[digits])?,
            seam: Regex::new(
                r#"(?-u)["'`](?:[\s+.,&~\\()]|#[^\n]*\n|//[^\n]*\n)*[bfruBFRU]{0,2}["'`]"#,
            )
            .map_err(|_| NothingToFind)?,
        })
    }

    /// How the value stands in these bytes, in words; none if it does not.
    pub fn find(&self, bytes: &[u8]) -> Option<&'static str> {
        // Text of two bytes a letter has a zero between any two letters of the usual ones.
        let bytes: Cow<'_, [u8]> = match bytes.contains(&0) {
            true => bytes.iter().copied().filter(|byte| *byte != 0).collect::<Vec<u8>>().into(),
            false => bytes.into(),
        };
        let glued = self.seam.replace_all(&bytes, &b""[..]);
        let is_glued = matches!(glued, Cow::Owned(_));
        if let Some(found) = self.find_whole(&bytes) {
            return Some(found);
        }
        (is_glued && self.find_whole(&glued).is_some()).then_some("in pieces")
    }

    fn find_whole(&self, bytes: &[u8]) -> Option<&'static str> {
        if self.plain.is_match(bytes) {
            return Some("as it is or turned round");
        }
        // Most text escapes nothing.
        let escapes = bytes.iter().any(|byte| b"%\\&".contains(byte));
        if escapes && self.plain.is_match(&unescaped(bytes)) {
            return Some("escaped");
        }
        // Encoders break lines.
        let unbroken: Vec<u8> =
            bytes.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
        if self.base64.is_match(&unbroken) {
            return Some("in base64");
        }
        self.hex.is_match(&hex_digits(&unbroken)).then_some("in hex")
    }
}

fn any_of(texts: &[String]) -> Result<Regex, NothingToFind> {
    let escaped: Vec<String> = texts.iter().map(|text| regex::escape(text)).collect();
    Regex::new(&escaped.join("|")).map_err(|_| NothingToFind)
}

/// The characters of base64 that these bytes alone decide when so many others (0 to 2) stand before them.
fn base64_from(bytes: &[u8], before: usize) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    let (mut bits, mut count) = (0_u32, 0_u32);
    for byte in core::iter::repeat_n(&0, before).chain(bytes) {
        bits = (bits << 8 | u32::from(*byte)) & 0xffff;
        count += 8;
        while count >= 6 {
            count -= 6;
            text.push(char::from(ALPHABET[(bits >> count & 0x3f) as usize]));
        }
    }
    // A character that holds a bit of what stands before is not the value's.
    text.split_off((before * 8).div_ceil(6))
}

/// With `%41`, `\x41`, `\u0041`, `&#65;` and `&#x41;` taken for the letters that they mean.
fn unescaped(bytes: &[u8]) -> Vec<u8> {
    let mut found = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((first, after)) = rest.split_first() {
        match escape(rest) {
            Some((byte, length)) => {
                found.push(byte);
                rest = &rest[length..];
            }
            None => {
                found.push(*first);
                rest = after;
            }
        }
    }
    found
}

/// The byte that an escape at the beginning means, and the escape's length.
fn escape(bytes: &[u8]) -> Option<(u8, usize)> {
    let number = |from: usize, digits: usize, radix: u32| {
        let text = core::str::from_utf8(bytes.get(from..from + digits)?).ok()?;
        let is_number = text.bytes().all(|byte| char::from(byte).is_digit(radix));
        let value = u8::from_str_radix(text, radix).ok().filter(|_| is_number)?;
        Some((value, from + digits))
    };
    match bytes {
        [b'%', ..] => number(1, 2, 16),
        [b'\\', b'x', ..] => number(2, 2, 16),
        [b'\\', b'u', ..] => number(2, 4, 16),
        [b'&', b'#', b'x', ..] => entity(bytes, 3, 16),
        [b'&', b'#', ..] => entity(bytes, 2, 10),
        _ => None,
    }
}

fn entity(bytes: &[u8], from: usize, radix: u32) -> Option<(u8, usize)> {
    const DIGITS_MAX: usize = 5;
    let end = bytes[from..].iter().take(DIGITS_MAX + 1).position(|byte| *byte == b';')?;
    let text = core::str::from_utf8(&bytes[from..from + end]).ok()?;
    Some((u8::from_str_radix(text, radix).ok()?, from + end + 1))
}

/// In small letters, without what is put before and between bytes that are written as numbers.
fn hex_digits(bytes: &[u8]) -> Vec<u8> {
    let mut found: Vec<u8> = Vec::with_capacity(bytes.len());
    for byte in bytes.iter().map(u8::to_ascii_lowercase) {
        match byte {
            b'x' if matches!(found.last(), Some(b'0')) => {
                found.pop();
            }
            b'x' | b'\\' | b',' | b':' | b';' | b'-' | b'_' | b'"' | b'\'' => {}
            _ => found.push(byte),
        }
    }
    found
}
