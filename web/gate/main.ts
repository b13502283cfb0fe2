// The gate page: pairing, signing on and work, in that order, each handing on
// to the next.

import "../shared/base.css";
import "./gate.css";
import "./verdict.css";
import "./alone.css";
import { byId } from "../shared/dom.js";
import { loadMessages } from "../shared/messages.js";
import { registerService } from "../shared/trusted.js";
import { AloneStore } from "./alonestore.js";
import { Drawing } from "./drawing.js";
import { listen } from "./keys.js";
import { Phrases } from "./phrases.js";
import { Shift } from "./shift.js";
import { Store } from "./store.js";
import { watchUpdates } from "./update.js";

async function start(): Promise<void> {
  const [messages, store, aloneStore] = await Promise.all([loadMessages(), Store.open(), AloneStore.open()]);
  const shift = new Shift(store, aloneStore);
  const drawing = new Drawing(byId("gate"), new Phrases(messages), shift.acts());
  shift.draws(drawing);
  listen(shift);
  const service = registerService("/gate");
  await shift.begin();
  const registration = await service;
  if (registration !== undefined) {
    const take = watchUpdates(registration, () => shift.updateWaits(() => take()));
  }
}

void start();
