//! The driver's judgement against a scripted peer and a stage of the test's own.

#[cfg(unix)]
mod barrier;
mod fault;
#[cfg(unix)]
mod late;
#[cfg(unix)]
mod player;
mod readiness;
#[cfg(unix)]
mod relay;
mod stage;
