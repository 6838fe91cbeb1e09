import { CHANNEL, THREADS } from '../../protocol/channeltypes.ts';
import type { DispatchRow } from '../../protocol/dispatches.ts';
import { P, QUARANTINE_FLAGS } from '../../protocol/permissions.ts';
import type { Guild, GuildChannel, Member } from '../guild/guild.ts';
import {
  channelById,
  channelPermissions,
  guildPermissions,
  timedOutUntilMs,
} from '../permissions/permissions.ts';

/**
 * Decides which members may see a channel and have a permission, where either is given. Members with the same roles get
 * the same verdict, so permissions are computed once per set of roles, and individually only for members with overwrites
 * or time-outs of their own.
 */
export class Gate {
  /** The earliest end of a time-out that a verdict depends on, Unix milliseconds. */
  untilMs = Number.POSITIVE_INFINITY;
  private readonly guild: Guild;
  private readonly permission: DispatchRow['permission'];
  private readonly channel: GuildChannel | null;
  private readonly nowMs: number;
  private readonly byRoles = new Map<string, boolean>();
  private readonly named = new Set<string>();

  constructor(
    guild: Guild,
    permission: DispatchRow['permission'],
    channel: GuildChannel | null,
    nowMs: number,
  ) {
    this.guild = guild;
    this.permission = permission;
    this.channel = channel;
    this.nowMs = nowMs;
    const bearer = channel && THREADS.has(channel.type) ? channelById(guild, channel.parent_id) : channel;
    for (const { id, type } of bearer?.permission_overwrites ?? []) if (type === 1) this.named.add(id);
    if (channel?.type === CHANNEL.PRIVATE_THREAD)
      for (const id of guild.threads.get(channel.id)?.members.keys() ?? []) this.named.add(id);
  }

  passes(member: Member): boolean {
    if (this.isSingular(member)) return this.verdict(member);
    const roles = member.roles.join();
    let verdict = this.byRoles.get(roles);
    if (verdict === undefined) {
      verdict = this.verdict(member);
      this.byRoles.set(roles, verdict);
    }
    return verdict;
  }

  private isSingular(member: Member): boolean {
    const untilMs = timedOutUntilMs(member);
    const timedOut = untilMs > this.nowMs;
    if (timedOut && this.permission) this.untilMs = Math.min(this.untilMs, untilMs);
    return (
      timedOut ||
      member.pending === true ||
      (member.flags & QUARANTINE_FLAGS) !== 0 ||
      member.user.id === this.guild.info.owner_id ||
      this.named.has(member.user.id)
    );
  }

  private verdict(member: Member): boolean {
    const { guild, permission, channel, nowMs } = this;
    const userId = member.user.id;
    const here = channel
      ? channelPermissions(guild, userId, channel, nowMs)
      : guildPermissions(guild, userId, nowMs);
    if (channel && (here & P.VIEW_CHANNEL) === 0n) return false;
    if (!permission) return true;
    const there = channel && permission.at === 'guild' ? guildPermissions(guild, userId, nowMs) : here;
    return (there & permission.anyOf) !== 0n;
  }
}
