//! [`Stood`]: where a chat stood when it was seen; [`stood`]: around a look; [`number_now`]: as messages are numbered now.

use forklore_core::story::Shift;

/// Where a chat stood: place of the observation, last message, whether it was bound to the book.
pub(super) type Stood = (usize, usize, bool);

/// Where a chat stood before the look that an observation belongs to, and after it. What was looked at together may have been saved in any
/// order.
pub(super) fn stood(
    heads: &[Stood],
    i: usize,
    together: &dyn Fn(usize) -> bool,
) -> (Option<Stood>, Option<Stood>) {
    let after = heads.partition_point(|(j, ..)| *j < i);
    let first = heads[..after].iter().rposition(|(j, ..)| !together(*j)).map_or(0, |n| n + 1);
    let last = after + heads[after..].iter().take_while(|(j, ..)| together(*j)).count();
    let known = first.checked_sub(1).map(|n| heads[n]);
    (known, last.checked_sub(1).map(|n| heads[n]).filter(|_| last > first).or(known))
}

/// The number that a message has now that had `message` at an observation.
pub(super) fn number_now(shifts: &[(usize, &Shift)], i: usize, message: usize) -> usize {
    let later = shifts.iter().filter(|(j, _)| *j > i);
    later.fold(message, |message, (_, shift)| shift.apply(message).unwrap_or_default())
}
