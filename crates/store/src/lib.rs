//! Placeholder of the first commit; replaced at once.
