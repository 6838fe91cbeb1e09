import type { Guilds } from '../../actors/guild/guilds.ts';
import type { Routing } from '../../actors/placement/routing.ts';
import type { Tap } from '../../actors/runtime/aggregate.ports.ts';
import { keyedMutex } from '../../actors/runtime/keyedmutex.ts';
import { type FoundingChoice, newGuild } from '../../engine/guild/founding.ts';
import { guildCreatePayload, guildObject } from '../../engine/guild/payloads.ts';
import type { Reply } from '../../engine/kernel/aggregate.ts';
import type { FreshId, GuildId, UserId } from '../../protocol/ids.ts';
import { ALL_INTENTS } from '../../protocol/intents.ts';
import type { APIGuild, APIUser } from '../../protocol/objects.ts';
import { type Refusal, refusal } from '../../protocol/refusal.ts';
import type { Commit, Storage } from '../../storage/ports.ts';
import { membershipRefusal } from './membershiplimit.ts';

interface FoundingPorts {
  readonly storage: Storage;
  readonly guilds: Guilds;
  readonly routing: Routing;
  readonly hooks: { readonly tap: Tap };
  readonly nextId: () => FreshId;
  readonly nowMs: () => number;
  /** Most guilds that one user may own; see the setting `guilds_owned_max`. */
  readonly guildsOwnedMax: number;
  commit(ownerId: string, facts: Commit['facts']): Promise<void>;
  /** Subscribes the sessions of a user to a guild that was created here. */
  memberJoined(guildId: GuildId, userId: UserId): void;
}

export interface GuildFounding {
  /** Creates a guild on its owner shard. */
  create(id: GuildId, name: string, owner: APIUser, chosen?: FoundingChoice): Promise<Reply<APIGuild>>;
  /** Creates a guild for a user: within the limits of memberships and owned guilds, one guild at a time. */
  createOwn(userId: UserId, id: GuildId, name: string, chosen: FoundingChoice): Promise<Reply<APIGuild>>;
}

/** `large_threshold` of the view that the embedding program gets of a new guild. */
const MEMBERS_SHOWN = 250;

/** The platform's code for a user in too many guilds, with a message that names this server's own limit. */
const tooManyOwned = (max: number): Refusal => ({
  ...refusal('MAXIMUM_GUILDS'),
  message: `Maximum number of owned guilds reached (${max})`,
});

export function createFounding(ports: FoundingPorts): GuildFounding {
  const { storage, guilds, hooks, nextId, nowMs, routing } = ports;

  const create = routing.ask(
    'guilds.create',
    async (
      id: GuildId,
      name: string,
      ownerUser: APIUser,
      chosen: FoundingChoice = {},
    ): Promise<Reply<APIGuild>> => {
      const ownerId = ownerUser.id;
      await ports.commit(id, [newGuild({ id, name, ownerId, ownerUser, nowMs: nowMs(), nextId, chosen })]);
      ports.memberJoined(id, ownerId);
      const { tap } = hooks;
      const made = await guilds.look(
        id,
        (guild) => ({
          object: guildObject(guild),
          // Sessions receive GUILD_CREATE when they subscribe; the embedding program receives one with the owner's
          // view.
          shown: tap.listening
            ? guildCreatePayload(guild, ownerId, MEMBERS_SHOWN, ALL_INTENTS, nowMs())
            : null,
        }),
        () => ({ members: [ownerId] }),
      );
      if ('refusal' in made) return { ok: false, refusal: made.refusal };
      if (made.shown) tap.see('GUILD_CREATE', made.shown, id);
      return { ok: true, value: made.object };
    },
  );

  const mutex = keyedMutex<UserId>();
  const createOwn = routing.ask(
    'guilds.createOwn',
    (userId: UserId, id: GuildId, name: string, chosen: FoundingChoice) =>
      mutex(userId, async (): Promise<Reply<APIGuild>> => {
        const [user] = await storage.users.get([userId]);
        if (!user) return { ok: false, refusal: refusal('UNKNOWN_USER') };
        const no = await membershipRefusal(storage.users, { userId });
        if (no) return { ok: false, refusal: no };
        if ((await storage.users.ownedGuildCount(userId)) >= ports.guildsOwnedMax)
          return { ok: false, refusal: tooManyOwned(ports.guildsOwnedMax) };
        return create(id, name, user, chosen);
      }),
  );

  return { create, createOwn };
}
