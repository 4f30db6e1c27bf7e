//! The driver against a scripted peer and a test stage.

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
