// What Forklore uses of SillyTavern's page, as far as it has to be known for checking types: SillyTavern itself is not needed for that.
// Written down from what is used; what is `any` here is SillyTavern's own affair.

/** A chat's header, as far as it is looked at. */
interface ChatMetadata {
    integrity?: string;
    main_chat?: string;
    world_info?: string;
    [key: string]: any;
}

interface ChatMessage {
    mes: string;
    name?: string;
    is_user?: boolean;
    extra?: Record<string, any>;
    [key: string]: any;
}

interface TavernGroup {
    id: string;
    chat_id: string;
    chats: string[];
}

interface TavernPopup {
    show(): Promise<any>;
    completeAffirmative(): Promise<any>;
    completeCancelled(): Promise<any>;
}

interface TavernPopups {
    new(content: string | Element, type: number, value?: string, options?: object): TavernPopup;
    show: { input(title: string, text: string, value?: string): Promise<string | null | false> };
}

interface SlashCommandLike {
    callback(args: Record<string, any>, text: any): any;
}

interface TavernContext {
    chat: ChatMessage[];
    chatMetadata: ChatMetadata;
    characters: { avatar: string; chat?: string; name: string }[];
    /** A number as text, or undefined if none is chosen. */
    characterId: string | number | undefined;
    groups: TavernGroup[];
    groupId: string | null | undefined;
    name1: string;
    name2: string;
    onlineStatus: string;
    extensionSettings: Record<string, any>;
    eventSource: {
        on(event: string, listener: (...args: any[]) => any): void;
        emit(event: string, ...args: any[]): Promise<void>;
        makeFirst(event: string, listener: (...args: any[]) => any): void;
    };
    eventTypes: Record<string, string>;
    Popup: TavernPopups;
    POPUP_TYPE: { TEXT: number };
    SlashCommandParser: { commands: Record<string, SlashCommandLike>; addCommandObject(command: any): void };
    SlashCommand: { fromProps(props: object): any };
    SlashCommandArgument: { fromProps(props: object): any };
    SlashCommandNamedArgument: { fromProps(props: object): any };
    ARGUMENT_TYPE: { STRING: string; NUMBER: string; BOOLEAN: string };
    executeSlashCommandsWithOptions(text: string): Promise<{ pipe: string } | null>;
    /** Not in every version. */
    ConnectionManagerRequestService?: any;
    CONNECT_API_MAP?: Record<string, { selected?: string; source?: string; type?: string }>;
    extractMessageFromData(data: any, api?: string): any;
    getCurrentChatId(): string | undefined;
    getRequestHeaders(): Record<string, string>;
    getWorldInfoNames?(): string[];
    loadWorldInfo(name: string): Promise<any>;
    saveWorldInfo(name: string, book: any, immediately?: boolean): Promise<void>;
    updateWorldInfoList(): Promise<void>;
    reloadWorldInfoEditor(name: string, loadIfNotSelected?: boolean): void;
    saveChat(): Promise<void>;
    saveMetadata(): Promise<void>;
    saveMetadataDebounced(): void;
    saveSettingsDebounced(): void;
    reloadCurrentChat(): Promise<void>;
    renameChat(from: string, to: string): Promise<void>;
    selectCharacterById(index: number): Promise<void>;
    openCharacterChat(name: string): Promise<void>;
    openGroupChat(group: string, name: string): Promise<void>;
}

interface PromptStore {
    getItem(name: string): Promise<any>;
    setItem(name: string, value: any): Promise<any>;
    removeItem(name: string): Promise<void>;
}

declare var SillyTavern: {
    getContext(): TavernContext;
    libs?: { localforage?: { createInstance(options: { name: string }): PromptStore } };
};

/** A toast is an element in jQuery's clothes. */
interface Toast {
    [index: number]: HTMLElement;
    find(selector: string): { text(text: string): void };
}

type ShowToast = (text: string, title?: string, options?: object) => Toast | undefined;

declare var toastr: {
    info: ShowToast;
    success: ShowToast;
    warning: ShowToast;
    error: ShowToast;
    clear(toast?: Toast, options?: { force?: boolean }): void;
    remove(): void;
};

declare function $(element: Element): Toast;
declare var jQuery: { event?: { triggered?: string } } | undefined;

/** What the page itself says of Forklore, for other extensions. */
declare var Forklore: {
    version: string;
    create(wanted: object): Promise<any>;
    validate(chat?: string): Promise<any>;
    state(): any;
};

/** SillyTavern calls it before every request to a model. */
declare var forkloreHold: (chat: any[], size: number, abort: (immediately: boolean) => void, type: string) => Promise<void>;

/** SillyTavern's server: what it was started with. */
declare var COMMAND_LINE_ARGS: { disableCsrf?: boolean } | undefined;
