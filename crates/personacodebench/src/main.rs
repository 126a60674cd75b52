#![doc = "The binary."]
fn main() {}
