import { once } from 'node:events';
import { createServer, connect as dial, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { AuthorizationTokenType } from '../../sdk/enums.ts';
import { type Call, type CallStatus, Client, createNodeAudio } from '../../sdk/node.ts';
import type { TestServer } from './server.ts';
import { shareAt } from './tone.ts';

const RATE_HZ = 48_000;
const CHANNELS = 2;
/** More than waits to be played. */
const UNDERWAY_MS = 250;
/** How much is listened to. */
const LISTEN_MS = 600;

/** Root mean square of samples of -1 to 1. */
export const loudness = (samples: Float64Array): number =>
  Math.sqrt(samples.reduce((sum, sample) => sum + sample * sample, 0) / Math.max(1, samples.length));

/** Sound that came, the left channel of it, newest last. */
export class Ear {
  #samples: number[] = [];

  hear(samples: Int16Array): void {
    for (let at = 0; at < samples.length; at += CHANNELS) this.#samples.push(samples[at]! / 32_768);
  }

  /** Audio that arrives from now on, for a while; not packets that are on their way already. */
  async listen(): Promise<Float64Array> {
    await sleep(UNDERWAY_MS);
    this.#samples = [];
    await sleep(LISTEN_MS);
    return Float64Array.from(this.#samples);
  }
}

/** A tone without end. */
class Microphone {
  readonly hz: number;
  #at = 0;

  constructor(hz: number) {
    this.hz = hz;
  }

  fill(samples: Int16Array): void {
    for (let at = 0; at < samples.length; at += CHANNELS) {
      samples.fill(8_000 * Math.sin((2 * Math.PI * this.hz * this.#at) / RATE_HZ), at, at + CHANNELS);
      this.#at += 1;
    }
  }
}

/** Proxy between players and the voice gateway: it can be cut. */
class Cable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #isCut = false;

  constructor(port: number) {
    this.#server = createServer((from) => {
      if (this.#isCut) {
        from.destroy();
        return;
      }
      const to = dial(port, '127.0.0.1');
      for (const socket of [from, to]) {
        this.#sockets.add(socket);
        socket.on('error', () => {});
        socket.on('close', () => {
          this.#sockets.delete(socket);
          from.destroy();
          to.destroy();
        });
      }
      from.pipe(to).pipe(from);
    });
  }

  async open(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    const address = this.#server.address();
    return `ws://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/voice/`;
  }

  cut(isCut: boolean): void {
    this.#isCut = isCut;
    if (isCut) for (const socket of this.#sockets) socket.destroy();
  }

  close(): void {
    this.cut(true);
    this.#server.close();
  }
}

/** Somebody at a game: their microphone sounds one tone. */
export class Player {
  readonly id: string;
  readonly client: Client;
  readonly cable: Cable;
  readonly microphone: Microphone;
  /** Everything that is played to them. */
  readonly speaker: Ear;
  readonly statuses: CallStatus[] = [];

  private constructor(given: Pick<Player, 'id' | 'client' | 'cable' | 'microphone' | 'speaker'>) {
    this.id = given.id;
    this.client = given.client;
    this.cable = given.cable;
    this.microphone = given.microphone;
    this.speaker = given.speaker;
  }

  /**
   * @param asDevice Whether the microphone is one for all calls, or the application fills frames of each.
   * @param token    In place of one that the game's bot asks for.
   */
  static async open(
    server: TestServer,
    name: string,
    hz: number,
    asDevice = false,
    token?: string,
  ): Promise<Player> {
    const cable = new Cable(server.port);
    const url = await cable.open();
    const speaker = new Ear();
    const microphone = new Microphone(hz);
    const client = new Client({
      apiBase: `${server.info.api}/v10`,
      createAudio: () =>
        createNodeAudio({
          play: (samples) => speaker.hear(samples),
          ...(asDevice && { capture: ({ samples }) => microphone.fill(samples) }),
        }),
      voiceUrl: () => url,
    });
    await client.updateToken(AuthorizationTokenType.Bearer, token ?? (await tokenOf(server, name)));
    await client.connect();
    return new Player({ id: client.getCurrentUserV2()!.id, client, cable, microphone, speaker });
  }

  start(lobbyId: string): Call {
    const call = this.client.startCall(lobbyId);
    call.setStatusChangedCallback((status) => void this.statuses.push(status));
    return call;
  }

  /** The same, with the application between call and devices. @param heard Receives everyone's audio. */
  startBetween(lobbyId: string, heard: (userId: string, samples: Int16Array) => void): Call {
    const call = this.client.startCallWithAudioCallbacks(
      lobbyId,
      ({ userId, samples }) => heard(userId, samples),
      ({ samples }) => this.microphone.fill(samples),
    );
    call.setStatusChangedCallback((status) => void this.statuses.push(status));
    return call;
  }

  /** The call they are in. */
  call(lobbyId: string): Call {
    return this.client.getCall(lobbyId)!;
  }

  /** How much of what is played is the other's tone, 0 to 1. */
  async hears(other: Player): Promise<number> {
    return shareAt(await this.speaker.listen(), other.microphone.hz);
  }

  async close(): Promise<void> {
    await this.client.endCalls();
    this.client.destroy();
    this.cable.close();
  }
}

/** A token of a player authenticated by the game's bot. */
export async function tokenOf(server: TestServer, name: string): Promise<string> {
  const body = { external_user_id: name };
  return (await server.bot().call<{ access_token: string }>('bot_partner_sdk_token', { body })).access_token;
}
