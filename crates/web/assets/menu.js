// Menus behind a button: one is open at a time, and Escape or a click elsewhere closes it.

import { target } from './dom.js';

const open = () => [.../** @type {NodeListOf<HTMLDetailsElement>} */ (document.querySelectorAll('details.menu[open]'))];

document.addEventListener('click', (event) => {
    const inside = target(event)?.closest('details.menu');
    open().filter((menu) => menu !== inside).forEach((menu) => { menu.open = false; });
});
document.addEventListener('focusout', (event) => {
    const menu = target(event)?.closest('details.menu');
    // Whoever goes on with the keyboard leaves no menu behind.
    if (menu instanceof HTMLDetailsElement && event.relatedTarget instanceof Node && !menu.contains(event.relatedTarget)) {
        menu.open = false;
    }
});
document.addEventListener('keydown', (event) => {
    const [menu] = open();
    if (!menu) {
        return;
    }
    const items = [.../** @type {NodeListOf<HTMLElement>} */ (menu.querySelectorAll('li a, li button'))].filter((item) => item.checkVisibility());
    const at = items.findIndex((item) => item === document.activeElement);
    if (event.key === 'Escape') {
        menu.open = false;
        menu.querySelector('summary')?.focus();
    } else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
        event.preventDefault();
        items[(at + (event.key === 'ArrowDown' ? 1 : -1) + items.length) % items.length]?.focus();
    }
});
