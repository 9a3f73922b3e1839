// Keys for who answers many: j and k go to the next thing and the one before; the buttons of each are a Tab away.

const KEYS = new Map([['j', 1], ['k', -1]]);

document.addEventListener('keydown', (event) => {
    const step = KEYS.get(event.key);
    const at = event.target;
    if (step === undefined || event.ctrlKey || event.metaKey || event.altKey || !(at instanceof HTMLElement) || at.matches('input, textarea, select')) {
        return;
    }
    const things = [...document.querySelectorAll('.question, .entry')].filter((thing) => thing instanceof HTMLElement);
    const here = things.findIndex((thing) => thing.contains(at));
    const next = things[here < 0 ? (step > 0 ? 0 : things.length - 1) : Math.min(Math.max(here + step, 0), things.length - 1)];
    if (next) {
        event.preventDefault();
        next.focus();
        next.scrollIntoView({ block: 'nearest' });
    }
});
