// What every page does: it keeps itself up to date.

import './live.js';
