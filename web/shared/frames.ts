// What the page and its decoder say to each other.

/** One frame to read; `id` comes back with the answer. */
export interface Frame {
  readonly id: number;
  readonly image: ImageData;
}

/** The texts of the codes found in a frame, in no particular order, or why none could be looked for. */
export interface Found {
  readonly id: number;
  readonly texts: readonly string[];
  readonly failed?: string;
}
