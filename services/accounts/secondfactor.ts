import { withFactor } from '../../engine/account/account.ts';
import { invalidField, refusal } from '../../protocol/refusal.ts';
import { Secret } from '../../protocol/secret.ts';
import { type AccountContext, refused } from './context.ts';
import { emails } from './emails.ts';
import type { Keys } from './keys.ts';
import type { Accounts } from './ports.ts';
import {
  keyUriOf,
  matchingStep,
  newRecoveryCodes,
  newSecret,
  recoveryHash,
  sealContext,
  sealSecret,
} from './totp.ts';

const OFFER_MS = 15 * 60_000;
const WRONG_CODE = refused(
  invalidField(['code'], 'INVALID_CODE', 'The code does not match the one that your device shows.'),
);
const OFFER_EXPIRED = refused(
  invalidField(['code'], 'OFFER_EXPIRED', 'This took too long. Scan the picture again.'),
);

/** Enables and disables two-step sign-in. */
export function createSecondFactor(
  context: AccountContext,
): Pick<Accounts, 'offerFactor' | 'enableFactor' | 'disableFactor'> {
  const { ports } = context;

  function notifyOwner(email: string | null, loginName: string, on: boolean): void {
    if (email === null) return;
    const notice = emails.factorChanged(email, ports.publicUrl(), loginName, on);
    context.mailQueue.enqueue(async () => notice, { address: null, agent: '' });
  }

  /** The secret of an offer that has not expired; null for any other text. */
  function secretOf(keys: Keys, userId: string, offered: string): string | null {
    const offer = offered.length > 512 ? null : keys.unseal(offered, sealContext(userId, 'offered'));
    const [until, secret] = offer?.split(' ') ?? [];
    return secret !== undefined && ports.nowMs() < Number(until) ? secret : null;
  }

  return {
    async offerFactor(userId, given) {
      const account = await ports.accounts.get(userId);
      if (account === null) return refused(refusal('UNKNOWN_ACCOUNT'));
      const keys = await context.keys();
      const earlier = given === undefined ? null : secretOf(keys, userId, given);
      const secret = earlier ?? newSecret(ports.randomBytes);
      const offer = `${ports.nowMs() + OFFER_MS} ${secret}`;
      const fresh = () => sealSecret(keys, offer, sealContext(userId, 'offered'), ports.randomBytes);
      return {
        ok: true,
        value: {
          secret: new Secret(secret),
          uri: new Secret(keyUriOf(secret, account.loginName)),
          sealed: earlier !== null && given !== undefined ? given : fresh(),
        },
      };
    },

    async enableFactor(userId, { sealed: offered, code, current }, client) {
      const keys = await context.keys();
      const secret = secretOf(keys, userId, offered);
      if (secret === null) return OFFER_EXPIRED;
      const step = matchingStep(secret, code.replace(/\s/g, ''), -1, ports.nowMs());
      if (step === null) return WRONG_CODE;
      return context.withPassword(userId, current, client, async (account) => {
        const codes = newRecoveryCodes(ports.randomBytes);
        const factor = {
          sealed: sealSecret(keys, secret, sealContext(userId, 'in force'), ports.randomBytes),
          lastStep: step,
          recoveryHashes: codes.flatMap((one) => recoveryHash(one.reveal()) ?? []),
        };
        await ports.commit(userId, [withFactor(account, factor)]);
        ports.security('second_factor_changed', { user_id: userId, on: true });
        notifyOwner(account.email, account.loginName, true);
        return { ok: true, value: codes };
      });
    },

    disableFactor: (userId, { current }, client) =>
      context.withPassword(userId, current, client, async (account) => {
        await ports.commit(userId, [withFactor(account, null)]);
        ports.security('second_factor_changed', { user_id: userId, on: false });
        notifyOwner(account.email, account.loginName, false);
        return { ok: true, value: null };
      }),
  };
}
