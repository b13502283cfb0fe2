// The wallet page: puts tickets onto this phone and shows them at the door.

import "../shared/base.css";
import "./wallet.css";
import "./ticket.css";
import { byId } from "../shared/dom.js";
import { loadMessages } from "../shared/messages.js";
import { Drawing } from "./drawing.js";
import { Store } from "./store.js";
import { Wallet } from "./wallet.js";
import { Words } from "./words.js";

async function start(): Promise<void> {
  const [messages, store] = await Promise.all([loadMessages(), Store.open().catch(() => undefined)]);
  const words = new Words(messages);
  const wallet = new Wallet(store, words);
  wallet.draws(new Drawing(byId("wallet"), words, wallet.acts()));
  await wallet.begin();
}

void start();
