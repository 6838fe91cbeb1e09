import type { Recipient } from '../../engine/fanout/body.ts';
import type { Guild } from '../../engine/guild/guild.ts';
import { type GuildCommands, guildRules } from '../../engine/guild/rules.ts';
import type { Reply } from '../../engine/kernel/aggregate.ts';
import type { Authority } from '../../engine/kernel/authority.ts';
import type { Needs } from '../../engine/kernel/needs.ts';
import { memberListIn } from '../../engine/session/memberlists.ts';
import { type GuildId, isGuildId } from '../../protocol/ids.ts';
import type { MemberListRequest } from '../../protocol/link.sessions.ts';
import type { Refusal } from '../../protocol/refusal.ts';
import type { Subscribed } from '../placement/ports.ts';
import type { Routing, SendCommand } from '../placement/routing.ts';
import type { Registry } from '../runtime/registry.ts';
import type { GuildShell } from './guild.shell.ts';
import { type Entering, type Subscribing, unsubscribe } from './guild.subscription.ts';

/** The guilds as other rooms use them: commands reach guilds of all shards, other methods those of this shard. */
export class Guilds {
  readonly #registry: Registry<Guild, GuildShell>;
  /** Sends a command to the guild; resolves when its facts are durable, rejects on a fault. */
  readonly call: SendCommand<GuildId, GuildCommands>;

  constructor(registry: Registry<Guild, GuildShell>, routing: Pick<Routing, 'command'>) {
    this.#registry = registry;
    this.call = routing.command<GuildId, GuildCommands>(
      'guild.command',
      guildRules,
      isGuildId,
      (guildId, type, input, authority, commandKey) =>
        this.callHere(guildId, type, input, authority, commandKey),
    );
  }

  /** As `call`, on this shard alone: rejects when another shard owns the guild. */
  callHere<K extends keyof GuildCommands>(
    guildId: GuildId,
    type: K,
    input: GuildCommands[K]['input'],
    authority: Authority,
    commandKey: string | null = null,
  ): Promise<Reply<GuildCommands[K]['value']>> {
    const { background = false } = guildRules.commands[type];
    return new Promise((resolve, reject) => {
      this.#registry.workWith(
        guildId,
        (shell) => shell.command(type, input, authority, resolve, reject, commandKey),
        { reads: true, background },
      );
    });
  }

  /** Subscribes a session; resolves after its GUILD_CREATE, with false when the user is not a member or the session has ended. */
  async subscribe(guildId: GuildId, subscriber: Subscribing, largeThreshold: number): Promise<boolean> {
    const memberList = memberListIn(subscriber, guildId);
    const [outcome] = await this.enter(guildId, [{ subscriber, largeThreshold, after: null, memberList }]);
    return outcome === 'member';
  }

  /** Subscribes sessions and delivers the guild or the missed dispatches to each; then resolves, in their order. */
  enter(guildId: GuildId, entering: readonly Entering[]): Promise<readonly Subscribed[]> {
    return new Promise((resolve, reject) => {
      this.#registry.workWith(guildId, (shell) => shell.subscribe(entering, resolve, reject), {
        background: true,
      });
    });
  }

  isResident(guildId: GuildId): boolean {
    return this.#registry.peek(guildId) !== undefined;
  }

  /** The subscribed session of this id on this shard; null without one, or when the guild is not resident. */
  subscriber(guildId: GuildId, sessionId: string): Recipient | null {
    return this.#registry.peek(guildId)?.audiences.sessions.get(sessionId) ?? null;
  }

  /** Unsubscribes a session from a resident guild; other guilds have no subscribers. */
  unsubscribe(guildId: GuildId, subscriber: Recipient): void {
    if (!this.#registry.peek(guildId)) return;
    this.#registry.workWith(guildId, (shell) => ({
      run: () => unsubscribe(shell.audiences, subscriber),
      refuse: () => undefined,
      fault: () => undefined,
    }));
  }

  /** Shows a session rows of a resident guild's member lists; in other guilds no session is subscribed. */
  showMembers(session: Recipient, request: MemberListRequest): void {
    if (this.#registry.peek(request.guildId))
      this.#registry.workWith(request.guildId, (shell) => shell.showMembers(session, request));
  }

  /** Reads from the guild's state on its turn, after `needs` are loaded. */
  look<T>(
    guildId: GuildId,
    read: (guild: Guild) => T,
    needs?: (guild: Guild) => Needs,
  ): Promise<T | { readonly refusal: Refusal }> {
    return new Promise((resolve, reject) => {
      this.#registry.work(guildId, {
        ...(needs && { needs }),
        run: (guild) => resolve(read(guild)),
        refuse: (refusal) => resolve({ refusal }),
        fault: reject,
      });
    });
  }
}
