//! A request to end something that takes long.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Its clones share one request. The default is never cancelled, unless by its own clone.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    pub fn cancel(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}
