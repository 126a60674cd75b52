//! The ten evidence channels and why one can be missing.

use alloc::collections::BTreeSet;

/// An evidence channel; the numbers are those of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Channel {
    /// E1: manifest of every writable path.
    Manifest,
    /// E2: differences between base and turn, and between turns.
    Diff,
    /// E3: processes with argv, parent, times and exit code.
    Processes,
    /// E4: network attempts.
    Network,
    /// E5: what agent and user said.
    Transcript,
    /// E6: git objects, refs, reflogs, index, configuration.
    Git,
    /// E7: test results from a sealed runner.
    Tests,
    /// E8: order across channels.
    Order,
    /// E9: agent time, tokens, cost, share of processor, disk.
    Resources,
    /// E10: artefacts opened in a minimal sandbox.
    Artifacts,
}

impl Channel {
    /// All channels in the order of their numbers.
    pub const ALL: [Channel; 10] = [
        Channel::Manifest,
        Channel::Diff,
        Channel::Processes,
        Channel::Network,
        Channel::Transcript,
        Channel::Git,
        Channel::Tests,
        Channel::Order,
        Channel::Resources,
        Channel::Artifacts,
    ];

    /// The short name that stands in files and reports, for instance `E3`.
    pub fn code(self) -> &'static str {
        match self {
            Channel::Manifest => "E1",
            Channel::Diff => "E2",
            Channel::Processes => "E3",
            Channel::Network => "E4",
            Channel::Transcript => "E5",
            Channel::Git => "E6",
            Channel::Tests => "E7",
            Channel::Order => "E8",
            Channel::Resources => "E9",
            Channel::Artifacts => "E10",
        }
    }
}

/// The channels that a sandbox and a driver give together.
pub type ChannelSet = BTreeSet<Channel>;

/// Why a channel or a check could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Missing {
    /// The check was not due at this look.
    NotLooked,
    /// Two events lie closer than the clocks can order.
    OrderUnknown,
    /// The judge's votes stayed split.
    JudgeSplit,
    /// No judge answered.
    JudgeAbsent,
    /// The sandbox or the driver could not give the channel, or the check broke.
    ChannelMissing,
}

impl Missing {
    /// The name that stands in reports.
    pub fn name(self) -> &'static str {
        match self {
            Missing::NotLooked => "not looked",
            Missing::OrderUnknown => "order unknown",
            Missing::JudgeSplit => "judge split",
            Missing::JudgeAbsent => "judge absent",
            Missing::ChannelMissing => "channel missing",
        }
    }
}
