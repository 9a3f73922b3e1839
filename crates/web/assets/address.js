// Addresses of Forklore's pages, relative to the page that is open.

/**
 * `address('moment', { chat, at })`. What is null or undefined is left out.
 * @param {string} page
 * @param {Record<string, string | number | boolean | null | undefined>} said
 */
export function address(page, said) {
    const given = Object.entries(said).filter(([, value]) => value !== null && value !== undefined);
    return `${page}?${new URLSearchParams(given.map(([key, value]) => [key, String(value)]))}`;
}
