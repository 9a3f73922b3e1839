//! [`Memory`]: how memory is kept.

use serde::Serialize;

/// How memory is kept, for chats that have it turned on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Memory {
    /// Address of the server that is asked; empty for none
    pub url: String,
    /// The model that is asked there
    pub model: String,
    /// What a million tokens cost that are read, as a number
    pub price_in: String,
    /// What a million tokens cost that are written, as a number
    pub price_out: String,
    /// Tokens that may be used on a day; 0 for any number
    pub daily_tokens: u32,
    /// Entries wait until they are approved
    pub approve: bool,
    /// A recap as one text is kept as well
    pub combined: bool,
    /// The language of answers; empty for the story's own
    pub language: String,
}

impl Default for Memory {
    fn default() -> Self {
        Self {
            url: String::new(),
            model: "default".to_owned(),
            price_in: "0".to_owned(),
            price_out: "0".to_owned(),
            daily_tokens: 0,
            approve: false,
            combined: false,
            language: String::new(),
        }
    }
}

impl Memory {
    /// What so many tokens cost, read and written.
    #[expect(clippy::cast_precision_loss, reason = "nobody pays to the last digit of a quadrillion tokens")]
    pub fn price(&self, tokens_in: u64, tokens_out: u64) -> f64 {
        let of = |price: &str, tokens: u64| price.parse::<f64>().unwrap_or(0.0) * tokens as f64 / 1e6;
        of(&self.price_in, tokens_in) + of(&self.price_out, tokens_out)
    }
}
