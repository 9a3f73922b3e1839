//! [`Slow`]: pages that take longer than somebody should look at nothing. The first time a story of hundreds of chats is opened, and what
//! healing would change, take seconds: the browser gets a page that says so and how far it is, and what was asked for when it is made.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use forklore_web::Page;
use tokio::sync::watch;

use crate::answer::Refused;

/// So long nobody is told anything.
const SOON: Duration = Duration::from_millis(1200);
/// A page that nobody came back for is made anew after that: it would be old.
const FRESH: Duration = Duration::from_secs(15);
/// So many are kept for those who come back.
const MOST: usize = 16;

/// What came of it.
pub(crate) type Made = Result<Page, Refused>;

/// Pages that are being made, by their addresses.
#[derive(Default)]
pub(crate) struct Slow(Mutex<HashMap<String, Job>>);

#[derive(Clone)]
struct Job {
    over: watch::Receiver<bool>,
    made: Arc<Mutex<Option<(Made, Instant)>>>,
    begun: Instant,
}

impl Slow {
    /// The page if it is made soon; else nothing, and whoever asks for the same again gets it.
    pub(crate) async fn soon(
        &self,
        address: &str,
        make: impl Future<Output = Made> + Send + 'static,
    ) -> Option<Made> {
        let job = match self.find(address) {
            Some(job) => job,
            None => self.begin(address, make),
        };
        let mut over = job.over.clone();
        let done = tokio::time::timeout(SOON, over.wait_for(|over| *over)).await;
        done.is_ok().then(|| {
            self.jobs().remove(address);
            let made = job.made.lock().unwrap_or_else(PoisonError::into_inner).take();
            made.map_or(Err(Refused::Died), |(made, _)| made)
        })
    }

    /// Waits until what is made for an address is made, if anything is.
    pub(crate) async fn over(&self, address: &str) {
        let job = self.jobs().get(address).cloned();
        if let Some(mut job) = job {
            // Whoever makes it has gone: that is over, too.
            let _gone = job.over.wait_for(|over| *over).await;
        }
    }

    fn jobs(&self) -> std::sync::MutexGuard<'_, HashMap<String, Job>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One that is under way, or was made just now.
    fn find(&self, address: &str) -> Option<Job> {
        let job = self.jobs().get(address).cloned()?;
        let made = job.made.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = made.as_ref().map_or(!*job.over.borrow(), |(_, when)| when.elapsed() < FRESH);
        drop(made);
        fresh.then_some(job)
    }

    fn begin(&self, address: &str, make: impl Future<Output = Made> + Send + 'static) -> Job {
        let (tell, over) = watch::channel(false);
        let job = Job { over, made: Arc::default(), begun: Instant::now() };
        let made = job.made.clone();
        tokio::spawn(async move {
            let done = make.await;
            *made.lock().unwrap_or_else(PoisonError::into_inner) = Some((done, Instant::now()));
            // Nobody may be waiting any more.
            let _nobody = tell.send(true);
        });
        let mut jobs = self.jobs();
        if jobs.len() >= MOST {
            let oldest = jobs.iter().min_by_key(|(_, job)| job.begun).map(|(address, _)| address.clone());
            oldest.and_then(|oldest| jobs.remove(&oldest));
        }
        jobs.insert(address.to_owned(), job.clone());
        job
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn what_takes_long_is_there_for_whoever_comes_back_and_is_given_once() {
        let slow = Slow::default();
        let (go, wait) = oneshot::channel::<()>();
        let long = async move {
            let _go = wait.await;
            Err(Refused::Died)
        };
        assert!(slow.soon("health", long).await.is_none(), "who asks is told that it takes long");
        go.send(()).unwrap();
        slow.over("health").await;
        let made = slow.soon("health", std::future::pending()).await;
        assert!(matches!(made, Some(Err(Refused::Died))), "what was made meanwhile, not made once more");
        assert!(slow.find("health").is_none(), "and no longer kept");
        slow.over("nothing").await;
    }
}
