import "../shared/decoder.worker.js";
