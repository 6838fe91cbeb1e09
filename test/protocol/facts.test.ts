/** Goal: the tables of the wire agree with the platform's published type package and with each other. */
import {
  AuditLogEvent,
  ChannelType,
  GatewayCloseCodes,
  GatewayDispatchEvents,
  GatewayIntentBits,
  GatewayOpcodes,
  MessageType,
  PermissionFlagsBits,
} from 'discord-api-types/v10';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AUDIT } from '../../protocol/audit.ts';
import { CHANNEL, isDeletable, MESSAGE, THREADS, WITH_MESSAGES } from '../../protocol/channeltypes.ts';
import { CLOSE } from '../../protocol/closecodes.ts';
import { CONTRACT_DATES, isInForce } from '../../protocol/dates.ts';
import { DISPATCH, DISPATCH_ROWS } from '../../protocol/dispatches.ts';
import {
  ALL_INTENTS,
  ALL_PRIVILEGED_FLAGS,
  deniedIntents,
  grantedIntents,
  INTENTS,
  readsContent,
} from '../../protocol/intents.ts';
import { LIMITS } from '../../protocol/limits.ts';
import { OP } from '../../protocol/opcodes.ts';
import {
  ALL_PERMISSIONS,
  DEFAULT_EVERYONE,
  formatPermissions,
  P,
  parsePermissions,
} from '../../protocol/permissions.ts';

/** Numbers of a TypeScript enum, ascending. */
const numbers = (values: object): number[] =>
  [...new Set(Object.values(values).filter((value): value is number => typeof value === 'number'))].sort(
    (a, b) => a - b,
  );
describe('permissions', () => {
  it('are the published bits', () => {
    const published = new Set<bigint>(Object.values(PermissionFlagsBits));
    expect(new Set<bigint>(Object.values(P))).toEqual(published);
  });

  it('leave bit 47 unassigned and number 52 in all', () => {
    expect(Object.values(P)).toHaveLength(52);
    expect(ALL_PERMISSIONS).toBe((1n << 53n) - 1n - (1n << 47n));
  });

  it('give @everyone of a new guild nothing that moderates', () => {
    const moderating =
      P.ADMINISTRATOR |
      P.MANAGE_GUILD |
      P.MANAGE_ROLES |
      P.MANAGE_CHANNELS |
      P.MANAGE_MESSAGES |
      P.KICK_MEMBERS |
      P.BAN_MEMBERS |
      P.MODERATE_MEMBERS |
      P.MANAGE_WEBHOOKS |
      P.VIEW_AUDIT_LOG |
      P.MANAGE_NICKNAMES;
    expect(DEFAULT_EVERYONE & moderating).toBe(0n);
    expect(DEFAULT_EVERYONE & (P.VIEW_CHANNEL | P.SEND_MESSAGES)).toBe(P.VIEW_CHANNEL | P.SEND_MESSAGES);
  });

  it('read back what they write', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: (1n << 60n) - 1n }), (bits) => {
        expect(parsePermissions(formatPermissions(bits))).toBe(bits & ALL_PERMISSIONS);
      }),
    );
  });

  it('refuse whatever is no decimal string or integer, and never throw', () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        const bits = parsePermissions(value);
        if (bits === null) return;
        expect(['string', 'number']).toContain(typeof value);
        expect(bits & ~ALL_PERMISSIONS).toBe(0n);
      }),
    );
    for (const wrong of [
      '',
      '-1',
      '0x8',
      '1.5',
      ' 8',
      '8\n',
      '9'.repeat(24),
      -1,
      1.5,
      Number.NaN,
      2 ** 60,
      null,
    ]) {
      expect(parsePermissions(wrong), String(wrong)).toBeNull();
    }
  });
});

describe('dated rules', () => {
  it('are in force from the beginning of their first day, and always where no day is given', () => {
    const rules: readonly (keyof typeof CONTRACT_DATES)[] = [
      ...(['subscriptions_have_no_end', 'applications_create_no_guilds'] as const),
      ...(['member_lists_limited', 'forwards_need_content'] as const),
      ...(['permissions_split', 'calls_encrypted'] as const),
    ];
    expect(rules).toEqual(Object.keys(CONTRACT_DATES));
    for (const rule of rules) {
      const fromMs = Date.parse(`${CONTRACT_DATES[rule].from}T00:00:00.000Z`);
      const seen = [isInForce(rule, fromMs - 1), isInForce(rule, fromMs), isInForce(rule)];
      expect([rule, ...seen]).toEqual([rule, false, true, true]);
    }
  });
});

describe('intents', () => {
  it('contain the published ones at their bits', () => {
    const ours = new Set<number>(Object.values(INTENTS));
    for (const bit of numbers(GatewayIntentBits)) expect(ours).toContain(bit);
    expect(ALL_INTENTS).toBe(2 ** 29 - 1);
  });

  it('are denied when privileged and neither flag is set', () => {
    const { GUILD_MEMBERS, GUILD_PRESENCES, MESSAGE_CONTENT, GUILDS } = INTENTS;
    const asked = GUILD_MEMBERS | GUILD_PRESENCES | MESSAGE_CONTENT | GUILDS;
    expect(deniedIntents(asked, 0)).toBe(GUILD_MEMBERS | GUILD_PRESENCES | MESSAGE_CONTENT);
    expect(deniedIntents(asked, 1 << 15)).toBe(GUILD_PRESENCES | MESSAGE_CONTENT);
    expect(deniedIntents(asked, ALL_PRIVILEGED_FLAGS)).toBe(0);
    expect(deniedIntents(GUILDS, 0)).toBe(0);
    expect(grantedIntents(1 << 19)).toBe(MESSAGE_CONTENT);
  });

  it('allow a bot without MESSAGE_CONTENT only its own messages and messages that mention it', () => {
    const message = { author: { id: '1' }, mentions: [{ id: '2' }] };
    const reads = (userId: string, bot: boolean, applicationFlags = 0) =>
      readsContent({ userId, bot, applicationFlags }, message);
    expect(['1', '2', '3'].map((userId) => reads(userId, true))).toEqual([true, true, false]);
    expect([reads('3', false), reads('3', true, 1 << 19)]).toEqual([true, true]);
  });
});

describe('dispatches', () => {
  it('have a row for every published name', () => {
    const missing = Object.values(GatewayDispatchEvents).filter((name) => !(name in DISPATCH));
    expect(missing).toEqual([]);
    // Beside them stand those of calls and streams, of friends and games, of lobbies, of interactions, which only people get, of
    // exceptions to scheduled events, of running activities, of recipients of groups, of join requests, and of member lists.
    expect(Object.keys(DISPATCH)).toHaveLength(79 + 7 + 11 + 15 + 4 + 5 + 4 + 1 + 2 + 3 + 1);
  });

  it('gate content only behind an intent, and every gate is one known bit', () => {
    for (const name of Object.keys(DISPATCH) as (keyof typeof DISPATCH)[]) {
      const { intent, dmIntent, contentGated } = DISPATCH_ROWS[name];
      for (const bit of [intent, dmIntent]) {
        if (typeof bit === 'number') expect(Object.values<number>(INTENTS), name).toContain(bit);
      }
      if (contentGated) expect(intent, name).not.toBeNull();
      if (dmIntent !== undefined) expect(dmIntent, name).not.toBe(intent);
    }
  });

  it('demand the permissions the platform names', () => {
    expect(DISPATCH_ROWS.GUILD_BAN_ADD.permission).toEqual({
      at: 'guild',
      anyOf: P.BAN_MEMBERS | P.VIEW_AUDIT_LOG,
    });
    expect(DISPATCH_ROWS.INVITE_CREATE.permission).toEqual({ at: 'channel', anyOf: P.MANAGE_CHANNELS });
    expect(DISPATCH_ROWS.MESSAGE_CREATE.permission).toBeUndefined();
  });
});

describe('numbers', () => {
  it('include every published channel type, message type, audit action, opcode and close code', () => {
    expect(numbers(CHANNEL)).toEqual(numbers(ChannelType));
    // 30 is in the package but not documented: no message of that type is ever made here.
    const documented = numbers(MessageType).filter((type) => type !== 30);
    expect(numbers(MESSAGE)).toEqual(expect.arrayContaining(documented));
    expect(numbers(AUDIT)).toEqual(expect.arrayContaining(numbers(AuditLogEvent)));
    expect(numbers(OP)).toEqual(expect.arrayContaining(numbers(GatewayOpcodes)));
    expect(Object.values(CLOSE).map(({ code }) => code)).toEqual(numbers(GatewayCloseCodes));
  });

  it('have positive limits, with lower bounds below upper ones', () => {
    const limits: Readonly<Record<string, number>> = LIMITS;
    for (const [name, value] of Object.entries(limits)) {
      expect(value, name).toBeGreaterThan(0);
      const upper = limits[name.replace(/_(min|default)$/, '_max')];
      if (upper !== undefined) expect(value, name).toBeLessThanOrEqual(upper);
    }
  });
});

describe('sets', () => {
  it('name the channels that are threads or hold messages, and the messages that may be deleted', () => {
    expect([...THREADS]).toEqual([10, 11, 12]);
    expect([...WITH_MESSAGES].sort((a, b) => a - b)).toEqual([0, 2, 5, 10, 11, 12, 13]);
    expect([0, 6, 19, 46].map(isDeletable)).toEqual([true, true, true, true]);
    expect([1, 2, 3, 4, 5, 21, 13, 99].map(isDeletable)).toEqual(Array(8).fill(false));
  });

  it('hold no fatal close code that leaves a session to resume', () => {
    for (const { reconnect, resumable, reason } of Object.values(CLOSE)) {
      if (!reconnect) expect(resumable, reason).toBe(false);
    }
  });
});
