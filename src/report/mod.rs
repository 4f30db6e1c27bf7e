//! Placeholder.
pub mod terminal {
    pub fn render(_: &crate::analyse::Summary, _: usize) -> String {
        String::new()
    }
}
pub mod json {
    pub fn render(_: &crate::analyse::Summary) -> anyhow::Result<String> {
        Ok(String::new())
    }
}
pub mod csv {
    pub fn render<T>(_: T) -> anyhow::Result<String> {
        Ok(String::new())
    }
}
