// The claim code of a link. It stands in the fragment, which no browser sends,
// and is taken out of the address at once: no history, no bookmark and no
// shoulder keeps it. Until it is used it lives as long as the tab.

const name = "portillon claim code";
const mailed = "portillon digits mailed";
/** Digits are good for so long, in milliseconds. */
const digitsFor = 600_000;

/** The claim code of the address or of this tab, if any. `keep` leaves it in the address, for browsers that the guest should leave by "Open in browser". */
export function takeCode(keep: boolean): string | undefined {
  const code = location.hash.slice(1);
  if (code !== "") {
    remember(code);
    if (!keep) history.replaceState(null, "", location.pathname);
    return code;
  }
  try {
    return sessionStorage.getItem(name) ?? undefined;
  } catch {
    return undefined;
  }
}

function remember(code: string): void {
  try {
    sessionStorage.setItem(name, code);
  } catch {
    // Then it is lost with a reload, and the link must be opened again.
  }
}

/** The code has done its work. */
export function forgetCode(): void {
  try {
    sessionStorage.removeItem(name);
  } catch {
    // There was none.
  }
  if (location.hash !== "") history.replaceState(null, "", location.pathname);
}

/** Digits were mailed to this address (masked): whoever goes to read the mail may find the page loaded anew. */
export function awaitDigits(to: string): void {
  try {
    sessionStorage.setItem(mailed, JSON.stringify({ to, at: Date.now() }));
  } catch {
    // Then a page that was loaded anew has other digits mailed.
  }
}

/** The address to which digits were mailed within their time, if any. */
export function awaitedDigits(): string | undefined {
  try {
    const { to, at } = JSON.parse(sessionStorage.getItem(mailed) ?? "{}") as { to?: unknown; at?: unknown };
    return typeof to === "string" && typeof at === "number" && Math.abs(Date.now() - at) < digitsFor ? to : undefined;
  } catch {
    return undefined;
  }
}

export function forgetDigits(): void {
  try {
    sessionStorage.removeItem(mailed);
  } catch {
    // There were none.
  }
}

/** Whether a code is of the mail about a move and not of a claim link; see NotMeCode of the server. */
export function isNotMe(code: string): boolean {
  return code.startsWith("no.");
}

/** The link with this code, to be opened elsewhere. */
export function linkOf(code: string): string {
  return `${location.origin}${location.pathname}#${code}`;
}
