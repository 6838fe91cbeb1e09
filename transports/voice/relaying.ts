import type { RelayedClient, VoiceRelay, VoiceRelays } from '../../actors/call/ports.ts';

/** Passes the frames of one client to the shard of its call, if that is another one. */
export class Relaying {
  readonly #relays: VoiceRelays;
  #relay: VoiceRelay | null = null;
  /** The last frame; valid during its call. */
  #frame: Uint8Array = new Uint8Array();

  constructor(relays: VoiceRelays) {
    this.#relays = relays;
  }

  /** @returns Whether the frame was passed on. */
  takes(frame: Uint8Array, binary: boolean): boolean {
    this.#frame = frame;
    this.#relay?.received(frame, binary);
    return this.#relay !== null;
  }

  /** Begins with the frame that is being handled, when another shard has the call. */
  begin(serverId: string, client: RelayedClient): 'relayed' | 'here' | 'unknown' {
    const relay = this.#relays.open(serverId, client);
    if (typeof relay === 'string') return relay;
    this.#relay = relay;
    relay.received(this.#frame, false);
    return 'relayed';
  }

  /** The connection has ended with this code. */
  closed(code: number): void {
    this.#relay?.closed(code);
    this.#relay = null;
  }
}
