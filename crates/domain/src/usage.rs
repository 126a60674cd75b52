//! What requests to models take: [`Tokens`] with one meaning for all providers, and what they cost by a [`PriceTable`].
//! What is not known stays unknown and is never counted as zero.

use alloc::{string::String, vec::Vec};

/// Tokens of one request. Each number is none if the provider did not tell it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    /// All input: fresh, read from a cache and written to one.
    pub input: Option<u64>,
    /// The part of the input that was read from a cache.
    pub cached_input: Option<u64>,
    /// The part of the input that was written to a cache.
    pub cache_write: Option<u64>,
    /// All output, reasoning included.
    pub output: Option<u64>,
    /// The part of the output that was reasoning.
    pub reasoning: Option<u64>,
    /// Uses of tools that the provider runs and bills apart.
    pub hosted_uses: Option<u64>,
}

impl Tokens {
    /// Input and output together; none if neither is known.
    pub fn total(&self) -> Option<u64> {
        match (self.input, self.output) {
            (None, None) => None,
            (input, output) => Some(input.unwrap_or(0).saturating_add(output.unwrap_or(0))),
        }
    }
}

/// What a model costs, in millionths of a US dollar for a million tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Price {
    /// The model's name; a `*` at its end stands for any rest.
    pub model: String,
    /// Fresh input.
    pub input: u64,
    /// Input read from a cache; none if that has no price of its own.
    pub cached_input: Option<u64>,
    /// Input written to a cache; none if that has no price of its own.
    pub cache_write: Option<u64>,
    /// Output.
    pub output: u64,
}

impl Price {
    fn covers(&self, model: &str) -> bool {
        match self.model.strip_suffix('*') {
            Some(start) => model.starts_with(start),
            None => self.model == model,
        }
    }

    /// How much of a name it fixes: a full name more than any beginning of it.
    fn sharpness(&self) -> (bool, usize) {
        (!self.model.ends_with('*'), self.model.len())
    }
}

/// Prices by model. A model that no line covers has an unknown price.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PriceTable {
    /// The lines; the sharpest that covers a name counts.
    pub prices: Vec<Price>,
}

impl PriceTable {
    /// What so many tokens of a model cost, in millionths of a US dollar, a part of one counted as one.
    ///
    /// None if the price, input or output are unknown, or something was used that is billed apart.
    pub fn cost_microusd(&self, model: &str, tokens: &Tokens) -> Option<u64> {
        let lines = self.prices.iter().filter(|price| price.covers(model));
        let price = lines.max_by_key(|price| price.sharpness())?;
        let (input, output) = (tokens.input?, tokens.output?);
        if tokens.hosted_uses.is_some_and(|uses| uses > 0) {
            return None;
        }
        let cached = tokens.cached_input.unwrap_or(0).min(input);
        let written = tokens.cache_write.unwrap_or(0).min(input - cached);
        let parts = [
            (input - cached - written, price.input),
            (cached, price.cached_input.unwrap_or(price.input)),
            (written, price.cache_write.unwrap_or(price.input)),
            (output, price.output),
        ];
        let sum: u128 =
            parts.iter().map(|(count, each)| u128::from(*count) * u128::from(*each)).sum();
        u64::try_from(sum.div_ceil(1_000_000)).ok()
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    fn table() -> PriceTable {
        let price = |model: &str, input, cached_input| Price {
            model: model.into(),
            input,
            cached_input,
            cache_write: Some(5_000_000),
            output: 10_000_000,
        };
        let prices = vec![
            price("m*", 2_000_000, Some(200_000)),
            price("m-large*", 4_000_000, None),
            price("m-large-1", 8_000_000, None),
        ];
        PriceTable { prices }
    }

    fn tokens(input: u64, cached: u64, written: u64, output: u64) -> Tokens {
        Tokens {
            input: Some(input),
            cached_input: Some(cached),
            cache_write: Some(written),
            output: Some(output),
            ..Tokens::default()
        }
    }

    #[test]
    fn cost_is_known_only_if_all_of_it_is() {
        let whole = tokens(100, 0, 0, 10);
        let check = |model: &str, tokens: Tokens, expected: Option<u64>| {
            assert_eq!(table().cost_microusd(model, &tokens), expected, "{model} {tokens:?}");
        };
        check("m-small", whole, Some(300));
        check("m-large-2", whole, Some(500));
        check("m-large-1", whole, Some(900));
        check("other", whole, None);
        check("m-small", tokens(100, 50, 10, 10), Some(40 * 2 + 10 + 50 + 100));
        // A model without a price for cached input is billed in full.
        check("m-large-2", tokens(100, 50, 0, 10), Some(500));
        check("m-small", tokens(1, 1, 0, 0), Some(1));
        // A provider that tells nonsense brings about no overflow.
        check("m-small", tokens(10, 50, 50, 0), Some(2));
        check("m-small", tokens(u64::MAX, 0, 0, u64::MAX), None);
        check("m-small", Tokens { output: None, ..whole }, None);
        check("m-small", Tokens { input: None, ..whole }, None);
        check("m-small", Tokens { hosted_uses: Some(1), ..whole }, None);
        check("m-small", Tokens { hosted_uses: Some(0), ..whole }, Some(300));
    }

    #[test]
    fn a_total_is_what_is_known() {
        let check = |input, output, expected| {
            let tokens = Tokens { input, output, ..Tokens::default() };
            assert_eq!(tokens.total(), expected);
        };
        check(None, None, None);
        check(Some(3), None, Some(3));
        check(Some(3), Some(4), Some(7));
    }
}
