//! Conversions between the store's values and those of the protocol.

use std::error::Error as StdError;

use bytes::BytesMut;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

use super::super::value::{Arg, Value};

type Failed = Box<dyn StdError + Sync + Send>;

impl ToSql for Arg<'_> {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Failed> {
        match *self {
            Arg::Null => Ok(IsNull::Yes),
            Arg::Integer(value) => integer(value, kind, out),
            Arg::Real(value) => value.to_sql(kind, out),
            // PostgreSQL has no texts with U+0000.
            Arg::Text(value) if value.contains('\0') => value.replace('\0', "\u{fffd}").to_sql(kind, out),
            Arg::Text(value) => value.to_sql(kind, out),
            Arg::Blob(value) => value.to_sql(kind, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

fn integer(value: i64, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Failed> {
    match *kind {
        Type::INT8 => value.to_sql(kind, out),
        Type::INT4 => i32::try_from(value)?.to_sql(kind, out),
        Type::INT2 => i16::try_from(value)?.to_sql(kind, out),
        Type::BOOL => (value != 0).to_sql(kind, out),
        #[expect(clippy::cast_precision_loss, reason = "SQLite converts it in the same way")]
        Type::FLOAT8 => (value as f64).to_sql(kind, out),
        _ => Err(format!("an integer was given for an argument of the type {kind}").into()),
    }
}

impl<'r> FromSql<'r> for Value {
    fn from_sql(kind: &Type, raw: &'r [u8]) -> Result<Self, Failed> {
        Ok(match *kind {
            Type::INT8 => Self::Integer(i64::from_sql(kind, raw)?),
            Type::INT4 => Self::Integer(i32::from_sql(kind, raw)?.into()),
            Type::INT2 => Self::Integer(i16::from_sql(kind, raw)?.into()),
            Type::BOOL => Self::Integer(bool::from_sql(kind, raw)?.into()),
            Type::FLOAT8 => Self::Real(f64::from_sql(kind, raw)?),
            Type::FLOAT4 => Self::Real(f32::from_sql(kind, raw)?.into()),
            Type::NUMERIC => numeric(raw)?,
            Type::TEXT | Type::VARCHAR | Type::NAME => Self::Text(String::from_sql(kind, raw)?),
            Type::BYTEA => Self::Blob(raw.to_owned()),
            _ => return Err(format!("a column has the type {kind}, which the store does not use").into()),
        })
    }

    fn from_sql_null(_: &Type) -> Result<Self, Failed> {
        Ok(Self::Null)
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

/// A `numeric` is the type of sums of integers; the result is an integer if there is no fraction.
///
/// The format is four 16-bit numbers (the number of digits, the weight of the first digit, the sign, and the decimal places that
/// are shown) and the digits, which are to the base 10,000. Source: `numeric_send` in PostgreSQL's `numeric.c`.
fn numeric(raw: &[u8]) -> Result<Value, Failed> {
    const NEGATIVE: i16 = 0x4000;
    let mut numbers = raw.chunks_exact(2).map(|pair| i16::from_be_bytes([pair[0], pair[1]]));
    let mut next = || numbers.next().ok_or("a numeric is too short");
    let (digits, weight, sign, _places) = (next()?, next()?, next()?, next()?);
    if sign != 0 && sign != NEGATIVE {
        return Err("a numeric is not a number".into());
    }
    let (mut whole, mut fraction, mut place) = (0_i64, 0.0, 1.0);
    for at in 0..digits.max(weight.saturating_add(1)) {
        let digit = if at < digits { next()? } else { 0 };
        if at <= weight {
            let shifted = whole.checked_mul(10_000).and_then(|whole| whole.checked_add(digit.into()));
            whole = shifted.ok_or("a sum is too large")?;
        } else {
            place /= 10_000.0;
            fraction += f64::from(digit) * place;
        }
    }
    // A first digit behind the decimal point has a weight below -1.
    if weight < -1 {
        fraction *= 10_000_f64.powi(i32::from(weight) + 1);
    }
    let sign = if sign == NEGATIVE { -1 } else { 1 };
    if fraction == 0.0 {
        return Ok(Value::Integer(sign * whole));
    }
    #[expect(clippy::cast_precision_loss, reason = "an average, which is inexact")]
    Ok(Value::Real((sign * whole) as f64 + f64::from(i8::try_from(sign)?) * fraction))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(numbers: &[i16]) -> Vec<u8> {
        numbers.iter().flat_map(|number| number.to_be_bytes()).collect()
    }

    #[test]
    fn a_numeric_without_a_fraction_is_an_integer() {
        for (numbers, value) in [
            (&[0, 0, 0, 0][..], Value::Integer(0)),
            (&[1, 0, 0, 0, 7], Value::Integer(7)),
            (&[1, 1, 0, 0, 3], Value::Integer(30_000)),
            (&[2, 1, 0x4000, 0, 12, 345], Value::Integer(-120_345)),
            (&[2, 0, 0, 2, 2, 5_000], Value::Real(2.5)),
            (&[1, -1, 0x4000, 2, 2_500], Value::Real(-0.25)),
            (&[1, -2, 0, 8, 1], Value::Real(1e-8)),
        ] {
            assert_eq!(numeric(&sent(numbers)).unwrap(), value, "{numbers:?}");
        }
    }

    #[test]
    fn what_is_no_number_or_too_large_is_an_error() {
        let nan = sent(&[0, 0, i16::MIN.wrapping_add(0x4000), 0]);
        assert!(numeric(&nan).is_err() && numeric(&[0, 1]).is_err());
        assert!(numeric(&sent(&[1, 9, 0, 0, 1])).is_err(), "10^36");
    }
}
