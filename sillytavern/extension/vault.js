// The settings of the vault, as the engine has them now: somebody may change them at the command line or on another page.

import * as api from './api.js';

// What a setting is set to; undefined if nobody can tell.
export async function vaultSetting(key) {
    return (await api.get('api/config', { key }).catch(() => null))?.value;
}
