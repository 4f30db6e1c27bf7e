//! How far from a value memory may be and count as the same: the driver waits by it, and what came back is judged by it.

#![deny(clippy::disallowed_macros, clippy::disallowed_methods, clippy::disallowed_types)]

/// One part in so many: half a per cent. Servers at rest keep within it: settled ty with jemalloc's thread varied by 0.1 %
/// from run to run.
const PART: u64 = 200;

/// At least this, so that a small server is not called moving for a few pages: 512 KiB.
const LEAST: u64 = 512 << 10;

/// How far from `value` memory may be and count as the same; both in bytes.
pub fn around(value: u64) -> u64 {
    (value / PART).max(LEAST)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn the_band_is_half_a_per_cent_and_never_less_than_half_a_mebibyte() {
        assert_eq!([0, 20 * MIB, 100 * MIB].map(around), [512 << 10; 3]);
        assert_eq!(around(1000 * MIB), 5 * MIB);
        assert_eq!(around(u64::MAX), u64::MAX / 200);
    }
}
