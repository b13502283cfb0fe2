// The claim code of a link. It stands in the fragment, which no browser sends,
// and is taken out of the address at once: no history, no bookmark and no
// shoulder keeps it. Until it is used it lives as long as the tab.

const name = "portillon claim code";

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

/** The link with this code, to be opened elsewhere. */
export function linkOf(code: string): string {
  return `${location.origin}${location.pathname}#${code}`;
}
