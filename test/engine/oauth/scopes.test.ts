// Goal: an application requests scopes that exist and that it may have, and the error names the wrong one.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { challengeOf, isVerifier } from '../../../engine/oauth/pkce.ts';
import { readScopes } from '../../../engine/oauth/scopes.ts';
import { snowflakeOf, type UserId } from '../../../protocol/ids.ts';
import { expandScopes, isScope, SCOPES, type Scope, scopeRow } from '../../../protocol/scopes.ts';

const APPLICATION = { bot_id: '1' as UserId };
const APPROVED = {
  ...APPLICATION,
  oauth2: { publicClient: false, approvedScopes: Object.keys(SCOPES) as Scope[] },
};
const NAMES = Object.keys(SCOPES) as Scope[];

const complaint = (text: string, application: typeof APPLICATION = APPLICATION) => {
  const read = readScopes(text, application, 'consent');
  return read.ok ? null : [read.refusal.oauthError, read.refusal.message];
};

describe('a list of scopes', () => {
  test('is parsed in its order, without repetitions, with any number of spaces', () => {
    const read = readScopes('  identify guilds   identify email ', APPLICATION, 'consent');
    expect(read).toEqual({ ok: true, scopes: ['identify', 'guilds', 'email'] });
  });

  test.each([
    ['', 'A list of scopes is required.'],
    ['   ', 'A list of scopes is required.'],
    ['identify nonsense', 'There is no scope "nonsense".'],
    ['toString', 'There is no scope "toString".'],
    ['Identify', 'There is no scope "Identify".'],
    ['identify,guilds', 'There is no scope "identify,guilds".'],
    ['x"\r\ny', 'There is no scope "x???y".'],
    ['rpc', 'The application is not approved for the scope "rpc".'],
    [
      'applications.commands.update',
      'The scope "applications.commands.update" is for the client credentials grant only.',
    ],
    ['email', 'The scope "email" needs "identify".'],
    ['gateway.connect', 'The scope "gateway.connect" needs "identify".'],
    ['webhook.incoming', 'The scope "webhook.incoming" is not served here.'],
  ])('%j is refused: %s', (text, message) => {
    expect(complaint(text)).toEqual(['invalid_scope', message]);
  });

  test('may contain partner scopes after the operator has approved them', () => {
    expect(complaint('identify rpc identify.premium', APPROVED)).toBeNull();
  });

  test('has the scope bot only if the application has a bot', () => {
    expect(complaint('bot', { bot_id: null } as never)).toEqual([
      'invalid_scope',
      'The application has no bot.',
    ]);
  });

  test('adds no bot by client credentials or for a device', () => {
    for (const by of ['clientCredentials', 'device'] as const)
      expect(readScopes('bot', APPLICATION, by).ok).toBe(false);
    expect(readScopes('applications.commands.update', APPLICATION, 'clientCredentials').ok).toBe(true);
    expect(readScopes('applications.commands.update', APPLICATION, 'device').ok).toBe(false);
  });

  test('has at most identify and applications.commands.update for a team', () => {
    const ofTeam = { ...APPLICATION, team_id: snowflakeOf(900n) };
    const allowed = (text: string, by: 'consent' | 'clientCredentials') => readScopes(text, ofTeam, by).ok;
    expect(allowed('identify applications.commands.update', 'clientCredentials')).toBe(true);
    expect(allowed('identify email', 'clientCredentials')).toBe(false);
    expect(allowed('identify email', 'consent')).toBe(true);
  });

  test('is accepted or refused whatever its text, and grants only scopes that exist', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.shuffledSubarray(NAMES).map((names) => names.join(' ')),
        ),
        (text) => {
          const read = readScopes(text, APPROVED, 'consent');
          if (read.ok) expect(read.scopes.every(isScope)).toBe(true);
          else expect(read.refusal).toMatchObject({ status: 400, oauthError: 'invalid_scope' });
        },
      ),
    );
  });

  test('is unchanged by a second expansion', () => {
    fc.assert(
      fc.property(fc.subarray(NAMES), (names) => {
        const all = expandScopes(names);
        expect(expandScopes(all)).toEqual(all);
        for (const name of names)
          for (const implied of scopeRow(name).implies ?? []) expect(all).toContain(implied);
      }),
    );
  });
});

describe('PKCE', () => {
  const CHALLENGE = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM';

  test('requires S256, and both parameters or neither', () => {
    expect(challengeOf(CHALLENGE, 'S256')).toBe(CHALLENGE);
    expect(challengeOf(null, null)).toBeNull();
  });

  test.each([
    [CHALLENGE, null],
    [CHALLENGE, 'plain'],
    [CHALLENGE, 's256'],
    [null, 'S256'],
    ['', 'S256'],
    [`${CHALLENGE}=`, 'S256'],
    [CHALLENGE.slice(1), 'S256'],
    ['+'.repeat(43), 'S256'],
  ])('rejects %j with the method %j', (challenge, method) => {
    expect(challengeOf(challenge, method)).toBe('wrong');
  });

  test('accepts verifiers of 43 to 128 unreserved characters', () => {
    const unit = fc.constantFrom(...'ABCxyz019-._~');
    fc.assert(
      fc.property(fc.string({ unit, minLength: 0, maxLength: 140 }), (text) => {
        expect(isVerifier(text)).toBe(text.length >= 43 && text.length <= 128);
      }),
    );
    expect(isVerifier(`${'a'.repeat(43)}\n`)).toBe(false);
    expect(isVerifier(`${'a'.repeat(42)}+`)).toBe(false);
  });
});
