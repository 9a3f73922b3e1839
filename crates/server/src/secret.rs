//! [`secret`]: what nobody guesses.

/// 244 random bits.
pub(crate) fn secret() -> String {
    format!("{}{}", uuid::Uuid::new_v4().simple(), uuid::Uuid::new_v4().simple())
}
