import { OP } from '../../protocol/opcodes.ts';
import { type GuildView, type GuildViews, guildsAfter } from '../guilds/guilds.ts';
import { type PrivateChannelView, type PrivateChannelViews, privatesAfter } from '../guilds/privates.ts';
import { type Disposer, Signal } from '../signal.ts';
import type { Json } from '../voice/wire.ts';
import { type Core, checkId } from './core.ts';

/** Guilds and private channels as a person's own client shows them. Empty unless the option `usesApplications` is set. */
export class Guilds {
  readonly #core: Core;
  readonly #updated: Signal<[]>;
  #guilds: GuildViews = new Map();
  #privates: PrivateChannelViews = new Map();

  constructor(core: Core) {
    this.#core = core;
    this.#updated = new Signal((error) =>
      core.log.error(`A callback of the application threw: ${String(error)}`),
    );
    if (core.usesApplications) core.dispatched.add((name, d) => this.#apply(name, d));
  }

  /** The guilds of the current user by id, with channels, threads and known members. Changes yield new objects. */
  getGuilds(): ReadonlyMap<string, GuildView> {
    return this.#guilds;
  }

  /** Private channels and groups by id, in the order in which they became known. */
  getPrivateChannels(): ReadonlyMap<string, PrivateChannelView> {
    return this.#privates;
  }

  /** Called after each change of what `getGuilds` and `getPrivateChannels` return. */
  setGuildsUpdatedCallback(callback: () => void): Disposer {
    return this.#updated.set(callback);
  }

  /** Asks for up to 100 members of a guild, with their presences; they arrive in `getGuilds`. @throws ClientError */
  requestGuildMembers(guildId: string, query = '', limit = 100): void {
    const d = { guild_id: checkId('guildId', guildId), query, limit, presences: true };
    this.#core.session.send(OP.REQUEST_GUILD_MEMBERS, d);
  }

  /** Receives every dispatch of the gateway as it came, READY and RESUMED included. */
  addDispatchCallback(callback: (name: string, d: Readonly<Record<string, unknown>>) => void): Disposer {
    return this.#core.dispatched.add(callback);
  }

  /** Sends a payload to the gateway, such as op 4. @throws ClientError unless the status is Ready. */
  sendToGateway(op: number, d: unknown): void {
    this.#core.session.send(op, d);
  }

  /** Id of the gateway's session; null without one. */
  getSessionId(): string | null {
    return this.#core.session.sessionId;
  }

  #apply(name: string, d: Json): void {
    const guilds = guildsAfter(this.#guilds, name, d);
    const privates = privatesAfter(this.#privates, name, d);
    if (guilds === this.#guilds && privates === this.#privates) return;
    this.#guilds = guilds;
    this.#privates = privates;
    this.#updated.emit();
  }
}
