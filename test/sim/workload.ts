import type { GuildCommands } from '../../engine/guild/rules.ts';
import { isActive } from '../../engine/guild/threads.state.ts';
import type { Authority } from '../../engine/kernel/authority.ts';
import type { ChannelId, GuildId, UserId } from '../../protocol/ids.ts';
import { OP } from '../../protocol/opcodes.ts';
import type { SimClient } from './client.ts';
import type { Arguments, Command, Fate } from './command.ts';
import type { Database } from './database.ts';
import { DirectWork } from './direct.ts';
import { type Feature, SHARE } from './features.ts';
import type { SimGuild, SimUser } from './founding.ts';
import { GroupWork } from './groups.ts';
import { answer, interact } from './interacting.ts';
import type { Judge } from './judge.ts';
import { LinkWork } from './links.ts';
import { ListWork } from './lists.ts';
import { LobbyWork } from './lobbies.ts';
import type { LobbyTruth } from './lobbytruth.ts';
import { MatchWork } from './matches.ts';
import { MergeWork } from './merges.ts';
import type { MergeTruth } from './mergetruth.ts';
import { ReadWork } from './reads.ts';
import type { SimShard } from './shard.ts';
import { QUEUE_FULL } from './storage.ts';
import type { Truth } from './truth.ts';
import { VoiceWork } from './voicework.ts';
import type { ReceivedInteraction } from './wire.ts';
import type { World } from './world.ts';

interface WorkloadPorts {
  readonly world: World;
  readonly judge: Judge;
  readonly database: Database;
  /** A running shard; null while there is none. */
  readonly shard: () => SimShard | null;
  readonly users: readonly SimUser[];
  readonly guilds: readonly SimGuild[];
  readonly clients: readonly SimClient[];
  readonly features: readonly Feature[];
  readonly truth: Truth;
  readonly lobbyTruth: LobbyTruth;
  readonly mergeTruth: MergeTruth;
  /** Whether the run has no faults. */
  readonly isUntroubled: boolean;
}

const TRIES_MAX = 4;
/** Time-out of a caller without an answer. */
const TIMEOUT_MS = 20_000;

const WORK = {
  direct: DirectWork,
  lobbies: LobbyWork,
  groups: GroupWork,
  reads: ReadWork,
  matches: MatchWork,
  merges: MergeWork,
  links: LinkWork,
  lists: ListWork,
  voice: VoiceWork,
} as const;

/** The activity of users and bots: calls as REST makes them, and payloads on gateway connections. */
export class Workload {
  readonly commands: Command[] = [];
  readonly #ports: WorkloadPorts;
  #marks = 0;
  #over = false;
  #probing = false;
  /** Activities of users besides writing in guilds. */
  readonly #more: readonly { act(): void; probe(): void }[];

  constructor(ports: WorkloadPorts) {
    this.#ports = ports;
    const common = {
      ...ports,
      mark: (kind: string) => this.#mark(kind),
      enqueue: (asked: Arguments) => this.#enqueue(asked),
    };
    this.#more = ports.features.flatMap((feature) => (feature === 'slow' ? [] : [new WORK[feature](common)]));
  }

  start(everyMs: number): void {
    const { world } = this.#ports;
    world.after(world.between(0, everyMs * 2), () => {
      if (this.#over) return;
      this.#act();
      this.start(everyMs);
    });
  }

  stop(): void {
    this.#over = true;
  }

  /** Writes a message as the owner of each guild, to check whether everything is served. */
  probe(): void {
    this.#probing = true;
    for (const { id, ownerId } of this.#ports.guilds) this.#message(id, ownerId);
    for (const client of this.#ports.clients) client.present(client.status);
    for (const each of this.#more) each.probe();
  }

  /** Null in runs without groups. */
  get groups(): GroupWork | null {
    return this.#more.find((each) => each instanceof GroupWork) ?? null;
  }

  /** Null in runs without links. */
  get links(): LinkWork | null {
    return this.#more.find((each) => each instanceof LinkWork) ?? null;
  }

  /** Null in runs without voice. */
  get voice(): VoiceWork | null {
    return this.#more.find((each) => each instanceof VoiceWork) ?? null;
  }

  get open(): number {
    return this.commands.filter(({ fate }) => fate === 'open').length;
  }

  #act(): void {
    const { world, guilds, users } = this.#ports;
    if (this.#more.length > 0 && world.chance(SHARE)) {
      world.random.pick(this.#more).act();
      return;
    }
    const guild = world.random.pick(guilds);
    const user = world.random.pick(users);
    const dice = world.random.below(100);
    if (dice < 48) this.#message(guild.id, user.id);
    else if (dice < 53) this.#sight(guild);
    else if (dice < 55) this.#thread(guild, user);
    else if (dice < 60) this.#rename(guild);
    else if (dice < 65) this.#come(guild, user);
    else if (dice < 71) this.#role(guild, user);
    else if (dice < 76) this.#typing(guild, user);
    else if (dice < 83) this.#present();
    else if (dice < 89) this.#voice(guild);
    else this.#use(guild);
  }

  /** A user invokes a command, sometimes twice at once with one nonce, which is one use. */
  #use(guild: SimGuild): void {
    const { world, users } = this.#ports;
    const person = world.random.pick(users.filter(({ bot }) => !bot));
    interact(this.#interacting, guild, person, this.#mark('i'), world.chance(0.3) ? 2 : 1);
  }

  /** A bot answers an interaction that it has received, sometimes twice. */
  heard(interaction: ReceivedInteraction): void {
    const { world } = this.#ports;
    for (let left = world.chance(0.3) ? 2 : 1; left > 0; left -= 1)
      world.after(world.between(1, 30), () => answer(this.#interacting, interaction));
  }

  get #interacting() {
    const { world, database, clients } = this.#ports;
    const call = (asked: Arguments) => this.#enqueue(asked);
    return { world, database, clients, call };
  }

  #message(guildId: GuildId, userId: UserId): void {
    const channelId = (this.#probing ? null : this.#someThread(guildId)) ?? this.#channel(guildId, 0);
    if (!channelId) return;
    const mark = this.#mark('m');
    const draft = { content: mark, nonce: mark, enforce_nonce: true };
    this.#call(
      guildId,
      userId,
      'createMessage',
      { channelId, draft, attachments: [], forward: null },
      mark,
      true,
    );
  }

  /** Sometimes a thread of the guild that is not archived. */
  #someThread(guildId: GuildId): ChannelId | null {
    const { world, database } = this.#ports;
    if (world.chance(0.7)) return null;
    const threads = [...(database.guilds.get(guildId)?.threads.values() ?? [])].filter(isActive);
    return threads.length === 0 ? null : world.random.pick(threads).thread.id;
  }

  /** Creates a public thread, or a private one, which only its creator and administrators can see. */
  #thread({ id }: SimGuild, { id: userId }: SimUser): void {
    const channelId = this.#channel(id, 0);
    if (!channelId) return;
    const draft = { name: this.#mark('t'), type: this.#ports.world.chance(0.5) ? 11 : 12 } as const;
    this.#call(id, userId, 'createThread', { channelId, draft }, draft.name, false);
  }

  #sight({ id, ownerId }: SimGuild): void {
    const { world, users } = this.#ports;
    const channelId = this.#channel(id, 0);
    if (!channelId) return;
    const whom = world.chance(0.5) ? id : world.random.pick(users).id;
    const bits = world.chance(0.5) ? { allow: '1024', deny: '0' } : { allow: '0', deny: '1024' };
    const overwrite = { id: whom, type: whom === id ? 0 : 1, ...bits };
    this.#call(id, ownerId, 'setOverwrite', { channelId, overwrite }, null, true);
  }

  #rename({ id, ownerId }: SimGuild): void {
    const channelId = this.#channel(id, 0);
    const mark = this.#mark('n');
    if (this.#ports.world.chance(0.5) || !channelId)
      this.#call(id, ownerId, 'updateGuild', { draft: { name: mark } }, mark, false);
    else this.#call(id, ownerId, 'updateChannel', { channelId, draft: { name: mark } }, mark, false);
  }

  #come({ id, ownerId }: SimGuild, { id: userId }: SimUser): void {
    if (userId === ownerId) return;
    const isMember = this.#ports.database.memberships.get(userId)?.has(id);
    if (isMember) this.#call(id, ownerId, 'kickMember', { userId }, null, true);
    else this.#call(id, null, 'addMember', { userId }, null, true);
  }

  #role({ id, ownerId }: SimGuild, { id: userId }: SimUser): void {
    const { world, database } = this.#ports;
    const roles = [...(database.guilds.get(id)?.roles.keys() ?? [])].filter(
      (roleId) => roleId !== (id as string),
    );
    if (roles.length < 2) {
      const draft = { name: this.#mark('r'), permissions: '0' };
      this.#call(id, ownerId, 'createRole', { draft }, draft.name, false);
      return;
    }
    const roleId = world.random.pick(roles);
    const type = world.chance(0.5) ? 'addMemberRole' : 'removeMemberRole';
    this.#call(id, ownerId, type, { userId, roleId }, null, true);
  }

  #typing({ id }: SimGuild, user: SimUser): void {
    const channelId = this.#channel(id, 0);
    if (channelId) this.#call(id, user.id, 'startTyping', { channelId }, null, false);
  }

  #present(): void {
    const { world, clients } = this.#ports;
    const status = world.random.pick(['online', 'idle', 'dnd'] as const);
    world.random.pick(clients).present(status);
  }

  #voice({ id }: SimGuild): void {
    const { world, clients } = this.#ports;
    const channelId = world.chance(0.6) ? this.#channel(id, 2) : null;
    const d = { guild_id: id, channel_id: channelId, self_mute: false, self_deaf: false };
    world.random.pick(clients).say(OP.VOICE_STATE_UPDATE, d);
  }

  #channel(guildId: GuildId, type: number): ChannelId | null {
    const { world, database } = this.#ports;
    const channels = [...(database.guilds.get(guildId)?.channels.values() ?? [])];
    const fitting = channels.filter((channel) => (channel.type as number) === type);
    return fitting.length === 0 ? null : world.random.pick(fitting).id;
  }

  #mark(kind: string): string {
    this.#marks += 1;
    return `${kind}${this.#marks}`;
  }

  /** @param userId Null: the server itself. */
  #call<K extends keyof GuildCommands>(
    guildId: GuildId,
    userId: UserId | null,
    type: K,
    input: GuildCommands[K]['input'],
    mark: string | null,
    again: boolean,
  ): void {
    const by = {
      userId: (userId ?? '0') as UserId,
      bot: false,
      applicationId: null,
      applicationFlags: 0,
      reason: null,
    };
    const { channelId } = input as { channelId?: ChannelId };
    const authority: Authority = {
      by: userId === null ? { ...by, system: true } : by,
      requires: type === 'createMessage' ? 3072n : 0n,
      ...(channelId !== undefined && { channelId }),
    };
    const what = `${String(type)} ${mark ?? ''} by ${userId ?? 'system'} in ${guildId}`;
    const run = (shard: SimShard) => shard.server.guilds.call(guildId, type, input, authority);
    this.#enqueue({ what, mark, again, run });
  }

  #enqueue(asked: Arguments): void {
    const command: Command = { ...asked, fate: 'open', tries: 0, probe: this.#probing };
    this.commands.push(command);
    this.#send(command);
  }

  #send(command: Command): void {
    const { world } = this.#ports;
    const shard = this.#ports.shard();
    command.tries += 1;
    const attempt = command.tries;
    const settle = (fate: Fate, why: string, value: unknown = null) => {
      if (command.fate !== 'open' || command.tries !== attempt) return;
      // With a full queue nothing was written, so any command may be repeated.
      const mayRepeat = command.again || why.endsWith(QUEUE_FULL);
      const repeated = fate === 'unknown' && mayRepeat && command.tries < TRIES_MAX;
      world.note(`${command.what}: ${fate} ${why}${repeated ? ', tries again' : ''}`);
      if (repeated) world.after(world.between(300, 1_500), () => this.#send(command));
      else {
        command.fate = fate;
        command.settled?.(fate, value);
      }
    };
    if (!shard) {
      settle('unknown', 'no shard');
      return;
    }
    world.after(world.between(1, 10), () => {
      const answer = (fate: Fate, why: string, value: unknown = null): void => {
        world.after(world.between(1, 10), () => settle(fate, why, value));
      };
      if (!shard.host.alive) return answer('unknown', 'no connection');
      world.after(
        0,
        () =>
          command.run(shard).then(
            (reply) =>
              shard.host.alive &&
              (reply.ok
                ? answer('done', '', reply.value)
                : answer('refused', String(reply.refusal.code), reply.refusal)),
            (fault: Error) => shard.host.alive && answer('unknown', `${fault.name}: ${fault.message}`),
          ),
        shard.host,
      );
      shard.onKilled(() => answer('unknown', 'the connection broke'));
    });
    world.after(TIMEOUT_MS, () => settle('unknown', 'no answer'));
  }
}
