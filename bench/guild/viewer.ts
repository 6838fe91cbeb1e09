import type { ListOp, MemberListUpdate } from '../../engine/guild/memberlist.changes.ts';
import { nowNs } from '../wire/pace.ts';
import { GuildClient } from './guildclient.ts';
import { applyOps } from './heldrows.ts';
import { dataOf } from './observer.ts';

const OP = { presence: 3, subscribe: 14 } as const;
const GUILDS = 1;
const GUILD_CREATE = Buffer.from('"t":"GUILD_CREATE"');
const LIST_UPDATE = Buffer.from('"t":"GUILD_MEMBER_LIST_UPDATE"');
/** The rows that a client shows when it opens a channel. */
const FIRST_ROWS = [0, 99] as const;

/** A person who watches the first rows of a channel's member list, and holds them as a client does. */
export class Viewer {
  /** Resolves when it has received the guild, and rejects when its connection ends. */
  readonly introduced: Promise<void>;
  /** Updates since the rows that it subscribed to, and the bytes of their payloads. */
  updates = 0;
  bytes = 0;
  lastUpdateNs = 0;
  readonly #client: GuildClient;
  readonly #guildId: string;
  readonly #held: unknown[] = [];
  #synced: ((ns: number) => void) | null = null;
  #failed: (error: Error) => void = () => {};

  constructor(url: URL, token: string, guildId: string) {
    this.#guildId = guildId;
    let introduce: () => void = () => {};
    this.introduced = new Promise((resolve, reject) => {
      [introduce, this.#failed] = [resolve, reject];
    });
    this.#client = new GuildClient({
      ...{ url, token, intents: GUILDS },
      received: (payload) => {
        if (payload.includes(LIST_UPDATE)) this.#updated(payload);
        else if (payload.includes(GUILD_CREATE)) introduce();
      },
      closed: (error) => this.#failed(error),
    });
  }

  /** Subscribes to the first rows of the channel's list. Resolves with the nanoseconds until they came; rejects when the socket closes. */
  async subscribe(channelId: string): Promise<number> {
    const startNs = nowNs();
    const endNs = await new Promise<number>((resolve, reject) => {
      [this.#synced, this.#failed] = [resolve, reject];
      this.#client.send(OP.subscribe, { guild_id: this.#guildId, channels: { [channelId]: [FIRST_ROWS] } });
    });
    [this.updates, this.bytes] = [0, 0];
    return endNs - startNs;
  }

  /** Goes online, or offline for everyone else. */
  show(status: 'online' | 'invisible'): void {
    this.#client.send(OP.presence, { since: null, activities: [], status, afk: false });
  }

  /** The rows that it holds, as text that can be compared. */
  rows(): string {
    return JSON.stringify(this.#held.slice(FIRST_ROWS[0], FIRST_ROWS[1] + 1));
  }

  close(): void {
    this.#failed = () => {};
    this.#client.close();
  }

  #updated(payload: Buffer): void {
    const { ops } = dataOf<MemberListUpdate>(payload);
    this.updates += 1;
    this.bytes += payload.length;
    this.lastUpdateNs = nowNs();
    applyOps(this.#held, ops);
    // Rows behind those that it has subscribed to are not kept up to date.
    this.#held.length = Math.min(this.#held.length, FIRST_ROWS[1] + 1);
    if (ops.some(isSync)) this.#synced?.(this.lastUpdateNs);
  }
}

const isSync = ({ op }: ListOp): boolean => op === 'SYNC';
