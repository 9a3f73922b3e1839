// What happens while the page is open. `on('change', (data) => …)` hears events of the server (docs/formats/http.md, "Events").

let source = null;

export function on(name, hear) {
    source ??= new EventSource('api/events');
    source.addEventListener(name, (event) => hear(JSON.parse(event.data)));
}

addEventListener('pagehide', () => { source?.close(); source = null; });
