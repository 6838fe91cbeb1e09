import type { UserId } from '../../../protocol/ids.ts';
import { refusal } from '../../../protocol/refusal.ts';
import {
  DeviceCodes,
  ResetWithSecondFactor,
  SecondFactor,
  Session,
  VerifiedEmail,
} from '../../../protocol/schemas/account.ts';
import { NameText, Nullable, Obj, Optional, Str } from '../../../protocol/schemas/request.ts';
import { none, oneOf } from '../../../protocol/schemas/schema.ts';
import type { ClientInfo } from '../../../services/accounts/ports.ts';
import { type Answer, op, resource } from '../operation.ts';
import type { Services } from '../services.ts';
import { deviceBody } from './oauth2.ts';

/** Password guesses are also limited by login and address; this bucket bounds the hashing that one address causes. */
const SLOW = { per: null, limit: 20, windowMs: 60_000, group: 'auth' } as const;
const PASSWORD_CHARACTERS_MAX = 1024;

const password = () => Str(1, PASSWORD_CHARACTERS_MAX);
const Register = Obj({
  username: NameText(1, 64),
  password: password(),
  email: Optional(Nullable(Str(1, 320))),
  global_name: Optional(Nullable(NameText(1, 32))),
});
const Login = Obj({ login: Str(1, 320), password: password() });
const Totp = Obj({ code: Str(1, 64), ticket: Str(1, 128) });
const Forgot = Obj({ login: Str(1, 320) });
const Verify = Obj({ token: Str(1, 128) });
const DeviceToken = Obj({ device_code: Str(1, 512) });
const DEVICES = { ...SLOW, limit: 100, group: 'device sign-ins' } as const;
const Reset = Obj({ token: Str(1, 128), password: password() });

const placeOf = (address: string | null): ClientInfo => ({ address, agent: 'API' });

async function signedIn({ accounts }: Services, userId: UserId): Promise<Answer> {
  const token = await accounts.issueToken(userId);
  return { ok: true, value: { token: token.reveal(), user_id: userId } };
}

/**
 * Sign-up and sign-in for programs: returns a token, as the platform's own clients use, for a login and a password. No
 * cookie is set or read.
 *
 * @source https://docs.discord.food/authentication
 */
export const auth = resource({
  register: op({
    method: 'POST',
    path: '/auth/register',
    auth: 'none',
    bucket: { ...SLOW, limit: 10 },
    body: Register,
    status: 201,
    reply: Session,
    async handle({ body, address }, services) {
      const { username, password, email = null, global_name: globalName = null } = body;
      const form = { username, password, email, globalName };
      const reply = await services.accounts.register(form, placeOf(address));
      return reply.ok ? signedIn(services, reply.value) : reply;
    },
  }),

  login: op({
    method: 'POST',
    path: '/auth/login',
    auth: 'none',
    bucket: SLOW,
    body: Login,
    status: 200,
    reply: oneOf(Session, SecondFactor),
    async handle({ body, address }, services) {
      const reply = await services.accounts.signIn(body, placeOf(address));
      if (!reply.ok) return reply;
      const { value } = reply;
      if (value.kind === 'signedIn') return signedIn(services, value.userId);
      const { userId, ticket } = value;
      return {
        ok: true,
        value: { user_id: userId, mfa: true, totp: true, backup: true, sms: false, ticket },
      };
    },
  }),

  login_with_totp: op({
    method: 'POST',
    path: '/auth/mfa/totp',
    auth: 'none',
    bucket: SLOW,
    body: Totp,
    status: 200,
    reply: Session,
    async handle({ body, address }, services) {
      const reply = await services.accounts.secondFactor(body.ticket, body.code, placeOf(address));
      return reply.ok ? signedIn(services, reply.value) : reply;
    },
  }),

  begin_device_sign_in: op({
    method: 'POST',
    path: '/auth/device',
    auth: 'none',
    bucket: DEVICES,
    status: 200,
    reply: DeviceCodes,
    async handle({ publicUrl }, { oauth }) {
      return { ok: true, value: deviceBody(await oauth.devices.beginSignIn(), publicUrl) };
    },
  }),

  finish_device_sign_in: op({
    method: 'POST',
    path: '/auth/device/token',
    auth: 'none',
    bucket: DEVICES,
    body: DeviceToken,
    status: 200,
    reply: Session,
    async handle({ body }, services) {
      const reply = await services.oauth.devices.signedIn(body.device_code);
      return reply.ok ? signedIn(services, reply.value) : reply;
    },
  }),

  logout: op({
    method: 'POST',
    path: '/auth/logout',
    auth: 'user',
    bucket: SLOW,
    status: 204,
    reply: none,
    async handle({ caller }, { accounts }) {
      if (caller.tokenId === undefined) return { ok: false, refusal: refusal('UNKNOWN_TOKEN') };
      await accounts.revokeToken(caller.userId, caller.tokenId);
      return { ok: true };
    },
  }),

  forgot_password: op({
    method: 'POST',
    path: '/auth/forgot',
    auth: 'none',
    bucket: SLOW,
    body: Forgot,
    status: 204,
    reply: none,
    handle: ({ body, address }, { accounts }) => accounts.forgot(body.login, placeOf(address)),
  }),

  reset_password: op({
    method: 'POST',
    path: '/auth/reset',
    auth: 'none',
    bucket: SLOW,
    body: Reset,
    status: 200,
    reply: oneOf(Session, ResetWithSecondFactor),
    async handle({ body, address }, services) {
      const reply = await services.accounts.reset(body.token, body.password, placeOf(address));
      if (!reply.ok) return reply;
      const profile = await services.accounts.profile(reply.value);
      // Resetting the password does not replace the second factor.
      if (profile?.hasFactor) return { ok: true, value: { user_id: reply.value, mfa: true } };
      return signedIn(services, reply.value);
    },
  }),

  verify_email: op({
    method: 'POST',
    path: '/auth/verify',
    auth: 'none',
    bucket: SLOW,
    body: Verify,
    status: 200,
    reply: VerifiedEmail,
    async handle({ body }, { accounts }) {
      const reply = await accounts.confirmEmail(body.token);
      return reply.ok ? { ok: true, value: { user_id: reply.value } } : reply;
    },
  }),
});
