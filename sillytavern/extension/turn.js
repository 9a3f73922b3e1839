// Forks of all tabs of this browser, one after the other. SillyTavern chooses a name that is free and saves under it a moment later: two
// tabs at once would choose the same name, and the second would meet its alarm about overwriting.

const LONGEST = 15_000;

// Does the work when no other tab makes a fork. Nobody waits for long: in another tab somebody may be thinking about a name.
export async function inTurn(work) {
    let begun = false;
    const begin = () => {
        begun = true;
        return work();
    };
    // Over plain HTTP from another machine browsers have no locks.
    if (!navigator.locks) {
        return begin();
    }
    try {
        return await navigator.locks.request('forklore-fork', { signal: AbortSignal.timeout(LONGEST) }, begin);
    } catch (error) {
        if (begun) {
            throw error;
        }
        return begin();
    }
}
