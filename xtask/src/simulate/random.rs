//! Drawing from a seed without any state that is shared: [`Draw`].

use domain::seed::Seed;

/// A stream of draws below one node of the tree of seeds.
#[derive(Clone, Debug)]
pub(super) struct Draw {
    seed: Seed,
    count: u64,
}

impl Draw {
    pub(super) fn new(seed: u64, label: &str) -> Self {
        Self { seed: Seed::root(seed).child(label), count: 0 }
    }

    /// A number below `bound`.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.count += 1;
        self.seed.index(self.count).draw() % bound.max(1)
    }

    /// True so often in a hundred.
    pub(super) fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of these.
    pub(super) fn one<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize].clone()
    }
}
