// Before anything is drawn: light or dark, if the reader has chosen.
{
    const chosen = localStorage.getItem('forklore-theme');
    if (chosen === 'light' || chosen === 'dark') {
        document.documentElement.dataset.theme = chosen;
    }
}
