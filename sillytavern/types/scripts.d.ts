// What is imported from SillyTavern's own modules below `/scripts/` by address: whichever of them it is, it has these as far as we know.

export function loadItemizedPrompts(chat: string): Promise<void>;
export function createBranch(message: number): Promise<string>;
export function createNewBookmark(message: number, options?: { forceName?: string }): Promise<string>;
export function checkWorldInfo(chat: string[], maxContext: number, isDryRun: boolean, scan?: object): Promise<any>;
export function openGroupById(id: string): Promise<boolean>;
export function deleteWorldInfo(name: string): Promise<boolean>;
export const world_names: string[];
