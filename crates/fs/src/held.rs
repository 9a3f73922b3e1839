//! [`patiently`]: a file that another program holds open is asked for again, for about a second; then it is said who stands in the way.
//!
//! Windows refuses to rename or remove what somebody else has open. Virus scanners, indexers and OneDrive do so for moments after every save.

use std::io;
use std::time::Duration;

/// How long is waited before each further try.
const PAUSES: [u64; 8] = [2, 5, 10, 25, 50, 100, 250, 500];

/// Why something is refused that another program has open.
#[derive(Debug, thiserror::Error)]
#[error(
    "another program holds it open; close what uses it, or wait until a virus scan or a sync is done ({0})"
)]
struct Held(io::Error);

/// Does it, and again for a while if another program is in the way.
#[cfg(windows)]
pub(crate) fn patiently<T>(act: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    with_pauses(act, std::thread::sleep)
}

fn with_pauses<T>(mut act: impl FnMut() -> io::Result<T>, mut pause: impl FnMut(Duration)) -> io::Result<T> {
    for wait in PAUSES {
        match act() {
            Err(e) if is_held(&e) => pause(Duration::from_millis(wait)),
            done => return done,
        }
    }
    act().map_err(|e| if is_held(&e) { io::Error::new(io::ErrorKind::ResourceBusy, Held(e)) } else { e })
}

/// What Windows says of it: a sharing violation, a locked part, a section that is mapped.
fn is_held(e: &io::Error) -> bool {
    matches!(e.raw_os_error(), Some(32 | 33 | 1224))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_let_go_in_time_is_no_failure() {
        let (mut tries, mut waited) = (0, Duration::ZERO);
        let act = || {
            tries += 1;
            if tries < 5 { Err(io::Error::from_raw_os_error(32)) } else { Ok(tries) }
        };
        assert_eq!(with_pauses(act, |pause| waited += pause).unwrap(), 5);
        assert!(waited < Duration::from_millis(100));
    }

    #[test]
    fn a_file_that_is_held_on_is_refused_in_words() {
        let mut tries = 0;
        let held = with_pauses(
            || {
                tries += 1;
                Err::<(), _>(io::Error::from_raw_os_error(32))
            },
            |_| {},
        );
        let held = held.unwrap_err();
        assert_eq!((tries, held.kind()), (9, io::ErrorKind::ResourceBusy));
        assert!(held.to_string().contains("another program holds it open"), "{held}");
    }

    #[test]
    fn other_failures_are_told_at_once() {
        let mut tries = 0;
        let failed = with_pauses(
            || {
                tries += 1;
                Err::<(), _>(io::Error::from(io::ErrorKind::NotFound))
            },
            |_| {},
        );
        assert_eq!((tries, failed.unwrap_err().kind()), (1, io::ErrorKind::NotFound));
    }
}
