// Behaves as ST-Auto-Recap does when somebody forks: catches the message buttons ahead of SillyTavern, makes the fork, opens it also if
// it is a checkpoint, builds a book with fewer entries and binds it. `globalThis.likeAutoRecap` switches it on and runs it by hand.

async function fork(at, checkpoint) {
    const { createBranch, createNewBookmark } = await import('/scripts/bookmarks.js');
    const context = () => SillyTavern.getContext();
    const parent = context().chatMetadata.world_info;
    const name = checkpoint ? await createNewBookmark(at, { forceName: '' }) : await createBranch(at);
    await context().openCharacterChat(name);
    await context().saveChat();
    const { entries } = await context().loadWorldInfo(parent);
    const few = Object.fromEntries(Object.entries(entries).slice(0, 3));
    const book = `z-AutoLB-rebuilt-${Date.now()}`;
    await context().saveWorldInfo(book, { entries: few }, true);
    context().chatMetadata.world_info = book;
    await context().saveMetadata();
    globalThis.likeAutoRecap.bound.push(book);
    return name;
}

globalThis.likeAutoRecap = { on: false, caught: 0, bound: [], fork };

document.querySelector('#chat').addEventListener('click', (event) => {
    const button = event.target.closest('.mes_create_bookmark, .mes_create_branch');
    if (globalThis.likeAutoRecap.on && button) {
        event.stopImmediatePropagation();
        globalThis.likeAutoRecap.caught += 1;
        fork(Number(button.closest('.mes').getAttribute('mesid')), button.matches('.mes_create_bookmark'));
    }
}, true);
