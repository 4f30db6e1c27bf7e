//! Values with another shape in JSON than in memory.

use serde::{Serialize, Serializer};

/// Serialises a value as `V`, for `#[serde(serialize_with = "shown::<V, _, _>")]`.
pub fn shown<V, T, S>(value: &T, serializer: S) -> Result<S::Ok, S::Error>
where
    V: Serialize + for<'v> From<&'v T>,
    S: Serializer,
{
    V::from(value).serialize(serializer)
}
