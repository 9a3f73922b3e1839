// Where extensions keep the name of a chat's lorebook in its metadata, besides SillyTavern itself. The engine knows it from its adapters, and a
// test holds this list to them; it stands here for the forks that are saved while no engine answers.
export const bindings = [['auto_lorebooks', 'lorebookName'], ['STMemoryBooks', 'manualLorebook']];
