//! The wire at a sandbox's edge: [`Egress`] decides by a policy what is carried from the host's network and what is
//! refused, and keeps an account of every attempt; a [`gateway`]
//! stands between an agent and its provider. What arrives is read by parsers of its own: [`dns`], [`hello`],
//! [`request`].

mod book;
mod carry;
mod dial;
pub mod dns;
mod egress;
pub mod gateway;
pub mod hello;
mod names;
mod porter;
mod proxy;
pub mod request;
mod tunnel;

pub use egress::Egress;
