// Forklore's extension: what the plugin does for the files, this does for the page.
