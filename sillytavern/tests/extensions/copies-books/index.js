// Behaves as extensions do that give a fork a copy of its parent's book when it is opened. `globalThis.copiesBooks` switches it on.

globalThis.copiesBooks = { on: false, bound: [] };

const { eventSource, eventTypes } = SillyTavern.getContext();

eventSource.on(eventTypes.CHAT_CHANGED, async () => {
    const context = SillyTavern.getContext();
    const { main_chat: parent, world_info: bound } = context.chatMetadata;
    if (!globalThis.copiesBooks.on || !parent || !bound) {
        return;
    }
    const book = `${bound} copy ${Date.now()}`;
    await context.saveWorldInfo(book, await context.loadWorldInfo(bound), true);
    SillyTavern.getContext().chatMetadata.world_info = book;
    await SillyTavern.getContext().saveMetadata();
    globalThis.copiesBooks.bound.push(book);
});
