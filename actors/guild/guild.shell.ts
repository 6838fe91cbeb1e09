import { recipients } from '../../engine/fanout/audience.ts';
import { DispatchBody, type Subscriber } from '../../engine/fanout/body.ts';
import { decideGuild } from '../../engine/guild/decide.ts';
import type { EphemeralFacts, GuildFact } from '../../engine/guild/facts.ts';
import type { Guild } from '../../engine/guild/guild.ts';
import { type GuildCommands, guildRules } from '../../engine/guild/index.ts';
import type { Authority } from '../../engine/authority.ts';
import type { Reply } from '../../engine/outcome.ts';
import type { GuildId } from '../../protocol/ids.ts';
import { refusal } from '../../protocol/refusal.ts';
import type { GuildSnapshot, GuildStore, Writer } from '../../storage/ports.ts';
import type { Clock } from '../runtime/clock.ts';
import { OrderedCommits } from '../runtime/ordered.ts';
import type { RegisteredShell, Send } from '../runtime/registry.ts';
import type { Work } from '../runtime/resident.machine.ts';
import { Window } from '../runtime/window.ts';
import { GuildReader, type GuildReaderPorts } from './guild.reader.ts';
import { subscription } from './guild.subscription.ts';

export interface GuildPorts extends GuildReaderPorts {
  readonly guilds: GuildReaderPorts['guilds'] & Pick<GuildStore, 'load'>;
  readonly writer: Writer;
  readonly clock: Clock;
  readonly nextId: () => string;
  readonly memberWindowMax: number;
  readonly messageWindowMax: number;
  /** Sees every dispatch once, whoever receives it; null while nobody listens. */
  readonly tap: ((t: string, d: object, guildId: GuildId) => void) | null;
  /** The guild fell over with these subscribed: they lose it and get it back. */
  readonly lost: (guildId: GuildId, subscribers: readonly Subscriber[]) => void;
}

/** A member joined or left through a fact that is now durable; sessions follow. */
export interface GuildListener {
  memberJoined(guildId: GuildId, userId: string): void;
  memberLeft(guildId: GuildId, userId: string): void;
}

const EPHEMERAL: Readonly<Record<keyof EphemeralFacts, true>> = {
  typingStarted: true,
  presenceChanged: true,
  voiceStateChanged: true,
};

/** Bodies of one command, with who gets them as of the moment it was applied. */
interface Outgoing {
  readonly t: string;
  readonly d: object;
  readonly to: readonly Subscriber[];
}

/**
 * Runs the effects of one guild: reads into its windows, group commit, fan-out. Commands are decided and applied
 * in the order they arrive (one that must read first waits without holding up the rest); replies and dispatches
 * leave in the order of their commits.
 */
export class GuildShell implements RegisteredShell<Guild> {
  readonly refusals = { missing: refusal('UNKNOWN_GUILD'), full: refusal('API_OVERLOADED') };
  readonly #id: GuildId;
  readonly #ports: GuildPorts;
  readonly #listener: GuildListener;
  readonly #send: Send<Guild>;
  readonly #commits: OrderedCommits;
  readonly #open = new Set<Work<Guild>>();
  #guild: Guild | null = null;
  #reader: GuildReader | null = null;
  #over = false;

  constructor(id: string, ports: GuildPorts, listener: GuildListener, send: Send<Guild>) {
    this.#id = id as GuildId;
    this.#ports = ports;
    this.#listener = listener;
    this.#send = send;
    this.#commits = new OrderedCommits(ports.writer, id);
  }

  get busy(): boolean {
    const guild = this.#guild;
    return this.#open.size > 0 || this.#commits.underWay > 0 || !guild || guild.subscribers.size > 0;
  }

  load(): void {
    this.#ports.guilds.load(this.#id).then(
      (snapshot) =>
        this.#send(snapshot ? { type: 'loaded', state: guildOf(snapshot) } : { type: 'missing' }),
      (fault) => this.#send({ type: 'loadFailed', fault: asError(fault) }),
    );
  }

  adopt(guild: Guild): void {
    this.#guild = guild;
    this.#reader = new GuildReader(guild, this.#ports);
  }

  run(guild: Guild, work: Work<Guild>): void {
    const reading = work.needs && this.#reader?.read(work.needs(guild));
    if (!reading) {
      work.run(guild);
      return;
    }
    this.#open.add(work);
    reading.then(
      () => {
        if (!this.#open.delete(work)) return;
        this.#guarded(() => work.run(guild));
        this.#trim(guild);
      },
      (fault) => {
        if (this.#open.delete(work)) work.fault(asError(fault));
      },
    );
  }

  release(): void {
    this.#end(new Error('The guild was released.'));
  }

  crashed(error: Error): void {
    this.#end(error);
  }

  /** Work that runs a command through the guild's rules and answers when it is durable. */
  command<K extends keyof GuildCommands>(
    type: K,
    input: GuildCommands[K]['input'],
    authority: Authority,
    answer: (reply: Reply<GuildCommands[K]['value']>) => void,
    fault: (error: Error) => void,
  ): Work<Guild> {
    const work: Work<Guild> = {
      needs: (guild) => {
        const needs = guildRules.needs[type](input, guild);
        return { ...needs, members: [authority.by.userId, ...(needs.members ?? [])] };
      },
      run: (guild) => {
        const env = { nowMs: this.#ports.clock.now(), nextId: this.#ports.nextId };
        const outcome = decideGuild(guild, type, input, authority, env);
        if (!outcome.ok) answer(outcome);
        else this.#accept(guild, work, outcome.facts, env.nowMs, () => answer({ ok: true, value: outcome.value }));
      },
      refuse: (refusal) => answer({ ok: false, refusal }),
      fault,
    };
    return work;
  }

  /** Work that subscribes a session and gives it the guild. */
  subscribe(subscriber: Subscriber, largeThreshold: number, done: (member: boolean) => void): Work<Guild> {
    return subscription(subscriber, largeThreshold, {
      nowMs: () => this.#ports.clock.now(),
      body: (t, d) => this.#body(t, d),
      after: (run) => this.#commits.after(run),
      done,
    });
  }

  #accept(
    guild: Guild,
    work: Work<Guild>,
    facts: readonly GuildFact[],
    nowMs: number,
    answer: () => void,
  ): void {
    if (facts.length === 0) {
      answer();
      return;
    }
    this.#number(guild);
    const outgoing: Outgoing[] = [];
    const durable: GuildFact[] = [];
    for (const fact of facts) {
      applyFact(guild, fact);
      for (const dispatch of dispatchesOf(guild, fact))
        for (const { d, to } of recipients(guild, dispatch, nowMs)) outgoing.push({ t: dispatch.t, d, to });
      if (!(fact.type in EPHEMERAL)) durable.push(fact);
    }
    const visible = () => {
      this.#fanOut(outgoing);
      answer();
      this.#follow(durable);
    };
    if (durable.length === 0) {
      this.#commits.after(visible);
      return;
    }
    this.#open.add(work);
    this.#commits.commit(durable, (fault) => {
      if (!this.#open.delete(work)) return;
      if (fault) {
        work.fault(fault);
        this.#send({ type: 'commitFailed', fault });
        return;
      }
      this.#guarded(visible);
      this.#trim(guild);
    });
  }

  /** The hot path: one body per dispatch, one call per recipient. */
  #fanOut(outgoing: readonly Outgoing[]): void {
    const { tap } = this.#ports;
    for (const { t, d, to } of outgoing) {
      if (tap) tap(t, d, this.#id);
      if (to.length === 0) continue;
      const body = this.#body(t, d);
      for (let index = 0; index < to.length; index += 1) (to[index] as Subscriber).deliver(body);
    }
  }

  #body(t: string, d: object): DispatchBody {
    return new DispatchBody(t, d, this.#ports.clock.monotonic());
  }

  /** Membership is what ties sessions to guilds, so it is followed once it is durable. */
  #follow(facts: readonly GuildFact[]): void {
    for (const fact of facts) {
      if (fact.type === 'memberAdded') this.#listener.memberJoined(this.#id, fact.member.user.id);
      else if (fact.type === 'memberRemoved') this.#listener.memberLeft(this.#id, fact.user.id);
      else if (fact.type === 'guildDeleted')
        for (const userId of fact.memberIds) this.#listener.memberLeft(this.#id, userId);
    }
  }

  #number(guild: Guild): void {
    const next = this.#commits.started + 1;
    for (const window of windowsOf(guild)) window.nextCommit = next;
  }

  #trim(guild: Guild): void {
    const { memberWindowMax, messageWindowMax } = this.#ports;
    const { settled } = this.#commits;
    const { sessionCounts } = guild;
    const [members, messages, ...rest] = windowsOf(guild);
    members.trim(memberWindowMax, settled, sessionCounts.size, (key) => sessionCounts.has(key as never));
    messages.trim(messageWindowMax, settled, 0, () => false);
    for (const window of rest) window.trim(memberWindowMax, settled, 0, () => false);
  }

  /** Runs what happens outside the actor's turn; a bug there ends the actor as one inside would. */
  #guarded(run: () => void): void {
    if (this.#over) return;
    try {
      run();
    } catch (error) {
      this.#send({ type: 'work', work: rethrow(asError(error)) });
    }
  }

  #end(error: Error): void {
    if (this.#over) return;
    this.#over = true;
    const open = [...this.#open];
    this.#open.clear();
    for (const work of open) work.fault(error);
    const subscribers = [...(this.#guild?.subscribers.values() ?? [])];
    if (subscribers.length > 0) this.#ports.lost(this.#id, subscribers);
  }
}

function applyFact<T extends GuildFact['type']>(guild: Guild, fact: Extract<GuildFact, { type: T }>): void {
  (guildRules.apply[fact.type] as (guild: Guild, fact: GuildFact) => void)(guild, fact);
}

function dispatchesOf(guild: Guild, fact: GuildFact) {
  const table = guildRules.dispatches[fact.type] as (
    guild: Guild,
    fact: GuildFact,
  ) => ReturnType<(typeof guildRules.dispatches)['guildUpdated']>;
  return table(guild, fact);
}

/** The first two are members and messages; all of them are `Window`s because `guildOf` made them so. */
function windowsOf(guild: Guild): [Window<string, unknown>, Window<string, unknown>, ...Window<string, unknown>[]] {
  return [guild.members, guild.messages, guild.bans, guild.invites, guild.users] as never;
}

function guildOf(snapshot: GuildSnapshot): Guild {
  return {
    id: snapshot.info.id,
    info: snapshot.info,
    roles: new Map(snapshot.roles.map((role) => [role.id as never, role])),
    channels: new Map(snapshot.channels.map((channel) => [channel.id, channel])),
    members: new Window(),
    memberCount: snapshot.memberCount,
    messages: new Window(),
    bans: new Window(),
    invites: new Window(),
    users: new Window(),
    presences: new Map(),
    voiceStates: new Map(),
    subscribers: new Map(),
    sessionCounts: new Map(),
    audiences: new Map(),
    nonces: new Map(),
    slowmode: new Map(),
  };
}

function rethrow(error: Error): Work<Guild> {
  return {
    run: () => {
      throw error;
    },
    refuse: () => undefined,
    fault: () => undefined,
  };
}

const asError = (cause: unknown): Error => (cause instanceof Error ? cause : new Error(String(cause)));
