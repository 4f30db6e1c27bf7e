//! Tests of what is typed and where.
