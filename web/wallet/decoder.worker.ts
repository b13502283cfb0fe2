// Reads a gate's code where the browser's own detector does not: the same
// decoder as the gate's.

import "../gate/decoder.worker.js";
