import type { Guilds } from '../../actors/guild/guilds.ts';
import type { Member } from '../../engine/guild/guild.ts';
import type { InviteObject } from '../../engine/guild/invites.objects.ts';
import { type NewInvite, reusableInvite } from '../../engine/guild/invites.ts';
import type { Vanity } from '../../engine/guild/vanity.ts';
import type { Reply } from '../../engine/kernel/aggregate.ts';
import { type Authority, SYSTEM } from '../../engine/kernel/authority.ts';
import type { ChannelId, GuildId, UserId } from '../../protocol/ids.ts';
import { splitInvites } from '../../protocol/invites.ts';
import { LIMITS } from '../../protocol/limits.ts';
import { refusal } from '../../protocol/refusal.ts';
import { vanityCode } from '../../protocol/vanity.ts';
import type { GuildStore } from '../../storage/guild/port.ts';
import type { DirectoryStore } from '../../storage/ports.ts';
import type { UserStore } from '../../storage/user/port.ts';
import { inviteCode } from './invitecode.ts';
import { membershipRefusal } from './membershiplimit.ts';

interface InvitePorts {
  readonly guilds: Pick<Guilds, 'call'>;
  readonly storage: {
    readonly guilds: Pick<GuildStore, 'invites'>;
    readonly directory: Pick<DirectoryStore, 'inviteGuild'>;
    readonly users: Pick<UserStore, 'guildIds'>;
  };
  readonly randomBytes: (size: number) => Uint8Array;
  readonly nowMs: () => number;
}

export interface Invites {
  /** A random code for an invite or a template. */
  newCode(): string;
  /** The guild that the code leads to; null for an unknown code of any length. */
  guildOf(code: string): Promise<GuildId | null>;
  /**
   * Creates an invite, or returns the caller's equal one unless `unique` insists on a new code. Deletes some of the
   * guild's expired invites.
   */
  create(
    at: { readonly guildId: GuildId; readonly channelId: ChannelId },
    wanted: NewInvite & { readonly unique: boolean },
    authority: Authority,
  ): Promise<Reply<InviteObject>>;
  /** Sets the guild's own code, or removes it. Refuses text that is no code, and the code of another guild. */
  setVanity(guildId: GuildId, text: string | null, authority: Authority): Promise<Reply<Vanity>>;
  /** Makes the user a member of the code's guild. `added`: the user was not a member before. */
  accept(
    code: string,
    userId: UserId,
  ): Promise<Reply<{ readonly invite: InviteObject; readonly member: Member; readonly added: boolean }>>;
}

const taken: Reply<never> = { ok: false, refusal: refusal('INVITE_CODE_INVALID_OR_TAKEN') };

export function createInvites({ guilds, storage, randomBytes, nowMs }: InvitePorts): Invites {
  const newCode = (): string => inviteCode(randomBytes);
  const guildOf: Invites['guildOf'] = async (code) =>
    code.length > LIMITS.invite_code_chars_max ? null : storage.directory.inviteGuild(code);
  return {
    newCode,
    guildOf,
    async create({ guildId, channelId }, { unique, ...wanted }, authority) {
      const { live, expired } = splitInvites(await storage.guilds.invites(guildId, null, 0), nowMs());
      const same = unique ? null : reusableInvite(live, { ...wanted, channelId }, authority.by);
      const input = {
        ...{ ...wanted, channelId, expired },
        code: newCode(),
        reuse: same?.code ?? null,
        inviteCount: live.length,
      };
      return guilds.call(guildId, 'createInvite', input, { ...authority, channelId });
    },
    async setVanity(guildId, text, authority) {
      const code = text === null ? null : vanityCode(text);
      if (text !== null && code === null) return taken;
      // A caller who may not set a code does not learn which codes are taken.
      const may = await guilds.call(guildId, 'getVanity', {}, authority);
      if (!may.ok) return may;
      const holder = code === null ? null : await storage.directory.inviteGuild(code);
      if (holder !== null && holder !== guildId) return taken;
      return guilds.call(guildId, 'setVanity', { code }, authority);
    },
    async accept(code, userId) {
      const guildId = await guildOf(code);
      if (guildId === null) return { ok: false, refusal: refusal('UNKNOWN_INVITE') };
      const no = await membershipRefusal(storage.users, { userId }, guildId);
      if (no) return { ok: false, refusal: no };
      return guilds.call(guildId, 'acceptInvite', { code, userId }, SYSTEM);
    },
  };
}
