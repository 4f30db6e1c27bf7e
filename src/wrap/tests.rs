//! Tests of the relay's parts.
