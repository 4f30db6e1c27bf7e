//! A block of memory as the workloads take it: by `malloc`, of an exact size, touched at its first byte.

use std::hint::black_box;

/// The default is no block: it has no memory.
#[derive(Default)]
pub struct Block(Vec<u8>);

impl Block {
    /// Takes `size` bytes, at least one.
    pub fn new(size: usize) -> Block {
        let mut bytes = Vec::with_capacity(size);
        bytes.push(1);
        // Otherwise the compiler sees that nobody reads it, and takes no memory.
        Block(black_box(bytes))
    }

    /// The bytes that were asked for; 0 of no block.
    pub fn size(&self) -> usize {
        self.0.capacity()
    }
}

/// Frees what is in `slot` first and then takes the new block, so that the allocator can give the same memory again.
pub fn replace(slot: &mut Block, size: usize) {
    *slot = Block::default();
    *slot = Block::new(size);
}

/// The bytes that all blocks were asked for.
pub fn total<'a>(blocks: impl IntoIterator<Item = &'a Block>) -> usize {
    blocks.into_iter().map(Block::size).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_has_the_size_that_was_asked_for() {
        let blocks: Vec<_> = (1..=2_000).map(Block::new).collect();
        assert!(blocks.iter().zip(1..).all(|(block, size)| block.size() == size));
        assert_eq!(total(&blocks), 2_000 * 2_001 / 2);
        assert_eq!(Block::default().size(), 0);
    }
}
