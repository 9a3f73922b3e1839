//! [`Bill`]: what memory has cost, by day and by story.

use std::collections::BTreeMap;

use forklore_config::Memory;
use forklore_engine::memory::{AnswerStore, Spent};
use schemars::JsonSchema;
use serde::Serialize;

use super::Desk;
use crate::{Failure, OpenVault, now};

/// What was paid.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Bill {
    /// By day, the newest first
    pub days: Vec<BillLine>,
    /// By story
    pub stories: Vec<BillLine>,
    /// Altogether
    pub all: BillLine,
    /// Tokens that were used today
    pub today: u64,
    /// Tokens that may be used on a day; 0 for any number
    pub daily_tokens: u32,
}

/// What was paid for something.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct BillLine {
    /// The day, the story, or nothing
    pub of: String,
    /// How many questions were asked
    pub questions: usize,
    /// Tokens that were read
    pub tokens_in: u64,
    /// Tokens that were written
    pub tokens_out: u64,
    /// What that costs at the prices that are set
    pub price: f64,
}

impl BillLine {
    fn add(&mut self, spent: &Spent) {
        self.questions += 1;
        self.tokens_in += spent.tokens_in;
        self.tokens_out += spent.tokens_out;
    }

    fn priced(mut self, of: &str, prices: &Memory) -> Self {
        of.clone_into(&mut self.of);
        self.price = prices.price(self.tokens_in, self.tokens_out);
        self
    }
}

/// What was paid in a vault.
pub fn bill(open: &OpenVault<'_>) -> Result<Bill, Failure> {
    let desk = Desk::of(open)?;
    let prices = &desk.config.memory;
    let (mut days, mut stories): (BTreeMap<String, BillLine>, BTreeMap<String, BillLine>) =
        Default::default();
    let mut all = BillLine::default();
    // What was taken over from an extension was paid there.
    for spent in desk.answers.spent().iter().filter(|spent| spent.tokens_in + spent.tokens_out > 0) {
        days.entry(day(spent.at)).or_default().add(spent);
        stories.entry(spent.story.clone()).or_default().add(spent);
        all.add(spent);
    }
    Ok(Bill {
        days: days.into_iter().rev().map(|(day, line)| line.priced(&day, prices)).collect(),
        stories: stories.into_iter().map(|(story, line)| line.priced(&story, prices)).collect(),
        all: all.priced("", prices),
        today: today(&desk.answers),
        daily_tokens: prices.daily_tokens,
    })
}

/// Tokens that were used today.
pub(super) fn today(answers: &AnswerStore) -> u64 {
    let today = day(now());
    let of_today = answers.spent().iter().filter(|spent| day(spent.at) == today);
    of_today.map(|spent| spent.tokens_in + spent.tokens_out).sum()
}

/// The day of a time, as the calendar of this machine has it.
fn day(at: i64) -> String {
    let time = jiff::Timestamp::from_millisecond(at).unwrap_or_default();
    time.to_zoned(jiff::tz::TimeZone::system()).date().to_string()
}
