import type { Guilds } from '../actors/guild/guilds.ts';
import type { Clock } from '../actors/runtime/clock.ts';
import type { LiveSession, Opening, SessionBackend } from '../actors/session/backend.ts';
import type { Principal, StreamRequest } from '../actors/session/ports.ts';
import type { Users } from '../actors/user/users.ts';
import { SYSTEM } from '../engine/authority.ts';
import { directRecipients } from '../engine/fanout/audience.ts';
import { DispatchBody } from '../engine/fanout/body.ts';
import { channelInfo as channelInfoOf } from '../engine/guild/voicechannels.ts';
import type { Presence } from '../engine/presence/merge.ts';
import { guildsOfShard } from '../engine/session/identify.ts';
import type { GuildId, UserId } from '../protocol/ids.ts';
import { INTENTS } from '../protocol/intents.ts';
import type { Storage } from '../storage/ports.ts';
import { ownUser } from '../transports/rest/accounts.ts';
import { deliverMembers } from './memberlist.ts';
import { openingOf } from './opening.ts';
import type { VoicePlaces } from './places.ts';
import type { Parts } from './site.ts';

export interface BackendPorts {
  readonly authenticate: (token: string) => Promise<Principal | null>;
  readonly guilds: Guilds;
  readonly users: Users;
  readonly storage: Pick<Storage, 'guilds' | 'privateChannels' | 'users' | 'applications'>;
  readonly clock: Clock;
  readonly places: VoicePlaces;
  /** Go Live; nothing happens where no calls are served. */
  readonly stream: (session: LiveSession, request: StreamRequest) => void;
  /** Subscribes a session to a guild, later when it cannot be had now; false when its user is not a member. */
  readonly subscribe: (session: LiveSession, guildId: GuildId) => Promise<boolean>;
  /** Friends, lobbies and players from elsewhere; there once the house stands. */
  readonly parts: () => Parts;
  /** Hears of what nobody waits for and went wrong. */
  readonly onFault: (error: unknown, id: string) => void;
}

type Present = (userId: string, guildIds: readonly GuildId[], presence: Presence | null) => void;

/** Tells the guilds of a user how its sessions present it now. */
const presenter =
  ({ guilds, onFault }: BackendPorts): Present =>
  (userId, guildIds, presence) => {
    for (const guildId of guildIds)
      guilds
        .call(guildId, 'setPresence', { userId: userId as UserId, presence }, SYSTEM)
        .catch((fault) => onFault(fault, guildId));
  };

/** Tells guilds and friends how a session's user appears now, null: not at all. Undefined: the session was none. */
const appearing =
  ({ parts }: BackendPorts, present: Present) =>
  (session: LiveSession, guildIds: readonly GuildId[], presence: Presence | null | undefined): void => {
    if (presence === undefined) return;
    present(session.userId, guildIds, presence);
    if (!session.bot) parts().social.presented(session.userId as UserId, presence);
  };

/** What sessions ask of the rest of the engine, over the actors and stores. */
export function createBackend(ports: BackendPorts): SessionBackend & { readonly present: Present } {
  const { guilds, users, storage, clock, places } = ports;
  const present = presenter(ports);
  const appear = appearing(ports, present);

  return {
    present,
    authenticate: ports.authenticate,

    async open(session): Promise<Opening> {
      const opened = await users.open(session);
      if (!opened) throw new Error('A token names a user that does not exist.');
      const [user, told] = await Promise.all([
        ownUser(opened.user, session.authorization?.scopes ?? null, ports.parts().accounts),
        openingOf(session, { ...ports.parts(), storage }),
      ]);
      if (directRecipients([session], 'CALL_CREATE').length > 0) places.greet(session, told.privateChannels);
      // Of guilds an application that acts for a user hears nothing.
      return { ...told, user, guildIds: session.authorization ? [] : opened.guildIds };
    },

    async subscribe(session, guildId) {
      if (await ports.subscribe(session, guildId)) return;
      // READY named a guild that its user has left since: without a word it would stay unavailable for ever.
      if (session.bot && (session.intents & INTENTS.GUILDS) === 0) return;
      session.deliver(new DispatchBody('GUILD_DELETE', { id: guildId }, clock.monotonic()));
    },

    async reopen(session, { presence }) {
      const opened = await users.open(session);
      if (!opened) return false;
      const shown = session.authorization ? [] : guildsOfShard(opened.guildIds, session.shard);
      await Promise.all(shown.map((guildId) => ports.subscribe(session, guildId)));
      if (presence) this.presence(session, presence);
      return true;
    },

    surrendered: () => undefined,

    ended(session) {
      const guildIds = users.guildIds(session.userId);
      const presence = users.close(session);
      for (const guildId of guildIds) guilds.unsubscribe(guildId, session);
      places.ended(session, guildIds);
      if (session.authorization) ports.parts().lobbies.ended(session);
      ports.parts().social.ended(session);
      appear(session, guildIds, presence);
    },

    presence(session, presence) {
      const merged = users.present(session, {
        sessionId: session.sessionId,
        status: presence.status,
        platform: session.bot ? 'web' : session.authorization ? 'embedded' : 'desktop',
        activities: ports.parts().social.acting(session, presence.activities),
        changedMs: clock.monotonic(),
      });
      appear(session, users.guildIds(session.userId), merged);
    },

    requestMembers: (session, request) =>
      deliverMembers(session, request, { guilds, store: storage.guilds, clock }),

    voiceState: places.ask,

    lobbyVoice: (session, wanted) => ports.parts().lobbies.voiceStates(session, wanted),

    lobbyVoiceServer: (session, lobbyId) => ports.parts().lobbies.voiceServerPing(session, lobbyId),

    stream: ports.stream,

    soundboard: (session, guildIds) => soundboard(session, guildIds, ports),

    channelInfo: (session, guildId, fields) => {
      channelInfo(session, guildId, fields, ports).catch((fault) => ports.onFault(fault, session.sessionId));
    },
  };
}

/** Guilds have no sounds of their own yet; the default ones come from another operation. */
function soundboard(
  session: LiveSession,
  guildIds: readonly GuildId[],
  { users, clock }: BackendPorts,
): void {
  const mine = new Set(users.guildIds(session.userId));
  for (const guildId of guildIds) {
    if (!mine.has(guildId)) continue;
    const d = { guild_id: guildId, soundboard_sounds: [] };
    session.deliver(new DispatchBody('SOUNDBOARD_SOUNDS', d, clock.monotonic()));
  }
}

/** Nothing is said to those who are not in the guild, nor of one that does not exist. */
async function channelInfo(
  session: LiveSession,
  guildId: GuildId,
  fields: readonly string[],
  { guilds, clock }: BackendPorts,
): Promise<void> {
  const userId = session.userId as UserId;
  const d = await guilds.look(
    guildId,
    (guild) => (guild.members.get(userId) ? channelInfoOf(guild, userId, fields, clock.now()) : null),
    () => ({ members: [userId] }),
  );
  if (d && !('refusal' in d)) session.deliver(new DispatchBody('CHANNEL_INFO', d, clock.monotonic()));
}
