// What every page does: it keeps itself up to date, and its forms work without leaving it.

import './live.js';
import './act.js';
import './menu.js';
import './find.js';
import './theme-switch.js';
