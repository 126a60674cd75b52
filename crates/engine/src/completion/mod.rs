//! The native verifier, run by Harbor's rules on the sealed state: [`Verifier`] and how a reward is read.

mod reward;
mod tools;
mod verifier;

pub use reward::read_reward;
pub use tools::verifier_tools;
pub use verifier::{Verified, Verifier};
