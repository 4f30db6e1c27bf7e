# Everything that must hold.
ci:
    .ci/run

# Every test.
test:
    cargo test --features fixture-all

# The benchmark programs.
bench:
    cargo bench --features fixture

# Reports in a real browser; pages and pictures are left in target/web.
web:
    .ci/web

# The reports under reports/, from nothing: about three hours on a quiet machine.
reports:
    reports/make
