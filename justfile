# Everything that must hold.
ci:
    .ci/run

# Every test.
test:
    cargo test --workspace

# The benchmark programs.
bench:
    cargo build --release --bin fixture-system
    cargo bench

# Reports in a real browser; pages and pictures are left in target/web.
web:
    .ci/web

# The reports under reports/, from nothing: about three hours on a quiet machine.
reports:
    reports/make
