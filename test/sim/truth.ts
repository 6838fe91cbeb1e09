import type { Guild, GuildChannel } from '../../engine/guild/guild.ts';
import type { Accepted, Database } from './database.ts';

const VIEW_CHANNEL = 1n << 10n;
const ADMINISTRATOR = 1n << 3n;
const PRIVATE_THREAD = 12;

/** A message as it was committed. */
export interface AcknowledgedFact {
  readonly id: string;
  readonly ownerId: string;
  readonly channelId: string;
  readonly authorId: string;
  readonly content: string;
  /** Whether it was written in a lobby that is linked to the channel. */
  readonly isCopy: boolean;
  /** Number of its commit. */
  readonly at: number;
}

/** Whether a user joined when the group was opened, or later. */
type Joining = 'opened' | 'added';

/** The users who can see each channel of a guild from one commit on. */
interface Sight {
  readonly at: number;
  /** By channel. */
  readonly viewers: ReadonlyMap<string, ReadonlySet<string>>;
}

/**
 * The true state, from the history of the database: all messages in their order, and who could see which channel when.
 * Permissions are computed here again, independently of the engine, as far as the workload uses them.
 */
export class Truth {
  readonly messages = new Map<string, AcknowledgedFact>();
  /** Contents of all messages. */
  readonly said = new Set<string>();
  /** In the order of their commits. */
  readonly byChannel = new Map<string, AcknowledgedFact[]>();
  /** How often something was given this name. */
  readonly named = new Map<string, number>();
  /** The commit that first gave a guild this name. */
  readonly namedAt = new Map<string, number>();
  /** Contents of the messages of lobbies. */
  readonly #inLobbies = new Set<string>();
  readonly #names = new Map<string, string>();
  readonly #sights = new Map<string, Sight[]>();
  readonly #joinings = new Map<string, Joining>();
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Number of commits. */
  get at(): number {
    return this.#database.history.length;
  }

  note(accepted: Accepted): void {
    const { ownerId, at } = accepted;
    let seen = false;
    for (const fact of accepted.facts) {
      if (fact.type === 'messageCreated') this.#message(accepted, fact.message);
      else if (fact.type === 'lobbyMessageCreated') {
        this.#inLobbies.add(fact.message.content);
        this.#name(fact.message.id, fact.message.content);
      } else if (fact.type === 'interactionWritten')
        this.#name(fact.interaction.id, fact.interaction.nonce ?? '');
      else if (fact.type === 'guildUpdated') {
        this.#name(ownerId, fact.info.name);
        if (!this.namedAt.has(fact.info.name)) this.namedAt.set(fact.info.name, at);
      } else if (fact.type === 'channelUpdated') this.#name(fact.channel.id, fact.channel.name ?? '');
      // An open thread is announced by a message with its name, which counts.
      else if (fact.type === 'threadCreated' && fact.thread.type === PRIVATE_THREAD)
        this.#name(fact.thread.id, fact.thread.name);
      else if (fact.type === 'roleCreated') this.#name(fact.role.id, fact.role.name);
      else if (fact.type === 'privateChannelOpened' && fact.channel.group)
        this.#seeGroup(ownerId, at, fact.channel.recipientIds, 'opened');
      else if (fact.type === 'recipientAdded' || fact.type === 'recipientRemoved')
        this.#seeGroup(ownerId, at, fact.recipientIds, 'added');
      seen ||= MOVES_SIGHT.has(fact.type);
    }
    const guild = this.#database.guilds.get(ownerId);
    if (seen && guild) this.#see(ownerId, { at, viewers: viewersOf(guild) });
  }

  /** Whether the user could see the channel from commit `from` to commit `to` (inclusive), always or at some time. */
  saw(
    userId: string,
    { ownerId, channelId }: AcknowledgedFact,
    from: number,
    to: number,
  ): 'always' | 'once' | 'never' {
    const privately = this.#database.privateChannels.get(ownerId);
    if (privately && !privately.channel.group)
      return privately.channel.recipientIds.includes(userId as never) ? 'always' : 'never';
    const sights = this.#sights.get(ownerId) ?? [];
    let always = true;
    let once = false;
    for (let index = sights.length - 1; index >= 0; index -= 1) {
      const sight = sights[index] as Sight;
      if (sight.at > to) continue;
      const sees = sight.viewers.get(channelId)?.has(userId) ?? false;
      always &&= sees;
      once ||= sees;
      if (sight.at <= from) return always ? 'always' : once ? 'once' : 'never';
    }
    return once ? 'once' : 'never';
  }

  /** How the user last joined the group; null when it never did. */
  joining(userId: string, groupId: string): Joining | null {
    return this.#joinings.get(`${userId} ${groupId}`) ?? null;
  }

  #seeGroup(groupId: string, at: number, recipientIds: readonly string[], how: Joining): void {
    const before = this.#sights.get(groupId)?.at(-1)?.viewers.get(groupId);
    for (const userId of recipientIds)
      if (!before?.has(userId)) this.#joinings.set(`${userId} ${groupId}`, how);
    this.#see(groupId, { at, viewers: new Map([[groupId, new Set(recipientIds)]]) });
  }

  /** Whether it is a channel of two users or a group. */
  isPrivate(ownerId: string): boolean {
    return this.#database.privateChannels.has(ownerId);
  }

  /** Channels of the guild that the user can see now. */
  visible(guildId: string, userId: string): string[] {
    const last = this.#sights.get(guildId)?.at(-1);
    const channels = this.#database.guilds.get(guildId)?.channels;
    return [...(last?.viewers ?? [])].flatMap(([channelId, viewers]) =>
      viewers.has(userId) && channels?.has(channelId as never) ? [channelId] : [],
    );
  }

  #message(
    { ownerId, at }: Accepted,
    message: { id: string; channel_id: string; content: string; author: { id: string } },
  ) {
    const { id, channel_id: channelId, content } = message;
    const told = {
      id,
      ownerId,
      channelId,
      authorId: message.author.id,
      content,
      isCopy: this.#inLobbies.has(content),
      at,
    };
    this.messages.set(id, told);
    this.said.add(content);
    const before = this.byChannel.get(channelId);
    if (before) before.push(told);
    else this.byChannel.set(channelId, [told]);
  }

  #name(id: string, name: string): void {
    if (this.#names.get(id) === name) return;
    this.#names.set(id, name);
    this.named.set(name, (this.named.get(name) ?? 0) + 1);
  }

  #see(guildId: string, sight: Sight): void {
    const sights = this.#sights.get(guildId);
    if (sights) sights.push(sight);
    else this.#sights.set(guildId, [sight]);
  }
}

const MOVES_SIGHT: ReadonlySet<string> = new Set([
  ...['guildCreated', 'guildUpdated', 'channelCreated', 'channelUpdated', 'channelDeleted'],
  ...['threadCreated', 'threadMembersChanged', 'threadDeleted'],
  ...['roleCreated', 'roleUpdated', 'roleDeleted', 'memberAdded', 'memberUpdated', 'memberRemoved'],
]);

function viewersOf(guild: Guild): Map<string, Set<string>> {
  const viewers = new Map<string, Set<string>>();
  for (const channel of guild.channels.values()) {
    const seeing = new Set<string>();
    for (const [userId, member] of guild.members)
      if (member && sees(guild, channel, userId, member.roles)) seeing.add(userId);
    viewers.set(channel.id, seeing);
  }
  for (const [id, record] of guild.threads) {
    const parent = record && guild.channels.get(record.thread.parent_id);
    if (!parent) continue;
    const seeing = viewers.get(parent.id) ?? new Set();
    const isOpen = record.thread.type !== PRIVATE_THREAD;
    viewers.set(
      id,
      new Set(
        [...seeing].filter((userId) => isOpen || record.members.has(userId as never) || rules(guild, userId)),
      ),
    );
  }
  return viewers;
}

/** The owner and administrators see private threads of others; here no other user has MANAGE_THREADS. */
function rules(guild: Guild, userId: string): boolean {
  const roles = guild.members.get(userId as never)?.roles ?? [];
  return (
    guild.info.owner_id === userId ||
    [guild.id, ...roles].some(
      (id) => (BigInt(guild.roles.get(id as never)?.permissions ?? '0') & ADMINISTRATOR) !== 0n,
    )
  );
}

function sees(guild: Guild, channel: GuildChannel, userId: string, roles: readonly string[]): boolean {
  if (guild.info.owner_id === userId) return true;
  const bitsOf = (roleId: string) => BigInt(guild.roles.get(roleId as never)?.permissions ?? '0');
  let bits = [guild.id, ...roles].reduce((all, roleId) => all | bitsOf(roleId), 0n);
  if ((bits & ADMINISTRATOR) !== 0n) return true;
  const overwrites = channel.permission_overwrites ?? [];
  const apply = (chosen: readonly { readonly allow: string; readonly deny: string }[]) => {
    for (const { deny } of chosen) bits &= ~BigInt(deny);
    for (const { allow } of chosen) bits |= BigInt(allow);
  };
  apply(overwrites.filter(({ id }) => id === guild.id));
  apply(overwrites.filter(({ id }) => id !== guild.id && roles.includes(id)));
  apply(overwrites.filter(({ id }) => id === userId));
  return (bits & VIEW_CHANNEL) !== 0n;
}
