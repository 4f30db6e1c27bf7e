//! The driver's judgement against a scripted peer and a stage of the test's own.

mod fault;
mod readiness;
mod stage;
