import { withFactor } from '../../engine/account/account.ts';
import { invalidField, refusal } from '../../protocol/refusal.ts';
import { Secret } from '../identity/secret.ts';
import { type Desk, refused } from './desk.ts';
import { boundTo, newRecoveryCodes, newSecret, recoveryHash, sealed, stepOf, uriOf } from './factor.ts';
import type { Keys } from './keys.ts';
import { letters } from './letters.ts';
import type { Accounts } from './ports.ts';

const OFFER_MS = 15 * 60_000;
const WRONG_CODE = refused(
  invalidField(['code'], 'INVALID_CODE', 'This is not the code that your device shows now.'),
);
const OVER = refused(invalidField(['code'], 'OFFER_EXPIRED', 'This took too long. Scan the picture again.'));

/** Switching two-step sign-in on and off. */
export function createFactors(desk: Desk): Pick<Accounts, 'offerFactor' | 'enableFactor' | 'disableFactor'> {
  const { ports } = desk;

  function tell(email: string | null, loginName: string, on: boolean): void {
    if (email === null) return;
    const told = letters.factorChanged(email, ports.publicUrl(), loginName, on);
    desk.post.behind(async () => told, { address: null, agent: '' });
  }

  /** The secret of an offer that is still good; null of anything else. */
  function secretOf(keys: Keys, userId: string, offered: string): string | null {
    const offer = offered.length > 512 ? null : keys.unseal(offered, boundTo(userId, 'offered'));
    const [until, secret] = offer?.split(' ') ?? [];
    return secret !== undefined && ports.nowMs() < Number(until) ? secret : null;
  }

  return {
    async offerFactor(userId, given) {
      const account = await ports.accounts.get(userId);
      if (account === null) return refused(refusal('UNKNOWN_ACCOUNT'));
      const keys = await desk.keys();
      const earlier = given === undefined ? null : secretOf(keys, userId, given);
      const secret = earlier ?? newSecret(ports.randomBytes);
      const offer = `${ports.nowMs() + OFFER_MS} ${secret}`;
      const fresh = () => sealed(keys, offer, boundTo(userId, 'offered'), ports.randomBytes);
      return {
        ok: true,
        value: {
          secret: new Secret(secret),
          uri: new Secret(uriOf(secret, account.loginName)),
          sealed: earlier !== null && given !== undefined ? given : fresh(),
        },
      };
    },

    async enableFactor(userId, { sealed: offered, code, current }, place) {
      const keys = await desk.keys();
      const secret = secretOf(keys, userId, offered);
      if (secret === null) return OVER;
      const step = stepOf(secret, code.replace(/\s/g, ''), -1, ports.nowMs());
      if (step === null) return WRONG_CODE;
      return desk.withPassword(userId, current, place, async (account) => {
        const codes = newRecoveryCodes(ports.randomBytes);
        const factor = {
          sealed: sealed(keys, secret, boundTo(userId, 'in force'), ports.randomBytes),
          lastStep: step,
          recoveryHashes: codes.flatMap((one) => recoveryHash(one.reveal()) ?? []),
        };
        await ports.commit(userId, [withFactor(account, factor)]);
        ports.security('second_factor_changed', { user_id: userId, on: true });
        tell(account.email, account.loginName, true);
        return { ok: true, value: codes };
      });
    },

    disableFactor: (userId, { current }, place) =>
      desk.withPassword(userId, current, place, async (account) => {
        await ports.commit(userId, [withFactor(account, null)]);
        ports.security('second_factor_changed', { user_id: userId, on: false });
        tell(account.email, account.loginName, false);
        return { ok: true, value: null };
      }),
  };
}
