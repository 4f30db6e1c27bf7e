//! The grammar of numbers, `true`, `false` and `null`, read in parts of any length.

/// Progress inside a scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scalar {
    /// A literal, with the bytes that are still missing.
    Literal(&'static [u8]),
    Number(Number),
}

/// Where in a number, or between the numbers of a list, the last byte was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Number {
    Comma,
    Minus,
    /// A leading zero: no digit may follow.
    Zero,
    Whole,
    Point,
    Fraction,
    E,
    Sign,
    Exponent,
    /// The byte does not belong to a number.
    No,
}

impl Default for Scalar {
    fn default() -> Scalar {
        Scalar::Literal(b"")
    }
}

impl Scalar {
    /// The scalar that begins with `byte`; `None` if none does.
    #[inline]
    pub(super) fn starting_with(byte: u8) -> Option<Scalar> {
        match byte {
            b't' => Some(Scalar::Literal(b"rue")),
            b'f' => Some(Scalar::Literal(b"alse")),
            b'n' => Some(Scalar::Literal(b"ull")),
            b'-' => Some(Scalar::Number(Number::Minus)),
            b'0' => Some(Scalar::Number(Number::Zero)),
            b'1'..=b'9' => Some(Scalar::Number(Number::Whole)),
            _no_scalar => None,
        }
    }

    /// Reads from `at` behind the first byte; returns the offset of the first byte that does not belong to it.
    #[inline]
    pub(super) fn find_end(&mut self, bytes: &[u8], mut at: usize) -> usize {
        match self {
            Scalar::Literal(missing) => {
                while let Some((first, rest)) = missing.split_first()
                    && bytes.get(at) == Some(first)
                {
                    *missing = rest;
                    at += 1;
                }
            }
            Scalar::Number(number) => {
                while let Some(byte) = bytes.get(at)
                    && *byte != b','
                    && let next = number.next(*byte)
                    && next != Number::No
                {
                    *number = next;
                    at += 1;
                }
            }
        }
        at
    }

    /// The bytes that must follow, for people; `None` if it may end here.
    #[inline]
    pub(super) fn missing(self) -> Option<&'static str> {
        match self {
            Scalar::Literal([]) => None,
            Scalar::Literal(_) => Some("the rest of `true`, `false` or `null`"),
            Scalar::Number(Number::Zero | Number::Whole | Number::Fraction | Number::Exponent) => None,
            Scalar::Number(_) => Some("a digit"),
        }
    }
}

impl Number {
    const ALL: [Number; 10] = [
        Number::Comma,
        Number::Minus,
        Number::Zero,
        Number::Whole,
        Number::Point,
        Number::Fraction,
        Number::E,
        Number::Sign,
        Number::Exponent,
        Number::No,
    ];

    const fn next(self, byte: u8) -> Number {
        match (self, byte) {
            (Number::Comma | Number::Minus, b'0') => Number::Zero,
            (Number::Comma | Number::Minus, b'1'..=b'9') => Number::Whole,
            (Number::Comma, b'-') => Number::Minus,
            (Number::Whole, b'0'..=b'9') => Number::Whole,
            (Number::Fraction | Number::Point, b'0'..=b'9') => Number::Fraction,
            (Number::E | Number::Sign | Number::Exponent, b'0'..=b'9') => Number::Exponent,
            (Number::Zero | Number::Whole, b'.') => Number::Point,
            (Number::Zero | Number::Whole | Number::Fraction, b'e' | b'E') => Number::E,
            (Number::E, b'+' | b'-') => Number::Sign,
            (Number::Zero | Number::Whole | Number::Fraction | Number::Exponent, b',') => Number::Comma,
            _end => Number::No,
        }
    }
}

/// Bits of a state in [`STEPS`]; ten states fit into a word.
const WIDTH: u32 = 6;

/// For each byte the next state of each state, as multiples of [`WIDTH`]: a state is the shift that finds its successor.
/// Lists of numbers have no pattern that a processor could predict, so that a branch for each would cost more than
/// this.
static STEPS: [u64; 256] = {
    let mut steps = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut state = 0;
        while state < Number::ALL.len() {
            let next = Number::ALL[state].next(byte as u8) as u32 * WIDTH;
            steps[byte] |= (next as u64) << (state as u32 * WIDTH);
            state += 1;
        }
        byte += 1;
    }
    steps
};

/// The end of a run of numbers and commas without spaces.
pub(super) struct Run {
    /// Offset of the first byte that does not belong to it.
    pub(super) end: usize,
    pub(super) commas: u64,
    pub(super) last: Number,
}

/// Reads the numbers of a list from `at`, behind the first byte of one.
pub(super) fn run(first: Number, bytes: &[u8], at: usize) -> Run {
    const MASK: u64 = (1 << WIDTH) - 1;
    const NO: u64 = (Number::No as u32 * WIDTH) as u64;
    let mut state = u64::from(first as u32 * WIDTH);
    let mut commas = 0;
    let mut end = at;
    for byte in &bytes[at..] {
        let next = STEPS[usize::from(*byte)] >> state & MASK;
        if next == NO {
            break;
        }
        state = next;
        commas += u64::from(*byte == b',');
        end += 1;
    }
    Run {
        end,
        commas,
        last: Number::ALL[(state / u64::from(WIDTH)) as usize],
    }
}
