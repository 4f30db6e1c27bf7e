# Everything that must hold.
ci:
    .ci/run

# Every test.
test:
    cargo test --features fixture-all

# The benchmark programs.
bench:
    cargo bench --features fixture
