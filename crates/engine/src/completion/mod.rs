//! The native verifier, run by Harbor's rules on the sealed state: [`Verifier`] and how a reward is read.

mod artifacts;
mod reward;
mod tools;
mod verifier;

pub use artifacts::Collection;
pub(crate) use artifacts::Haul;
pub use reward::read_reward;
pub use tools::verifier_tools;
pub use verifier::{SeparateBase, Verified, Verifier, VerifierHome};
