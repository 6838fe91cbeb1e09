/** Goal: a text mentions the users it names, except those that `allowed_mentions`, existence or permission exclude. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { contradictionIn, mentioned, namedIn } from '../../../engine/channel/compose.ts';
import type { Scope } from '../../../engine/channel/messages.ts';
import type { APIUser } from '../../../protocol/objects.ts';
import { ALL_PERMISSIONS } from '../../../protocol/permissions.ts';

const USER = '100000000000000001';
const ROLE = '200000000000000002';

describe('namedIn', () => {
  it('finds users in both forms, roles, and everyone', () => {
    const named = namedIn(`<@${USER}> <@!${USER}> <@&${ROLE}> @here`);
    expect(named).toEqual({ userIds: [USER], roleIds: [ROLE], everyone: true });
  });

  it.each([
    ['a code span', `\`<@${USER}> @everyone\``],
    ['a code block', `\`\`\`js\n<@${USER}>\n@here\`\`\``],
    ['a short number', '<@123>'],
    ['an unfinished mark', `<@${USER}`],
    ['a channel', `<#${USER}>`],
    ['an address', 'mail@every.one'],
  ])('finds no user in %s', (_, text) => {
    expect(namedIn(text)).toEqual({ userIds: [], roleIds: [], everyone: false });
  });

  it('reads on after a code mark that is never closed', () => {
    expect(namedIn(`\`\`\` <@${USER}>`).userIds).toEqual([USER]);
  });

  it('stops at a hundred users', () => {
    const text = Array.from(
      { length: 150 },
      (_, index) => `<@${100_000_000_000_000_000n + BigInt(index)}>`,
    ).join('');
    expect(namedIn(text).userIds).toHaveLength(100);
  });

  it('takes any text, and names only what stands in it', () => {
    const piece = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('<@', '>', '`', '```', '@everyone', '@here', '&', `<@${USER}>`, `<@&${ROLE}>`),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        const text = pieces.join('');
        const { userIds, roleIds, everyone } = namedIn(text);
        for (const id of userIds) expect(text).toMatch(new RegExp(`<@!?${id}>`));
        for (const id of roleIds) expect(text).toContain(`<@&${id}>`);
        if (everyone) expect(text).toMatch(/@everyone|@here/);
        expect(new Set(userIds).size).toBe(userIds.length);
      }),
    );
  });
});

describe('allowed_mentions', () => {
  const OTHER = '100000000000000003';
  const named = { userIds: [USER, OTHER], roleIds: [ROLE], everyone: true };
  const mayMentionAll = {
    permissions: ALL_PERMISSIONS,
    userOf: (id) => ({ id }) as APIUser,
    mayNotifyRole: () => true,
  } satisfies Partial<Scope> as object as Scope;

  it.each([
    [undefined, named],
    [null, named],
    [{}, { userIds: [], roleIds: [], everyone: false }],
    [{ parse: [] }, { userIds: [], roleIds: [], everyone: false }],
    [{ parse: ['users'] }, { userIds: named.userIds, roleIds: [], everyone: false }],
    [{ parse: ['everyone', null] }, { userIds: [], roleIds: [], everyone: true }],
    [
      { users: [USER], parse: ['roles'] },
      { userIds: [USER], roleIds: [ROLE], everyone: false },
    ],
    [{ roles: ['300000000000000003'] }, { userIds: [], roleIds: [], everyone: false }],
  ])('narrows the users that a text notifies by %j', (allowed, expected) => {
    const text = `<@${USER}> <@${OTHER}> <@&${ROLE}> @everyone`;
    const { mentions, mention_roles, mention_everyone } = mentioned(mayMentionAll, text, allowed, null);
    const userIds = mentions.map(({ id }) => id);
    expect({ userIds, roleIds: mention_roles, everyone: mention_everyone }).toEqual(expected);
  });
});

describe('contradictionIn', () => {
  it('refuses a kind that is parsed and listed', () => {
    expect(contradictionIn({ parse: ['users'], users: [USER] })?.code).toBe(50035);
    expect(contradictionIn({ parse: ['roles'], roles: [ROLE] })?.code).toBe(50035);
  });

  it('lets a kind be parsed beside a list of the other, or an empty one', () => {
    expect(contradictionIn({ parse: ['users'], roles: [ROLE], users: [] })).toBeNull();
    expect(contradictionIn(null)).toBeNull();
  });
});
