import { serve } from "../shared/offline.worker.js";

serve();
