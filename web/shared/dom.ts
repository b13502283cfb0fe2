// The few lines between typed state and the document. There is no innerHTML
// anywhere: text stays text, whatever a holder is called.

type Child = Node | string | false | null | undefined;

type Attributes = Readonly<Record<string, string | number | boolean | undefined | ((event: never) => void)>>;

/**
 * Makes an element. `onclick` and the like take a function, `true` sets an
 * attribute without a value, `false` and `undefined` leave it out.
 */
export function h<K extends keyof HTMLElementTagNameMap>(tag: K, attributes: Attributes = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name.replace(/^on/, ""), value as unknown as EventListener);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== undefined) element.setAttribute(name, String(value));
  }
  element.append(...children.filter((child): child is Node | string => child !== false && child !== null && child !== undefined));
  return element;
}

/** The element with this id of the page's own HTML; its absence is a fault of ours. */
export function byId<T extends HTMLElement = HTMLElement>(id: string): T {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`this page has no #${id}`);
  return element as T;
}
