// Things that are true of a ticket for a while: a welcome, a notice.

/** Values by key that lapse by themselves; times are running milliseconds. */
export class Lapsing<T> {
  readonly #all = new Map<string, { readonly value: T; readonly until: number }>();

  set(key: string, value: T, until: number): void {
    this.#all.set(key, { value, until });
  }

  /** The value that is still good. */
  get(key: string, now: number): T | undefined {
    const one = this.#all.get(key);
    return one !== undefined && now < one.until ? one.value : undefined;
  }

  /** Takes out a value that has lapsed; says whether there was one. */
  lapsed(key: string, now: number): boolean {
    const one = this.#all.get(key);
    return one !== undefined && now >= one.until && this.#all.delete(key);
  }

  delete(key: string): void {
    this.#all.delete(key);
  }
}
