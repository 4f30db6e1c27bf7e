//! Reads typed values at places of a parsed TOML document. toml's own deserializer brings eight types, for each of which the
//! code of every format would be compiled; this one brings one.

use std::fmt;
use std::ops::Range;

use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error as _, IntoDeserializer, MapAccess,
    SeqAccess, Unexpected, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use toml::Spanned;
use toml::de::{DeInteger, DeString, DeTable, DeValue};

/// A value, and where it stands.
pub struct Place<'v> {
    value: &'v DeValue<'v>,
    span: Range<usize>,
}

/// What is wrong with a value, and where.
#[derive(Debug)]
pub struct BadValue {
    pub message: String,
    pub span: Option<Range<usize>>,
}

impl BadValue {
    fn new(message: impl Into<String>, span: Range<usize>) -> BadValue {
        BadValue {
            message: message.into(),
            span: Some(span),
        }
    }

    /// This mistake, at `span` unless a place inside is known.
    fn within(self, span: &Range<usize>) -> BadValue {
        BadValue {
            span: self.span.or_else(|| Some(span.clone())),
            ..self
        }
    }
}

impl fmt::Display for BadValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for BadValue {}

impl de::Error for BadValue {
    fn custom<T: fmt::Display>(message: T) -> BadValue {
        BadValue {
            message: message.to_string(),
            span: None,
        }
    }
}

/// Reads a whole document, up to its first mistake.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T, BadValue> {
    let root = DeTable::parse(text).map_err(|error| BadValue {
        message: error.message().to_owned(),
        span: error.span(),
    })?;
    let span = root.span();
    T::deserialize(Place::new(&DeValue::Table(root.into_inner()), span))
}

impl<'v> Place<'v> {
    pub fn new(value: &'v DeValue<'v>, span: Range<usize>) -> Place<'v> {
        Place { value, span }
    }

    fn of(value: &'v Spanned<DeValue<'v>>) -> Place<'v> {
        Place::new(value.get_ref(), value.span())
    }
}

fn integer<'de, V: Visitor<'de>>(number: &DeInteger<'_>, visitor: V) -> Result<V::Value, BadValue> {
    let (digits, radix) = (number.as_str(), number.radix());
    if let Ok(number) = i64::from_str_radix(digits, radix) {
        return visitor.visit_i64(number);
    }
    if let Ok(number) = u64::from_str_radix(digits, radix) {
        return visitor.visit_u64(number);
    }
    match i128::from_str_radix(digits, radix) {
        Ok(number) => {
            let number = format!("integer `{number}` as i128");
            Err(BadValue::invalid_type(Unexpected::Other(&number), &visitor))
        }
        Err(_) => Err(BadValue::custom("integer number overflowed")),
    }
}

/// A number that is infinite only if it is written so.
fn float(text: &str) -> Result<f64, BadValue> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() || !text.contains(|c: char| c.is_ascii_digit()) => Ok(number),
        _ => Err(BadValue::custom("floating-point number overflowed")),
    }
}

impl<'de> Deserializer<'de> for Place<'_> {
    type Error = BadValue;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, BadValue> {
        let read = match self.value {
            DeValue::String(text) => visitor.visit_str(text),
            DeValue::Integer(number) => integer(number, visitor),
            DeValue::Float(number) => float(number.as_str()).and_then(|number| visitor.visit_f64(number)),
            DeValue::Boolean(value) => visitor.visit_bool(*value),
            DeValue::Datetime(_) => Err(BadValue::invalid_type(Unexpected::Other("a date"), &visitor)),
            DeValue::Array(values) => visitor.visit_seq(Elements(values.iter())),
            DeValue::Table(table) => visitor.visit_map(Entries::new(table)),
        };
        read.map_err(|mistake| mistake.within(&self.span))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, BadValue> {
        let span = self.span.clone();
        visitor.visit_some(self).map_err(|mistake| mistake.within(&span))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, BadValue> {
        let span = self.span.clone();
        let read = visitor.visit_newtype_struct(self);
        read.map_err(|mistake| mistake.within(&span))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, BadValue> {
        let read = match self.value {
            DeValue::String(tag) => visitor.visit_enum(Tagged { tag, content: None }),
            DeValue::Table(table) => tagged(table).and_then(|tagged| visitor.visit_enum(tagged)),
            _ => Err(BadValue::custom("wanted string or table")),
        };
        read.map_err(|mistake| mistake.within(&self.span))
    }

    forward_to_deserialize_any! {
        bool u8 u16 u32 u64 u128 i8 i16 i32 i64 i128 f32 f64 char str string seq bytes byte_buf map unit ignored_any
        unit_struct struct tuple_struct tuple identifier
    }
}

struct Elements<'v>(std::slice::Iter<'v, Spanned<DeValue<'v>>>);

impl<'de> SeqAccess<'de> for Elements<'_> {
    type Error = BadValue;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, BadValue> {
        self.0
            .next()
            .map(|value| seed.deserialize(Place::of(value)))
            .transpose()
    }
}

struct Entries<'v> {
    rest: toml::map::Iter<'v, Spanned<DeString<'v>>, Spanned<DeValue<'v>>>,
    value: Option<&'v Spanned<DeValue<'v>>>,
}

impl<'v> Entries<'v> {
    fn new(table: &'v DeTable<'v>) -> Entries<'v> {
        Entries {
            rest: table.iter(),
            value: None,
        }
    }
}

impl<'de> MapAccess<'de> for Entries<'_> {
    type Error = BadValue;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, BadValue> {
        let Some((key, value)) = self.rest.next() else {
            return Ok(None);
        };
        self.value = Some(value);
        let read = seed.deserialize(key.get_ref().as_ref().into_deserializer());
        read.map(Some).map_err(|mistake: BadValue| mistake.within(&key.span()))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, BadValue> {
        let value = self.value.take().expect("serde asks for the key first");
        let read = seed.deserialize(Place::of(value));
        read.map_err(|mistake| mistake.within(&value.span()))
    }
}

/// A variant of an enum: its name, and what it holds unless it is the name alone.
struct Tagged<'v> {
    tag: &'v str,
    content: Option<(Range<usize>, Place<'v>)>,
}

fn tagged<'v>(table: &'v DeTable<'v>) -> Result<Tagged<'v>, BadValue> {
    let mut entries = table.iter();
    let (Some((tag, value)), None) = (entries.next(), entries.next()) else {
        let found = if table.is_empty() {
            "found 0 elements"
        } else {
            "more than 1 element"
        };
        return Err(BadValue::custom(format!("wanted exactly 1 element, {found}")));
    };
    Ok(Tagged {
        tag: tag.get_ref(),
        content: Some((tag.span(), Place::of(value))),
    })
}

impl<'de, 'v> EnumAccess<'de> for Tagged<'v> {
    type Error = BadValue;
    type Variant = Content<'v>;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Content<'v>), BadValue> {
        let read = seed.deserialize(self.tag.into_deserializer());
        match (read, self.content) {
            (Ok(variant), content) => Ok((variant, Content(content.map(|(_, place)| place)))),
            (Err(mistake), Some((span, _))) => Err(BadValue::within(mistake, &span)),
            (Err(mistake), None) => Err(mistake),
        }
    }
}

/// What a variant holds.
struct Content<'v>(Option<Place<'v>>);

impl<'v> Content<'v> {
    fn place(self, expected: &str) -> Result<Place<'v>, BadValue> {
        self.0
            .ok_or_else(|| BadValue::invalid_type(Unexpected::UnitVariant, &expected))
    }
}

impl<'de> VariantAccess<'de> for Content<'_> {
    type Error = BadValue;

    fn unit_variant(self) -> Result<(), BadValue> {
        match self.0 {
            None => Ok(()),
            Some(Place { value, span }) => match value {
                DeValue::Array(values) if values.is_empty() => Ok(()),
                DeValue::Table(table) if table.is_empty() => Ok(()),
                DeValue::Array(_) => Err(BadValue::new("expected empty array", span)),
                DeValue::Table(_) => Err(BadValue::new("expected empty table", span)),
                other => Err(BadValue::new(
                    format!("expected table, found {}", other.type_str()),
                    span,
                )),
            },
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, BadValue> {
        seed.deserialize(self.place("newtype variant")?)
    }

    // No format has these two; their values would need checks of their own.
    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, BadValue> {
        Err(BadValue::custom("no format has such a variant"))
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], _: V) -> Result<V::Value, BadValue> {
        Err(BadValue::custom("no format has such a variant"))
    }
}
