//! [`KeptLives`]: the lives of books that were asked for last. A story of thousands of forks has as many books: most are asked for once, and
//! the one that they all come from by every one of them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use forklore_core::state::Life;

/// So many lives are kept.
const KEPT: usize = 64;

/// Lives of books that were worked out, by their stems.
#[derive(Default)]
pub(super) struct KeptLives(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    /// Each with the number of the question that it was the answer to last
    lives: HashMap<String, (Arc<Life>, u64)>,
    questions: u64,
}

impl KeptLives {
    /// The life of a book, if it is still kept.
    pub(super) fn get(&self, stem: &str) -> Option<Arc<Life>> {
        let Kept { lives, questions } = &mut *self.kept();
        let (life, asked) = lives.get_mut(stem)?;
        *questions += 1;
        *asked = *questions;
        Some(life.clone())
    }

    /// Keeps a life in place of the one that nobody has asked for the longest.
    pub(super) fn keep(&self, stem: &str, life: Arc<Life>) {
        let Kept { lives, questions } = &mut *self.kept();
        if lives.len() >= KEPT {
            let oldest = lives.iter().min_by_key(|(_, (_, asked))| *asked).map(|(stem, _)| stem.clone());
            oldest.map(|stem| lives.remove(&stem));
        }
        *questions += 1;
        lives.insert(stem.to_owned(), (life, *questions));
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forklore_core::adapter::Keepers;
    use forklore_core::state::{Base, BookEvidence, Cast, Origin};
    use forklore_core::story::ChatIx;

    struct Nobody;

    impl Cast for Nobody {
        fn head(&self, _: ChatIx) -> usize {
            0
        }

        fn head_at(&self, _: ChatIx, _: i64) -> Option<usize> {
            None
        }

        fn played(&self, _: ChatIx, _: i64, _: i64) -> bool {
            false
        }

        fn related(&self, _: ChatIx, _: ChatIx) -> bool {
            false
        }

        fn place_of(
            &self,
            _: &forklore_core::adapter::Mark,
            _: Option<ChatIx>,
            _: &[ChatIx],
        ) -> Option<Origin> {
            None
        }
    }

    fn life(book: &str) -> Arc<Life> {
        let evidence = BookEvidence {
            book: book.into(),
            keepers: Keepers::default(),
            by_choice: false,
            owner: None,
            lost: false,
            heir: None,
            users: Vec::new(),
            made: None,
            scenes: Vec::new(),
            sights: Vec::new(),
            elsewhere: Vec::new(),
        };
        Arc::new(Life::of(evidence, &Base::Nothing, &Nobody))
    }

    #[test]
    fn what_is_asked_for_again_and_again_stays_and_there_are_never_too_many() {
        let kept = KeptLives::default();
        kept.keep("shared", life("shared"));
        for i in 0..3 * KEPT {
            let own = format!("own {i}");
            kept.keep(&own, life(&own));
            assert_eq!(&*kept.get("shared").unwrap().book, "shared");
            assert_eq!(&*kept.get(&own).unwrap().book, own.as_str());
        }
        assert!(kept.get("own 0").is_none());
        assert_eq!(kept.kept().lives.len(), KEPT);
    }
}
