// What tests may take for granted. A function that is sent into a page looks for elements that the test has waited for: if one is another
// kind of element, or not there, the test fails, and says where.

interface ParentNode {
    querySelector(selector: string): any;
    querySelectorAll(selector: string): NodeListOf<any>;
}

interface Element {
    closest(selector: string): any;
}

interface Document {
    getElementById(id: string): any;
    readonly activeElement: any;
}

interface Event {
    readonly target: any;
}

/** Marks that tests leave on a page. */
interface Window {
    [mark: string]: any;
}

declare var told: string[];
declare var leaving: boolean | undefined;
declare var axe: any;

/** Of the extensions that tests bring along. */
declare var likeAutoRecap: any;
declare var copiesBooks: any;
