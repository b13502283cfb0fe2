import "../shared/base.css";
import "./desk.css";
import { loadMessages } from "../shared/messages.js";

async function start(): Promise<void> {
  const status = document.querySelector<HTMLElement>("[data-status]");
  if (status === null) return;
  const messages = await loadMessages();
  status.textContent = messages.say("desk.needs_link");
}

void start();
