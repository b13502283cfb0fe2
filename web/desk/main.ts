import "../shared/base.css";
import "./desk.css";
import { byId } from "../shared/dom.js";
import { loadMessages } from "../shared/messages.js";
import { Desk } from "./desk.js";
import { Phrases } from "./phrases.js";

async function start(): Promise<void> {
  await new Desk(byId("desk"), new Phrases(await loadMessages())).start();
}

void start();
