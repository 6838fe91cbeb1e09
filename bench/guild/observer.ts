import { GuildClient } from './guildclient.ts';

/** A session's GUILD_CREATE. */
export interface Introduction {
  /** Size of GUILD_CREATE, uncompressed. */
  readonly bytes: number;
  readonly large: boolean;
  readonly memberCount: number;
  /** Members in it. */
  readonly members: number;
}

/** Result of a request for all members. */
export interface Chunked {
  readonly chunks: number;
  readonly bytes: number;
  readonly ms: number;
}

interface GuildCreate {
  readonly id: string;
  readonly large?: boolean;
  readonly member_count?: number;
  readonly members?: readonly unknown[];
}

const REQUEST_MEMBERS = 8;
const GUILD_CREATE = Buffer.from('"t":"GUILD_CREATE"');
const CHUNK = Buffer.from('"t":"GUILD_MEMBERS_CHUNK"');
const INDEX = Buffer.from('"chunk_index":');
const COUNT = Buffer.from('"chunk_count":');
const DIGITS_MAX = 8;

const numberAfter = (payload: Buffer, name: Buffer): number => {
  const at = payload.indexOf(name) + name.length;
  return Number.parseInt(payload.toString('latin1', at, at + DIGITS_MAX), 10);
};

/** A session that measures the GUILD_CREATE of a large guild, and requests all of its members. */
export class Observer {
  readonly introduced: Promise<Introduction>;
  readonly #client: GuildClient;
  readonly #guildId: string;
  #chunks = 0;
  #bytes = 0;
  #failed: (error: Error) => void = () => {};
  #chunked: ((result: Omit<Chunked, 'ms'>) => void) | null = null;

  constructor(url: URL, token: string, intents: number, guildId: string) {
    this.#guildId = guildId;
    let introduce: (introduction: Introduction) => void = () => {};
    this.introduced = new Promise((resolve, reject) => {
      introduce = resolve;
      this.#failed = reject;
    });
    this.#client = new GuildClient({
      ...{ url, token, intents },
      received: (payload) => {
        if (payload.includes(CHUNK)) this.#chunk(payload);
        else if (payload.includes(GUILD_CREATE)) introduce(introductionOf(payload));
      },
      closed: (error) => this.#failed(error),
    });
  }

  /** Requests every member (op 8, no query, no limit); resolves at the last chunk, rejects when the socket closes. */
  async chunkAll(): Promise<Chunked> {
    [this.#chunks, this.#bytes] = [0, 0];
    const startMs = performance.now();
    const result = await new Promise<Omit<Chunked, 'ms'>>((resolve, reject) => {
      [this.#chunked, this.#failed] = [resolve, reject];
      this.#client.send(REQUEST_MEMBERS, { guild_id: this.#guildId, query: '', limit: 0 });
    });
    return { ...result, ms: performance.now() - startMs };
  }

  close(): void {
    this.#client.close();
  }

  #chunk(payload: Buffer): void {
    this.#chunks += 1;
    this.#bytes += payload.length;
    if (numberAfter(payload, INDEX) + 1 === numberAfter(payload, COUNT))
      this.#chunked?.({ chunks: this.#chunks, bytes: this.#bytes });
  }
}

/** The `d` of a payload, of the type that the caller knows from its `t`. */
export const dataOf = <T>(payload: Buffer): T => (JSON.parse(payload.toString()) as { readonly d: T }).d;

function introductionOf(payload: Buffer): Introduction {
  const { large = false, member_count: memberCount = 0, members = [] } = dataOf<GuildCreate>(payload);
  return { bytes: payload.length, large, memberCount, members: members.length };
}
