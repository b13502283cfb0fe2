// Keeps the screen on while a code is shown, and no longer than somebody is
// there: three minutes after the last touch the phone may sleep.

/** In milliseconds. */
export const awakeFor = 3 * 60_000;

export class Awake {
  #lock: WakeLockSentinel | undefined;
  #wanted = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** A code is on the screen, or none is. */
  want(wanted: boolean): void {
    if (wanted === this.#wanted) return;
    this.#wanted = wanted;
    if (wanted) this.touch();
    else this.#release();
  }

  /** Somebody touched the page or came back to it: browsers take the lock away when it is hidden. */
  touch(): void {
    if (!this.#wanted) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#release(), awakeFor);
    void this.#request();
  }

  async #request(): Promise<void> {
    if (this.#lock !== undefined && !this.#lock.released) return;
    const api = (navigator as { wakeLock?: WakeLock }).wakeLock;
    const lock = await api?.request("screen").catch(() => undefined);
    await this.#lock?.release().catch(() => undefined);
    this.#lock = lock;
    if (!this.#wanted) this.#release();
  }

  #release(): void {
    clearTimeout(this.#timer);
    void this.#lock?.release().catch(() => undefined);
    this.#lock = undefined;
  }
}
