// The desk's inner addresses. They live in the fragment, since the server knows
// one page only; a one-time sign-in link has the fragment to itself.

export type Route =
  | { readonly kind: "events"; readonly past: boolean }
  | { readonly kind: "new_event" }
  | { readonly kind: "event"; readonly id: string }
  | { readonly kind: "issue"; readonly id: string }
  | { readonly kind: "report"; readonly id: string }
  | { readonly kind: "mails"; readonly id: string }
  | { readonly kind: "ticket"; readonly id: string }
  | { readonly kind: "venues" }
  | { readonly kind: "gates" }
  | { readonly kind: "devices" }
  | { readonly kind: "people" }
  | { readonly kind: "person"; readonly id: string }
  | { readonly kind: "tokens" }
  | { readonly kind: "account" };

const plain = ["venues", "gates", "devices", "people", "tokens", "account"] as const;

/** What an event has pages for. */
const rooms = ["issue", "report", "mails"] as const;

const id = "([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})";

/** Reads a fragment; whatever is no address of ours leads to the events. */
export function parse(fragment: string): Route {
  const path = fragment.replace(/^#?\/?/, "");
  const simple = plain.find((kind) => kind === path);
  if (simple !== undefined) return { kind: simple };
  if (path === "event/new") return { kind: "new_event" };
  const room = new RegExp(`^event/${id}/(.+)$`).exec(path);
  const inside = rooms.find((kind) => kind === room?.[2]);
  if (room?.[1] !== undefined && inside !== undefined) return { kind: inside, id: room[1] };
  const thing = new RegExp(`^(event|ticket|person)/${id}$`).exec(path);
  if (thing?.[2] !== undefined) return { kind: thing[1] as "event" | "ticket" | "person", id: thing[2] };
  return { kind: "events", past: path === "past" };
}

/** The fragment of a route, for links. */
export function format(route: Route): string {
  switch (route.kind) {
    case "events":
      return route.past ? "#/past" : "#/";
    case "new_event":
      return "#/event/new";
    case "event":
      return `#/event/${route.id}`;
    case "issue":
    case "report":
    case "mails":
      return `#/event/${route.id}/${route.kind}`;
    case "ticket":
    case "person":
      return `#/${route.kind}/${route.id}`;
    default:
      return `#/${route.kind}`;
  }
}

/** The secret of a one-time sign-in link, if the fragment is one. */
export function secretOf(fragment: string): string | undefined {
  return /^#s\.([\w-]+)$/.exec(fragment)?.[1];
}
