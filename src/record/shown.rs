//! Values that are written in another shape than they are kept in.

use serde::{Serialize, Serializer};

/// Writes a value as the shape `V` of it, for `#[serde(serialize_with = "shown::<V, _, _>")]`.
pub fn shown<V, T, S>(value: &T, serializer: S) -> Result<S::Ok, S::Error>
where
    V: Serialize + for<'v> From<&'v T>,
    S: Serializer,
{
    V::from(value).serialize(serializer)
}
