// Takes the token out of the address, where it stands behind `#` and only this browser sees it, and gets the cookie for it.

const token = new URLSearchParams(location.hash.slice(1)).get('token');

if (token) {
    // It must not stay in the history of the browser.
    history.replaceState(null, '', location.pathname + location.search);
    const response = await fetch('api/session', { method: 'POST', headers: { Authorization: `Bearer ${token}` } }).catch(() => null);
    if (response?.ok) {
        location.reload();
    } else {
        const lead = document.querySelector('#enter .lead');
        lead.textContent = response ? 'This token opens nothing here any more. Forklore was started anew since.' : 'Forklore does not answer.';
        lead.setAttribute('role', 'alert');
    }
}
