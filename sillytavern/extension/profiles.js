// The user's own connections to models: what SillyTavern's connection manager has saved. A profile is known by its number here; its key
// stays where it is.

import { change, chosen } from './settings.js';
import { context } from './st.js';

const NAME = 'memory_profile';

// Whom to ask through, or a sentence that says why nobody can be asked.
export function connection() {
    const { ConnectionManagerRequestService: service, extensionSettings } = context();
    if (!service?.sendRequest) {
        return { profile: null, problem: 'This SillyTavern lets no extension ask through a saved connection: only the command line can ask here.' };
    }
    if (extensionSettings.disabledExtensions?.includes('connection-manager')) {
        return { profile: null, problem: 'SillyTavern\'s extension "Connection Profiles" is switched off. Switch it on to choose who is asked.' };
    }
    if (!profiles().length) {
        return { profile: null, problem: 'No connection is saved yet. Save one under "API Connections", as a connection profile, and choose it here.' };
    }
    const profile = profiles().find(({ id }) => id === chosen(NAME)) ?? null;
    return { profile, problem: profile ? null : 'Choose the connection that is asked.' };
}

/** @returns {{ id: string, name: string, api?: string, model?: string }[]} */
export function profiles() {
    try {
        return context().ConnectionManagerRequestService?.getSupportedProfiles() ?? [];
    } catch {
        return [];
    }
}

export function choose(id) {
    change(NAME, id || null);
}
