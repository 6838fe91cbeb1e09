/** Plays members: one audio element each, because browsers decode a remote track only for an element that plays it. */
export class Speakers {
  readonly #elements = new Map<string, HTMLAudioElement>();
  #muted = false;
  #deviceId = '';

  set(userId: string, stream: MediaStream | null): void {
    this.#elements.get(userId)?.remove();
    this.#elements.delete(userId);
    if (stream === null) return;
    const element = document.createElement('audio');
    element.autoplay = true;
    element.dataset.user = userId;
    element.srcObject = stream;
    element.muted = this.#muted;
    document.body.append(element);
    this.#elements.set(userId, element);
    this.#route(element);
  }

  mute(muted: boolean): void {
    this.#muted = muted;
    for (const element of this.#elements.values()) element.muted = muted;
  }

  /** Empty: the system's choice. */
  use(deviceId: string): void {
    this.#deviceId = deviceId;
    for (const element of this.#elements.values()) this.#route(element);
  }

  clear(): void {
    for (const userId of [...this.#elements.keys()]) this.set(userId, null);
  }

  #route(element: HTMLAudioElement): void {
    // A device that was pulled out: the element stays on the one it has.
    if ('setSinkId' in element) element.setSinkId(this.#deviceId).catch(() => {});
  }
}
