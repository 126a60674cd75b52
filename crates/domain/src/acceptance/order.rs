//! Which of two occurrences came first, as far as their clocks can tell.

use super::{Occurrence, Truth, history::Source};
use crate::evidence::Missing;

/// Occurrences of different channels that lie closer than this have no known order.
pub(super) const CLOCKS_AGREE_WITHIN_MS: i64 = 10;

/// Whether `a` came before `b`.
///
/// Turns order everything. Within a turn the message is the last thing: what it says does not come before
/// anything of its own turn, and whatever the turn did comes before it unless the clocks clearly disagree.
pub(super) fn precedes(a: (&Occurrence, Source), b: (&Occurrence, Source)) -> Truth {
    let ((a, a_source), (b, b_source)) = (a, b);
    if a.turn != b.turn {
        return truth(a.turn < b.turn);
    }
    if a_source == Source::Message || (a_source == b_source && a == b) {
        return Truth::False;
    }
    if b_source == Source::Message {
        return truth(a.time.earliest_ms <= b.time.latest_ms + CLOCKS_AGREE_WITHIN_MS);
    }
    let margin_ms = if a_source == b_source { 1 } else { CLOCKS_AGREE_WITHIN_MS };
    if a.time.latest_ms.saturating_add(margin_ms) <= b.time.earliest_ms {
        Truth::True
    } else if b.time.latest_ms.saturating_add(margin_ms) <= a.time.earliest_ms {
        Truth::False
    } else {
        Truth::Unknown(Missing::OrderUnknown)
    }
}

fn truth(holds: bool) -> Truth {
    if holds { Truth::True } else { Truth::False }
}
