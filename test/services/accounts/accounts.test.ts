// Goal: only a user with the password, and the code if there is one, signs in, and no answer reveals which accounts
// exist.
import { Secret as OtpSecret, TOTP } from 'otpauth';
import { describe, expect, test } from 'vitest';
import { SIGN_IN_AGE_MS, SIGN_IN_IDLE_MS, SIGN_INS_MAX } from '../../../engine/account/account.ts';
import type { UserId } from '../../../protocol/ids.ts';
import type { ClientInfo } from '../../../services/accounts/ports.ts';
import { arrangeAccounts, HOME, PASSWORD } from './arrange.ts';

const DAY_MS = 86_400_000;
const elsewhere = (n: number): ClientInfo => ({ address: `198.51.100.${n}`, agent: '' });
const signedIn = (userId: UserId) => ({ ok: true, value: { kind: 'signedIn', userId } });
const refusedWith = (status: number, code?: number) => ({
  ok: false,
  refusal: expect.objectContaining({ status, ...(code !== undefined && { code }) }),
});
const wrongField = (field: string) => ({
  ok: false,
  refusal: expect.objectContaining({ code: 50035, errors: { [field]: expect.anything() } }),
});

describe('sign-up', () => {
  test('creates an account that signs in by name, and by e-mail address once that is confirmed', async () => {
    const { accounts, signUp, log, linked } = arrangeAccounts();
    const userId = await signUp('Anna');
    expect(await accounts.signIn({ login: ' ANNA ', password: PASSWORD }, HOME)).toEqual(signedIn(userId));
    const byMail = { login: 'Anna@Example.org', password: PASSWORD };
    expect(await accounts.signIn(byMail, HOME)).toMatchObject({ ok: false });
    expect(await accounts.contact(userId)).toEqual({ email: 'anna@example.org', verified: false });
    expect(log.letters).toMatchObject([{ to: 'anna@example.org', subject: 'Confirm your e-mail address' }]);
    expect(await accounts.confirmEmail(linked())).toEqual({ ok: true, value: userId });
    expect(await accounts.signIn(byMail, HOME)).toEqual(signedIn(userId));
    expect(await accounts.contact(userId)).toEqual({ email: 'anna@example.org', verified: true });
  });

  test('refuses a taken name, the second of two concurrent claims, and all sign-ups while registration is closed', async () => {
    const { accounts, memory } = arrangeAccounts();
    const form = { username: 'anna', email: null, password: PASSWORD };
    const both = await Promise.all([accounts.register(form, HOME), accounts.register(form, HOME)]);
    expect(both).toEqual([{ ok: true, value: expect.any(String) }, wrongField('username')]);
    expect(await accounts.register({ ...form, username: 'ANNA' }, HOME)).toEqual(wrongField('username'));
    expect(memory.users.size).toBe(1);
    const closed = arrangeAccounts({ registrationOpen: () => false });
    expect(await closed.accounts.register(form, HOME)).toEqual(refusedWith(403));
    expect(closed.log.hashed).toBe(0);
  });

  test('reports every invalid field at once', async () => {
    const { accounts } = arrangeAccounts();
    const reply = await accounts.register({ username: 'a b', email: 'nobody', password: 'short' }, HOME);
    expect(Object.keys((!reply.ok && reply.refusal.errors) || {})).toEqual(['username', 'email', 'password']);
  });

  test("returns the same reply for another account's address and only e-mails that address", async () => {
    const { accounts, signUp, log, linked } = arrangeAccounts();
    const anna = await signUp();
    const early = linked();
    await accounts.confirmEmail(early);
    const eve = await signUp('eve', 'ANNA@example.org');
    expect(log.letters.at(-1)).toMatchObject({ subject: 'You have an account already' });
    expect(log.letters.at(-1)?.text).not.toContain('eve');
    expect(await accounts.contact(eve)).toEqual({ email: 'ANNA@example.org', verified: false });
    expect(await accounts.signIn({ login: 'anna@example.org', password: PASSWORD }, HOME)).toEqual(
      signedIn(anna),
    );
  });

  test('assigns an address that two accounts claim to the first account that confirms it', async () => {
    const { accounts, signUp, linked } = arrangeAccounts();
    await signUp('anna');
    const first = linked();
    const eve = await signUp('eve');
    const second = linked();
    expect(await accounts.confirmEmail(second)).toEqual({ ok: true, value: eve });
    expect(await accounts.confirmEmail(first)).toEqual(wrongField('token'));
    expect(await accounts.confirmEmail(second)).toEqual(wrongField('token'));
  });
});

describe('sign-in', () => {
  test('costs one hash, whether the account and the password exist or not', async () => {
    const { accounts, signUp, log, memory } = arrangeAccounts();
    const userId = await signUp();
    await accounts.signIn({ login: 'nobody', password: PASSWORD }, HOME);
    const costs: number[] = [];
    const answers: unknown[] = [];
    const before = () => ({ ...log });
    const attempt = async (login: string, password: string) => {
      const { verified } = before();
      answers.push(await accounts.signIn({ login, password }, HOME));
      costs.push(log.verified - verified);
    };
    await attempt('anna', 'a wrong password');
    await attempt('nobody', 'a wrong password');
    await attempt('nobody@example.org', 'a wrong password');
    memory.accounts.set(userId, { ...memory.accounts.get(userId)!, passwordHash: null });
    await attempt('anna', PASSWORD);
    await attempt('anna', 'x'.repeat(1025));
    expect(costs).toEqual([1, 1, 1, 1, 0]);
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
  });

  test('is delayed longer after each failure, equally for existing and unknown names', async () => {
    const { accounts, signUp, clock } = arrangeAccounts({ addressLimits: false });
    await signUp();
    const waits = async (login: string) => {
      const found: (number | undefined)[] = [];
      for (let n = 0; n < 8; n++) {
        const reply = await accounts.signIn({ login, password: 'a wrong password' }, HOME);
        const waitSec = reply.ok ? undefined : reply.refusal.retryAfterSec;
        found.push(waitSec);
        if (waitSec !== undefined) clock.advance(waitSec * 1000);
      }
      return found;
    };
    const known = await waits('anna');
    expect(known).toEqual([undefined, undefined, undefined, undefined, undefined, 15, undefined, 30]);
    expect(await waits('nobody')).toEqual(known);
    const right = { login: 'anna', password: PASSWORD };
    expect(await accounts.signIn(right, HOME)).toMatchObject({ ok: true });
    expect(await accounts.signIn({ ...right, password: 'wrong again' }, HOME)).toEqual(refusedWith(400));
  });

  test('counts concurrent guesses as that many failures', async () => {
    const { accounts, signUp, log } = arrangeAccounts();
    await signUp();
    const { verified } = { ...log };
    const guesses = Array.from({ length: 50 }, (_, n) =>
      accounts.signIn({ login: 'anna', password: `guess ${n}` }, elsewhere(n)),
    );
    const waiting = (await Promise.all(guesses)).filter((reply) => !reply.ok && reply.refusal.status === 429);
    expect(waiting).toHaveLength(30);
    expect(log.verified - verified).toBe(20);
  });

  test('delays an address that tries many names, with its whole IPv6 network, and no other', async () => {
    const { accounts, signUp } = arrangeAccounts();
    const userId = await signUp();
    const from = (n: number): ClientInfo => ({ address: `2001:db8:0:1::${n.toString(16)}`, agent: '' });
    for (let n = 0; n < 30; n++) await accounts.signIn({ login: `name${n}`, password: 'x' }, from(n));
    const right = { login: 'anna', password: PASSWORD };
    expect(await accounts.signIn(right, from(99))).toEqual(refusedWith(429));
    expect(await accounts.signIn(right, HOME)).toEqual(signedIn(userId));
    expect(await accounts.signIn(right, { address: '2001:db8:0:2::1', agent: '' })).toEqual(signedIn(userId));
  });

  test('rehashes a dated hash, and refuses with 503 when too many hashes wait', async () => {
    const { accounts, signUp, memory } = arrangeAccounts({
      passwords: { hash: async () => '$new$', verify: async () => true, isDated: (hash) => hash === '$old$' },
    });
    const userId = await signUp();
    memory.accounts.set(userId, { ...memory.accounts.get(userId)!, passwordHash: '$old$' });
    await accounts.signIn({ login: 'anna', password: PASSWORD }, HOME);
    await new Promise<void>((resolve) => setImmediate(resolve));
    expect(memory.accounts.get(userId)?.passwordHash).toBe('$new$');
    const busy = arrangeAccounts({
      passwords: { hash: async () => null, verify: async () => null, isDated: () => false },
    });
    expect(await busy.accounts.signIn({ login: 'anna', password: PASSWORD }, HOME)).toEqual(refusedWith(503));
  });
});

/** An account with the second factor on, and the device that shows its codes. */
async function withFactor() {
  const arranged = arrangeAccounts();
  const { accounts, clock, signUp } = arranged;
  const userId = await signUp();
  const offer = await accounts.offerFactor(userId);
  if (!offer.ok) throw new Error('no offer');
  const secret = OtpSecret.fromBase32(offer.value.secret.reveal());
  const code = (atMs = clock.now()) => new TOTP({ secret }).generate({ timestamp: atMs });
  const form = { sealed: offer.value.sealed, code: code(), current: PASSWORD };
  const enabled = await accounts.enableFactor(userId, form, HOME);
  if (!enabled.ok) throw new Error(JSON.stringify(enabled.refusal));
  const ticket = async () => {
    const reply = await accounts.signIn({ login: 'anna', password: PASSWORD }, HOME);
    return reply.ok && reply.value.kind === 'factor' ? reply.value.ticket : '';
  };
  return { ...arranged, userId, code, ticket, recovery: enabled.value, offer: offer.value };
}

describe('the second factor', () => {
  test('accepts a code of the device once, and no old, future or wrong one', async () => {
    const { accounts, clock, userId, code, ticket } = await withFactor();
    const pass = await ticket();
    expect(await accounts.secondFactor(pass, code(), HOME)).toEqual(refusedWith(400, 60008));
    clock.advance(30_000);
    const now = code();
    expect(await accounts.secondFactor(pass, now, HOME)).toEqual({ ok: true, value: userId });
    expect(await accounts.secondFactor(pass, now, HOME)).toEqual(refusedWith(400, 60008));
    clock.advance(120_000);
    for (const offMs of [-90_000, 90_000])
      expect(await accounts.secondFactor(pass, code(clock.now() + offMs), HOME)).toMatchObject({ ok: false });
    for (const junk of ['', '12345', '1234567', 'abcdef', "' or 1"])
      expect(await accounts.secondFactor(await ticket(), junk, elsewhere(1))).toMatchObject({ ok: false });
  });

  test('accepts a recovery code once, however it is typed', async () => {
    const { accounts, userId, ticket, recovery } = await withFactor();
    const typed = recovery[0]!.reveal().toUpperCase().replaceAll('-', ' ');
    expect(recovery).toHaveLength(8);
    expect(await accounts.secondFactor(await ticket(), typed, HOME)).toEqual({ ok: true, value: userId });
    expect(await accounts.secondFactor(await ticket(), typed, HOME)).toEqual(refusedWith(400, 60008));
    expect((await accounts.profile(userId))?.recoveryCodesLeft).toBe(7);
  });

  test('limits guesses, and expires a ticket after five minutes and for other accounts', async () => {
    const { accounts, clock, ticket, signUp } = await withFactor();
    const pass = await ticket();
    const eve = await signUp('eve', null);
    const forged = pass.replace(/^\d+/, eve);
    expect(await accounts.secondFactor(forged, '000000', HOME)).toEqual(refusedWith(400, 60010));
    for (let n = 0; n < 5; n++) await accounts.secondFactor(pass, '000000', elsewhere(n));
    expect(await accounts.secondFactor(pass, '000000', elsewhere(9))).toEqual(refusedWith(429));
    clock.advance(5 * 60_000);
    expect(await accounts.secondFactor(pass, '000000', HOME)).toEqual(refusedWith(400, 60010));
    for (const junk of ['', '.', 'x'.repeat(5000), '1.2.3'])
      expect(await accounts.secondFactor(junk, '000000', HOME)).toEqual(refusedWith(400, 60010));
  });

  test('is stored sealed for its account, and enabled only with device and password', async () => {
    const { accounts, memory, userId, offer, code, signUp, clock } = await withFactor();
    const kept = JSON.stringify(memory.accounts.get(userId));
    expect(kept).not.toContain(offer.secret.reveal());
    expect(JSON.stringify(offer)).not.toContain(offer.secret.reveal());
    const eve = await signUp('eve', null);
    const form = { sealed: offer.sealed, code: code(), current: PASSWORD };
    expect(await accounts.enableFactor(eve, form, HOME)).toEqual(wrongField('code'));
    expect(await accounts.enableFactor(userId, { ...form, current: 'wrong' }, HOME)).toEqual(
      wrongField('current'),
    );
    expect(await accounts.enableFactor(userId, { ...form, code: '000000' }, HOME)).toEqual(
      wrongField('code'),
    );
    // The current secret is never accepted as a new one, from any sender.
    const stolen = memory.accounts.get(userId)!.factor!.sealed;
    expect(await accounts.enableFactor(userId, { ...form, sealed: stolen }, HOME)).toEqual(
      wrongField('code'),
    );
    clock.advance(16 * 60_000);
    expect(await accounts.enableFactor(userId, { ...form, code: code() }, HOME)).toEqual(wrongField('code'));
    expect(await accounts.disableFactor(userId, { current: 'wrong' }, HOME)).toEqual(wrongField('current'));
    expect(await accounts.disableFactor(userId, { current: PASSWORD }, HOME)).toEqual({
      ok: true,
      value: null,
    });
    expect(await accounts.signIn({ login: 'anna', password: PASSWORD }, HOME)).toEqual(signedIn(userId));
  });
});

describe('browser sessions', () => {
  test('last while they are used, up to their maximum age', async () => {
    const { accounts, clock, signUp } = arrangeAccounts();
    const userId = await signUp();
    const idle = (await accounts.open(userId, HOME)).reveal();
    const used = (await accounts.open(userId, HOME)).reveal();
    clock.advance(SIGN_IN_IDLE_MS - 1);
    expect(await accounts.browserSession(used)).toMatchObject({ userId });
    clock.advance(1);
    expect(await accounts.browserSession(idle)).toBeNull();
    for (let ms = SIGN_IN_IDLE_MS; ms < SIGN_IN_AGE_MS; ms += 10 * DAY_MS) {
      expect(await accounts.browserSession(used)).toMatchObject({ userId });
      clock.advance(10 * DAY_MS);
    }
    expect(await accounts.browserSession(used)).toBeNull();
  });

  test('are listed newest first, bounded in number, and end one by one or all but one', async () => {
    const { accounts, signUp, log, clock } = arrangeAccounts();
    const userId = await signUp();
    const cookies: string[] = [];
    for (let n = 0; n < SIGN_INS_MAX + 2; n++) {
      cookies.push((await accounts.open(userId, { address: '::1', agent: `browser ${n}` })).reveal());
      clock.advance(1);
    }
    const list = await accounts.browserSessions(userId);
    expect(list).toHaveLength(SIGN_INS_MAX);
    expect(list[0]).toMatchObject({ agent: `browser ${SIGN_INS_MAX + 1}`, address: '::1' });
    expect(await accounts.browserSession(cookies[0]!)).toBeNull();
    await accounts.close(userId, list[0]!.id);
    expect(await accounts.browserSession(cookies.at(-1)!)).toBeNull();
    const mine = await accounts.browserSession(cookies.at(-2)!);
    await accounts.closeAll(userId, mine!.signInId);
    expect((await accounts.browserSessions(userId)).map(({ id }) => id)).toEqual([mine!.signInId]);
    expect(log.revokedAll).toEqual([userId]);
  });

  test('reject malformed, foreign and empty cookies', async () => {
    const { accounts, signUp } = arrangeAccounts();
    const anna = await signUp('anna', null);
    const eve = await signUp('eve', null);
    const cookie = (await accounts.open(anna, HOME)).reveal();
    const [, ...rest] = cookie.split('.');
    const asEve = [Buffer.from(eve).toString('base64url'), ...rest].join('.');
    for (const junk of ['', 'x', asEve, `${cookie}x`, cookie.slice(0, -1), 'a'.repeat(10_000), '..'])
      expect(await accounts.browserSession(junk)).toBeNull();
    // A user cannot end a browser session of another user by naming it.
    const [signIn] = await accounts.browserSessions(anna);
    await accounts.close(eve, signIn!.id);
    expect(await accounts.browserSession(cookie)).not.toBeNull();
  });
});

describe('passwords and addresses', () => {
  test('changing a password needs the old one, signs out everything else, and notifies the owner', async () => {
    const { accounts, signUp, linked, log } = arrangeAccounts();
    const userId = await signUp();
    await accounts.confirmEmail(linked());
    const mine = await accounts.browserSession((await accounts.open(userId, HOME)).reveal());
    const other = (await accounts.open(userId, elsewhere(1))).reveal();
    const form = { current: PASSWORD, password: 'another good one' };
    const change = (given: typeof form) => accounts.changePassword(userId, given, mine!.signInId, HOME);
    expect(await change({ ...form, current: 'wrong' })).toEqual(wrongField('current'));
    expect(await change({ ...form, password: 'password123' })).toEqual(wrongField('password'));
    expect(await change(form)).toEqual({ ok: true, value: null });
    expect(await accounts.browserSession(other)).toBeNull();
    expect((await accounts.browserSessions(userId)).map(({ id }) => id)).toEqual([mine!.signInId]);
    expect(log.revokedAll).toEqual([userId]);
    await accounts.idle();
    expect(log.letters.at(-1)).toMatchObject({ subject: 'Your password was changed' });
    expect(await accounts.signIn({ login: 'anna', password: PASSWORD }, HOME)).toMatchObject({ ok: false });
  });

  test('a reset link works once, within an hour, until the password changes', async () => {
    const { accounts, signUp, linked, log, clock } = arrangeAccounts();
    const userId = await signUp();
    await accounts.confirmEmail(linked());
    const ask = async (login: string) => {
      const reply = await accounts.forgot(login, HOME);
      await accounts.idle();
      return reply;
    };
    expect(await ask('anna')).toEqual({ ok: true, value: null });
    const first = linked();
    expect(await accounts.confirmEmail(first)).toEqual(wrongField('token'));
    expect(await accounts.reset(first, 'short')).toEqual(wrongField('password'));
    expect(await accounts.reset(first, 'another good one')).toEqual({ ok: true, value: userId });
    expect(await accounts.reset(first, 'yet another one')).toEqual(wrongField('token'));
    await ask('anna@example.org');
    const old = linked();
    clock.advance(3_600_000);
    expect(await accounts.reset(old, 'yet another one')).toEqual(wrongField('token'));
    const { length } = log.letters;
    expect(await ask('nobody@example.org')).toEqual({ ok: true, value: null });
    expect(log.letters).toHaveLength(length);
  });

  test('an unconfirmed address receives no reset link, because its claim is unproven', async () => {
    const { accounts, signUp, log } = arrangeAccounts();
    await signUp('eve', 'victim@example.org');
    await accounts.forgot('eve', HOME);
    await accounts.idle();
    expect(log.faults).toEqual([]);
    expect(log.letters.map(({ subject }) => subject)).toEqual(['Confirm your e-mail address']);
  });

  test('a changed address is active after confirmation; the old one is notified and free', async () => {
    const { accounts, signUp, linked, log } = arrangeAccounts();
    const userId = await signUp();
    await accounts.confirmEmail(linked());
    const form = { email: 'new@example.org', current: PASSWORD };
    expect(await accounts.changeEmail(userId, { ...form, email: 'new' }, HOME)).toEqual(wrongField('email'));
    expect(await accounts.changeEmail(userId, form, HOME)).toEqual({ ok: true, value: null });
    await accounts.idle();
    expect(await accounts.contact(userId)).toEqual({ email: 'anna@example.org', verified: true });
    expect(await accounts.confirmEmail(linked())).toEqual({ ok: true, value: userId });
    await accounts.idle();
    expect(log.letters.at(-1)).toMatchObject({ to: 'anna@example.org' });
    expect(await accounts.contact(userId)).toEqual({ email: 'new@example.org', verified: true });
    const eve = await signUp('eve');
    expect(await accounts.confirmEmail(linked())).toEqual({ ok: true, value: eve });
  });

  test('one mailbox receives a bounded number of e-mails an hour, whatever their cause', async () => {
    const { accounts, signUp, log } = arrangeAccounts();
    const userId = await signUp();
    for (let n = 0; n < 10; n++) await accounts.askToConfirm(userId, elsewhere(n));
    await accounts.idle();
    expect(log.letters).toHaveLength(5);
  });

  test('a failing mail server delays no reply and is reported', async () => {
    const fault = new Error('no route to the mail server');
    const { signUp, log } = arrangeAccounts({ mailer: { send: () => Promise.reject(fault) } });
    await signUp();
    expect(log.faults).toEqual([fault]);
  });

  test('a new name signs in at once, and the old one is free', async () => {
    const { accounts, signUp } = arrangeAccounts();
    const userId = await signUp('anna', null);
    await signUp('eve', null);
    const names = { username: 'eve', globalName: 'Anna' };
    expect(await accounts.rename(userId, names)).toEqual(wrongField('username'));
    expect(await accounts.rename(userId, { ...names, username: 'anne' })).toEqual({ ok: true, value: null });
    expect(await accounts.profile(userId)).toMatchObject({ username: 'anne', globalName: 'Anna' });
    expect(await accounts.signIn({ login: 'anne', password: PASSWORD }, HOME)).toEqual(signedIn(userId));
    await signUp('anna', null);
    await accounts.rename(userId, { username: 'annie' });
    expect(await accounts.profile(userId)).toMatchObject({ username: 'annie', globalName: 'Anna' });
  });

  test('confirming a password counts wrong guesses', async () => {
    const { accounts, signUp } = arrangeAccounts();
    const userId = await signUp('anna', null);
    expect(await accounts.confirm(userId, PASSWORD, HOME)).toEqual({ ok: true, value: null });
    for (let guess = 0; guess < 5; guess += 1)
      expect(await accounts.confirm(userId, 'a guess', HOME)).toEqual(wrongField('password'));
    expect(await accounts.confirm(userId, PASSWORD, HOME)).toEqual(refusedWith(429));
  });

  test('the operator sets a password for a user without one', async () => {
    const { accounts, memory, signUp } = arrangeAccounts();
    await signUp('anna', null);
    const userId = '9000' as UserId;
    memory.users.set(userId, { id: userId, username: 'Juniper' } as never);
    expect(await accounts.setPassword(userId, 'short')).toEqual(wrongField('password'));
    expect(await accounts.setPassword(userId, 'a good password')).toEqual({ ok: true, value: null });
    expect(await accounts.signIn({ login: 'juniper', password: 'a good password' }, HOME)).toEqual(
      signedIn(userId),
    );
    const cookie = (await accounts.open(userId, HOME)).reveal();
    await accounts.setPassword(userId, 'another good password');
    expect(await accounts.browserSession(cookie)).toBeNull();
    memory.users.set('9001', { id: '9001', username: 'anna' } as never);
    expect(await accounts.setPassword('9001' as UserId, 'a good password')).toEqual(wrongField('username'));
    expect(await accounts.setPassword('9002' as UserId, 'a good password')).toEqual(refusedWith(404));
  });
});
