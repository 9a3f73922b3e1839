// A visit to SillyTavern's page: `Visit` is a tab with the page loaded, and speaks of chats, forks and books.

import assert from 'node:assert/strict';
import { pause } from './tavern.js';

// People at a page read no codes and no paths, type no commands but those that are for the machine, and know one from many.
function inWords(text) {
    assert.doesNotMatch(text, /\b[A-Z]{3,}_[A-Z]{3,}\b|forklore (?!install|doctor|serve)[a-z]+\b|(^|\s)--[a-z]|(chats|worlds)\/|\.jsonl\b|(?<!\d)1 (versions|messages|entries|operations|scenes|things|siblings|chats)\b/);
    return text;
}

export class Visit {
    /** @type {import('./tavern.js').Tavern} */
    tavern;
    /** @type {import('./chromium.js').Page} */
    page;

    // Opens the page and waits until SillyTavern and Forklore are ready.
    static async start(browser, tavern, size) {
        const visit = new Visit();
        Object.assign(visit, { tavern, page: await browser.open(tavern.url, size) });
        await visit.ready();
        return visit;
    }

    async ready() {
        await this.page.until('the page is ready', () => {
            // The first visit asks for a name.
            document.querySelector('dialog[open] #onboarding_ui_language_select')?.closest('dialog').querySelector('.popup-button-ok')?.click();
            return globalThis.Forklore && !globalThis.leaving && !document.querySelector('#preloader, #load-spinner');
        });
        await this.page.run(() => {
            globalThis.told = [];
            new MutationObserver((records) => {
                const fresh = records.flatMap(({ addedNodes }) => [...addedNodes]).filter((node) => node instanceof HTMLElement && node.classList.contains('toast'));
                globalThis.told.push(...fresh.map((/** @type {any} */ toast) => [...toast.children].map((part) => part.innerText).join('\n')));
            }).observe(document, { childList: true, subtree: true });
        });
    }

    async reload() {
        // The old page may still answer for a while.
        await this.page.run(() => { globalThis.leaving = true; });
        await this.page.reload();
        await this.ready();
    }

    // Opens a chat by its address, as a user would find it, and waits until Forklore has looked at it.
    async open(address) {
        const [story, ...rest] = address.split('/');
        await this.page.run(async (story, name) => {
            const context = () => SillyTavern.getContext();
            if (story.startsWith('group:')) {
                const { openGroupById } = await import('/scripts/group-chats.js');
                const id = story.slice('group:'.length);
                if (context().groupId !== id) {
                    await openGroupById(id);
                }
                const group = context().groups.find((group) => group.id === id);
                if (group.chat_id !== name) {
                    await context().openGroupChat(id, name);
                }
            } else {
                const index = context().characters.findIndex(({ avatar }) => avatar === `${story}.png`);
                if (Number(context().characterId) !== index || context().groupId) {
                    await context().selectCharacterById(index);
                }
                if (context().getCurrentChatId() !== name) {
                    await context().openCharacterChat(name);
                }
            }
        }, story, rest.join('/'));
        await this.settled(address);
    }

    // Waits until a chat is open and Forklore has said what it thinks of it.
    settled(address) {
        return this.page.until(`${address} is open and looked at`, (address) => {
            const { chat, entered } = Forklore.state();
            return chat === address && entered?.chat === address && Forklore.state();
        }, address);
    }

    here() {
        return this.page.run(() => Forklore.state().chat);
    }

    state() {
        return this.page.run(() => Forklore.state());
    }

    // Waits until another chat than this is open, and gives its address.
    async away(from) {
        const address = await this.page.until('another chat is open', (from) => {
            const { chat } = Forklore.state();
            return chat && chat !== from ? chat : null;
        }, from);
        await this.settled(address);
        await this.idle();
        return address;
    }

    // Waits until no fork is being made.
    idle() {
        return this.page.until('no fork is being made', () => Forklore.state().tone !== 'busy' || Forklore.state().queue?.idle === false);
    }

    slash(text) {
        return this.page.run(async (text) => (await SillyTavern.getContext().executeSlashCommandsWithOptions(text))?.pipe, text);
    }

    messages() {
        return this.page.run(() => SillyTavern.getContext().chat.length);
    }

    // The buttons of a message are in a menu that opens first. Old messages are loaded first.
    async message(at, button, options) {
        await this.page.until(`message ${at} has its ${button}`, (at, button) => {
            const message = document.querySelector(`#chat .mes[mesid="${at}"]`);
            if (!message) {
                document.querySelector('#show_more_messages')?.click();
                return false;
            }
            if (!message.querySelector(button)?.checkVisibility()) {
                message.querySelector('.extraMesButtonsHint')?.click();
                return false;
            }
            return true;
        }, at, button);
        await this.page.click(`#chat .mes[mesid="${at}"] ${button}`, options);
    }

    // The notices that were shown since they were last cleared, as texts: they vanish by themselves.
    async notices() {
        return (await this.page.run(() => globalThis.told)).map(inWords);
    }

    async notice(text) {
        return inWords(await this.page.until(`a notice with ${text}`, (text) => globalThis.told.find((found) => found.includes(text)), text));
    }

    clearNotices() {
        return this.page.run(() => { toastr.remove(); globalThis.told = []; });
    }

    async dialog(text) {
        return inWords(await this.page.until(`a dialog with ${text}`, (text) => [...document.querySelectorAll('dialog[open]')].map((dialog) => dialog.innerText).find((found) => found.includes(text)), text));
    }

    async choose(choice) {
        await this.page.click(`dialog[open] [data-choice="${choice}"]`);
    }

    dialogs() {
        return this.page.run(() => [...document.querySelectorAll('dialog[open]')].filter((dialog) => !dialog.hasAttribute('closing')).map((dialog) => dialog.innerText));
    }

    // Changes an entry of the open chat's book as the editor does: with the delayed save.
    edit(uid, content) {
        return this.page.run(async (uid, content) => {
            const context = SillyTavern.getContext();
            const name = context.chatMetadata.world_info;
            const book = await context.loadWorldInfo(name);
            book.entries[uid].content = content;
            context.saveWorldInfo(name, book);
        }, uid, content);
    }

    entry(uid) {
        return this.page.run(async (uid) => {
            const context = SillyTavern.getContext();
            return (await context.loadWorldInfo(context.chatMetadata.world_info)).entries[uid].content;
        }, uid);
    }

    async close() {
        await this.page.close();
        await pause(100);
    }
}
