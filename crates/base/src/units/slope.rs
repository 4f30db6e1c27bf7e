//! Slopes of memory as text: in KiB, and from 1 MiB in MiB.

const KIB: f64 = 1_024.0;
const MIB: f64 = 1_048_576.0;

/// A slope in bytes with its sign and unit: `+64.0 KiB`, `−1.2 MiB`, `0.0 KiB`.
pub fn slope(bytes: f64) -> String {
    let (size, unit) = unit_for(bytes.abs());
    format!("{} {unit}", signed(bytes / size))
}

/// Two slopes in bytes with one unit: `−1.0 to +64.0 KiB`.
pub fn slope_range(low: f64, high: f64) -> String {
    let (size, unit) = unit_for(low.abs().max(high.abs()));
    format!("{} to {} {unit}", signed(low / size), signed(high / size))
}

/// A slope in bytes with its interval: `+64.0 KiB per round (+63.0 to +65.0)`.
pub fn slope_with_range(slope: f64, low: f64, high: f64, per: &str) -> String {
    let (size, unit) = unit_for(slope.abs());
    format!(
        "{} {unit} per {per} ({} to {})",
        signed(slope / size),
        signed(low / size),
        signed(high / size)
    )
}

/// The unit that this many bytes print in, with its size.
fn unit_for(bytes: f64) -> (f64, &'static str) {
    // `1024.0 KiB` is `1.0 MiB`.
    if bytes >= MIB - 0.05 * KIB {
        (MIB, "MiB")
    } else {
        (KIB, "KiB")
    }
}

fn signed(value: f64) -> String {
    let size = value.abs();
    let text = if size >= 999.95 {
        super::count(size.round() as u64)
    } else {
        format!("{size:.1}")
    };
    if text == "0.0" {
        text
    } else if value > 0.0 {
        format!("+{text}")
    } else {
        format!("−{text}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slopes_print_in_mebibytes_from_one_mebibyte() {
        for (bytes, text) in [
            (64.0 * KIB, "+64.0 KiB"),
            (-1_020.0 * KIB, "−1,020 KiB"),
            (1_023.96 * KIB, "+1.0 MiB"),
            (46_489.0 * KIB, "+45.4 MiB"),
            (-3.0 * MIB, "−3.0 MiB"),
            (10.0, "0.0 KiB"),
            (-10.0, "0.0 KiB"),
        ] {
            assert_eq!(slope(bytes), text);
        }
        assert_eq!(slope_range(-0.5 * KIB, 46_489.0 * KIB), "0.0 to +45.4 MiB");
        assert_eq!(slope_range(-KIB, 64.0 * KIB), "−1.0 to +64.0 KiB");
        let leak = slope_with_range(101.0 * MIB, 100.5 * MIB, 101.5 * MIB, "request");
        assert_eq!(leak, "+101.0 MiB per request (+100.5 to +101.5)");
    }
}
