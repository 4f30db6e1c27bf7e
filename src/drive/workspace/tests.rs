//! Tests of isolation and selection.
