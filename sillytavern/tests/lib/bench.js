// What a file of tests begins with: a server, a browser and a page, all ended with it. The clean-up runs also if a test fails.

import { after, before } from 'node:test';
import path from 'node:path';
import { Browser } from './chromium.js';
import { HARBOR, REPOSITORY, Tavern } from './tavern.js';
import { Visit } from './visit.js';

export const STORY = 'Maren Voss';
export const MAIN = `${STORY}/Maren Voss - 2026-11-15@00h59m16s354ms`;
export const LAST = 72;
export const GROUP = 'group:1794704887331/1794704887326';
const PICTURES = process.env.FORKLORE_PICTURES;

/**
 * `prepare` may change the vault before the server starts.
 * @param {{ vault?: string, prepare?: (tavern: Tavern) => void, plugin?: boolean, version?: string }} setup
 */
export function bench({ vault = HARBOR, prepare = () => {}, ...setup } = {}) {
    /** @type {{ tavern?: Tavern, browser?: Browser, visit?: Visit, picture?: (name: string, visit?: any) => Promise<void> }} */
    const at = {};
    before(async () => {
        const extensions = ['like-auto-recap', 'copies-books'].map((name) => path.join(REPOSITORY, 'sillytavern/tests/extensions', name));
        at.tavern = await Tavern.start({ vault, extensions, prepare, ...setup });
        at.browser = await Browser.start();
        at.visit = await Visit.start(at.browser, at.tavern);
    });
    after(async () => {
        await at.browser?.stop();
        await at.tavern?.stop();
    });
    // A picture of the page, if pictures are wanted.
    at.picture = async (name, visit = at.visit) => {
        if (PICTURES) {
            await visit.page.picture(path.join(PICTURES, `${name}.png`));
        }
    };
    return at;
}
