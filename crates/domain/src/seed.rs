//! Randomness is a tree of seeds ([`Seed`]), drawn only when a plan is made.

/// A node of the tree. A child depends on its parent and its label alone, so neither the order of
/// drawing nor the absence of a sibling changes what another one draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Seed(u64);

impl Seed {
    /// The root of a plan.
    pub fn root(seed: u64) -> Self {
        Self(mix(seed.wrapping_add(GOLDEN)))
    }

    /// The child of that label: FNV-1a over the label's bytes, mixed into the parent.
    pub fn child(self, label: &str) -> Self {
        let hash = label
            .bytes()
            .fold(FNV_OFFSET, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME));
        Self(mix(self.0.wrapping_add(GOLDEN) ^ mix(hash)))
    }

    /// The child of that number; never the same as the child of its digits as text.
    pub fn index(self, number: u64) -> Self {
        Self(mix(self.0.rotate_left(32) ^ mix(number.wrapping_add(GOLDEN))))
    }

    /// The number that is drawn at this node.
    pub fn draw(self) -> u64 {
        mix(self.0.wrapping_add(GOLDEN))
    }
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;

/// The output function of splitmix64.
fn mix(state: u64) -> u64 {
    let state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
}
