#![doc = "House tasks."]
fn main() {}
